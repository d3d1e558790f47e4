package measure

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/expression"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// CompileExpression compiles an extractor that a constraint contains: an expression of tool_name,
// arguments and result whose value is a list of dicts, the alternatives. All of them have the same
// keys, which must be literals. The error is an *expression.Error.
func CompileExpression(text string) (*Function, error) { return compileExpression("extractor", text) }

func compileExpression(name, text string) (*Function, error) {
	compiled, err := expression.Compile(text, nil, toolName, argumentsName, resultName)
	if err != nil {
		return nil, err
	}
	finder := &nameFinder{expression: compiled}
	finder.list(compiled.Tree())
	switch {
	case finder.mistake != nil:
		return nil, finder.mistake
	case finder.names == nil:
		return nil, &expression.Error{Problem: `the expression gives no alternative, expected some like [{"name": value}]`}
	}
	f := &Function{Name: name, Kind: Extractor, Names: finder.names, expression: compiled}
	if err := f.checkLimits(); err != nil {
		return nil, err
	}
	return f, nil
}

// checkLimits evaluates an extractor for no call. It returns an *expression.Error if the extractor
// exceeds a limit, which then does not depend on the call.
func (f *Function) checkLimits() error {
	_, _, err := f.expression.Eval(noHost{}, python.Str(""), python.DictOf(), python.None())
	var exception *python.Exception
	if errors.As(err, &exception) {
		switch exception.Type {
		case "TimeoutError", "MemoryError", "RecursionError", "OverflowError":
			return &expression.Error{Problem: exception.Error()}
		}
	}
	return nil
}

// nameFinder collects the keys of the dicts in an expression's value.
type nameFinder struct {
	expression *expression.Expression
	names      []string
	mistake    *expression.Error
}

// fail records the first mistake.
func (f *nameFinder) fail(node syntax.Expr, format string, arguments ...any) {
	if f.mistake == nil {
		f.mistake = f.expression.ErrorAt(node, format, arguments...)
	}
}

// list analyzes an expression whose value is a list of alternatives.
func (f *nameFinder) list(node syntax.Expr) {
	switch node := node.(type) {
	case *syntax.Sequence:
		if node.Kind == syntax.KindList {
			for _, item := range node.Items {
				f.alternative(item)
			}
			return
		}
	case *syntax.IfExpr:
		f.list(node.X)
		f.list(node.Y)
		return
	case *syntax.Binary:
		if node.Op == "+" {
			f.list(node.X)
			f.list(node.Y)
			return
		}
	case *syntax.Comprehension:
		if node.Kind == syntax.KindList {
			f.alternative(node.Value)
			return
		}
	}
	f.fail(node, `the names cannot be told here; write alternatives out as [{"name": value}], also with for, if and else`)
}

// alternative analyzes an expression whose value is one alternative.
func (f *nameFinder) alternative(node syntax.Expr) {
	switch node := node.(type) {
	case *syntax.Dict:
		f.keys(node)
		return
	case *syntax.IfExpr:
		f.alternative(node.X)
		f.alternative(node.Y)
		return
	}
	f.fail(node, `the names cannot be told here; write the alternative out as {"name": value}`)
}

// keys collects the keys of a dict, and refuses values that are no single value.
func (f *nameFinder) keys(node *syntax.Dict) {
	var names []string
	for i, key := range node.Keys {
		if key == nil {
			f.fail(node, "a name must be a text that is written out")
			return
		}
		constant, _ := key.(*syntax.Constant)
		name, ok := "", false
		if constant != nil {
			name, ok = constant.Value.(string)
		}
		switch {
		case !ok || name == "":
			f.fail(key, "a name must be a text that is written out")
		case slices.Contains(names, name):
			f.fail(key, "%q is given twice", name)
		}
		names = append(names, name)
		if what := manyValues(node.Values[i]); what != "" {
			f.fail(node.Values[i], "%q is %s, expected a number, a text or a truth value", name, what)
		}
	}
	switch {
	case len(names) == 0:
		f.fail(node, "an alternative without values says nothing")
	case f.names == nil:
		f.names = names
	case !sameNames(f.names, names):
		f.fail(node, "gives %s, but another alternative gives %s; all must have the same names",
			strings.Join(names, ", "), strings.Join(f.names, ", "))
	}
}

// manyValues names the type of an expression whose value is visibly no number, text or bool.
func manyValues(node syntax.Expr) string {
	switch node := node.(type) {
	case *syntax.Constant:
		if node.Value == nil {
			return "None"
		}
	case *syntax.Sequence:
		return [...]string{syntax.KindTuple: "a tuple", syntax.KindList: "a list", syntax.KindSet: "a set"}[node.Kind]
	case *syntax.Dict:
		return "a dict"
	case *syntax.Comprehension:
		return "a comprehension"
	case *syntax.Lambda:
		return "a function"
	}
	return ""
}

// sameNames reports whether two lists contain the same names in any order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
