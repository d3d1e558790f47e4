package celexpr

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// maxAlternatives is how many alternatives of one trace count.
const maxAlternatives = 64

// Trace is one successful tool call as an extractor sees it. Values are nil, bool, int64, float64,
// string, []any and map[string]any.
type Trace struct {
	// Tool is the tool's name.
	Tool string
	// Arguments are what it was given.
	Arguments map[string]any
	// Result is what it gave back.
	Result any
}

// Extractor takes values from a trace. It is immutable.
type Extractor struct {
	names   []string
	program cel.Program
}

// extractorEnvironment returns what an extractor can use.
var extractorEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return newEnvironment([]string{operators.Has, operators.Map, operators.Filter, operators.Exists, operators.All}, append(numberFunctions(),
		// The fields of trace are variables of their own, so that a wrong one is found by the
		// compiler.
		cel.Variable("trace.tool_name", cel.StringType),
		cel.Variable("trace.arguments", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("trace.result", cel.DynType),
	)...)
})

// CompileExtractor compiles an extractor: an expression that gives a list of maps, the
// alternatives, each with the same names, which must be written out in it. Its error is an *Error.
func CompileExtractor(text string) (_ *Extractor, err error) {
	defer recovered(&err)
	environment, err := extractorEnvironment()
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	checked, err := compile(environment, text)
	if err != nil {
		return nil, explainTrace(err)
	}
	if given := checked.OutputType(); given.Kind() != types.ListKind && given.Kind() != types.DynKind {
		return nil, &Error{Problem: fmt.Sprintf(`the expression gives %s, expected a list of alternatives like [{"name": value}]`, given)}
	}
	names, err := extractedNames(checked)
	if err != nil {
		return nil, err
	}
	planned, err := program(environment, checked)
	if err != nil {
		return nil, err
	}
	return &Extractor{names: names, program: planned}, nil
}

// explainTrace says what trace has where an expression uses something else of it.
func explainTrace(err error) error {
	mistake, ok := err.(*Error) //nolint:errorlint // compile returns it bare
	if ok && strings.HasPrefix(mistake.Problem, "undeclared reference to 'trace'") {
		mistake.Problem = "trace has tool_name, arguments and result, nothing else"
	}
	return err
}

// Names returns the names of the values that each alternative has, as first written. The result is
// the caller's.
func (x *Extractor) Names() []string { return slices.Clone(x.names) }

// Extract returns the alternatives that a trace gives, at most the first 64; each holds the values
// in the order of Names: int64, float64, string or bool. The error, an *Error, says why a trace
// gives none: often it is simply of another tool.
func (x *Extractor) Extract(trace Trace) ([][]any, error) {
	out, _, err := x.program.Eval(map[string]any{
		"trace.tool_name": trace.Tool, "trace.arguments": trace.Arguments, "trace.result": trace.Result,
	})
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	list, ok := out.(traits.Lister)
	if !ok {
		return nil, &Error{Problem: fmt.Sprintf("gives %s, expected a list", out.Type().TypeName())}
	}
	var alternatives [][]any
	for each := list.Iterator(); each.HasNext() == types.True && len(alternatives) < maxAlternatives; {
		values, err := x.values(each.Next())
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, values)
	}
	return alternatives, nil
}

// values reads one alternative. Its error is an *Error.
func (x *Extractor) values(alternative ref.Val) ([]any, error) {
	members, ok := alternative.(traits.Mapper)
	if !ok {
		return nil, &Error{Problem: fmt.Sprintf("an alternative is %s, expected a map", alternative.Type().TypeName())}
	}
	values := make([]any, len(x.names))
	for i, name := range x.names {
		member, found := members.Find(types.String(name))
		if !found {
			return nil, &Error{Problem: fmt.Sprintf("an alternative has no %q", name)}
		}
		switch v := member.(type) {
		case types.Int:
			values[i] = int64(v)
		case types.Double:
			values[i] = float64(v)
		case types.String:
			values[i] = string(v)
		case types.Bool:
			values[i] = bool(v)
		default:
			return nil, &Error{Problem: fmt.Sprintf("%q is %s, expected a number, a text or a truth value", name, member.Type().TypeName())}
		}
	}
	return values, nil
}

// extractedNames returns the names that all alternatives of an expression have. Its error is an
// *Error.
func extractedNames(checked *cel.Ast) ([]string, error) {
	finder := &nameFinder{checked: checked, variables: map[string]ast.Expr{}}
	finder.list(checked.NativeRep().Expr())
	switch {
	case finder.mistake != nil:
		return nil, finder.mistake
	case finder.names == nil:
		return nil, &Error{Problem: `the expression gives no alternative, expected some like [{"name": value}]`}
	}
	return finder.names, nil
}

// nameFinder collects the keys of the maps that an expression gives.
type nameFinder struct {
	checked *cel.Ast
	// variables are the loop variables and what they go over; nil for accumulators.
	variables map[string]ast.Expr
	names     []string
	mistake   *Error
}

// fail keeps the first mistake.
func (f *nameFinder) fail(node ast.Expr, format string, arguments ...any) {
	if f.mistake == nil {
		f.mistake = at(f.checked, node, format, arguments...)
	}
}

// list follows an expression that gives alternatives.
func (f *nameFinder) list(node ast.Expr) {
	switch node.Kind() { //nolint:exhaustive // anything else cannot be followed
	case ast.ListKind:
		for _, element := range node.AsList().Elements() {
			f.alternative(element)
		}
		return
	case ast.CallKind:
		call := node.AsCall()
		switch call.FunctionName() {
		case operators.Conditional:
			f.list(call.Args()[1])
			f.list(call.Args()[2])
			return
		case operators.Add:
			f.list(call.Args()[0])
			f.list(call.Args()[1])
			return
		}
	case ast.ComprehensionKind:
		loop := node.AsComprehension()
		f.variables[loop.AccuVar()], f.variables[loop.IterVar()] = nil, loop.IterRange()
		f.list(loop.LoopStep())
		delete(f.variables, loop.AccuVar())
		delete(f.variables, loop.IterVar())
		return
	case ast.IdentKind:
		if source, ok := f.variables[node.AsIdent()]; ok && source == nil {
			return // what the loop has collected so far
		}
	}
	f.fail(node, `the names cannot be told here; write alternatives out as [{"name": value}], also inside map, filter and ? :`)
}

// alternative follows an expression that gives one alternative.
func (f *nameFinder) alternative(node ast.Expr) {
	switch node.Kind() { //nolint:exhaustive // anything else cannot be followed
	case ast.MapKind:
		f.keys(node)
		return
	case ast.CallKind:
		if call := node.AsCall(); call.FunctionName() == operators.Conditional {
			f.alternative(call.Args()[1])
			f.alternative(call.Args()[2])
			return
		}
	case ast.IdentKind:
		// filter gives the items that it goes over.
		if source := f.variables[node.AsIdent()]; source != nil {
			f.list(source)
			return
		}
	}
	f.fail(node, `the names cannot be told here; write the alternative out as {"name": value}`)
}

// keys reads the names of a map and what can be known of its values.
func (f *nameFinder) keys(node ast.Expr) {
	var names []string
	for _, entry := range node.AsMap().Entries() {
		key, value := entry.AsMapEntry().Key(), entry.AsMapEntry().Value()
		name, ok := "", false
		if key.Kind() == ast.LiteralKind {
			name, ok = key.AsLiteral().Value().(string)
		}
		switch {
		case !ok || name == "":
			f.fail(key, "a name must be a text that is written out")
		case slices.Contains(names, name):
			f.fail(key, "%q is given twice", name)
		}
		names = append(names, name)
		switch kind := f.checked.NativeRep().GetType(value.ID()); kind.Kind() { //nolint:exhaustive // the rest is refused
		case types.IntKind, types.DoubleKind, types.StringKind, types.BoolKind, types.DynKind:
		default:
			f.fail(value, "%q is %s, expected a number, a text or a truth value", name, kind)
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

// sameNames reports whether two lists hold the same names, in any order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
