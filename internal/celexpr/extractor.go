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

// maxAlternatives is the maximum number of alternatives per trace.
const maxAlternatives = 64

// Trace is one successful tool call. Values are nil, bool, int64, float64, string, []any and
// map[string]any.
type Trace struct {
	// Tool is the tool's name.
	Tool string
	// Arguments are the arguments of the call.
	Arguments map[string]any
	// Result is the return value.
	Result any
}

// Extractor gets values from a trace. It is immutable.
type Extractor struct {
	names   []string
	program cel.Program
}

// extractorEnvironment creates the environment of extractors once.
var extractorEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return newEnvironment([]string{operators.Has, operators.Map, operators.Filter, operators.Exists, operators.All}, append(numberFunctions(),
		// The fields of trace are separate variables, so that the compiler finds a wrong one.
		cel.Variable("trace.tool_name", cel.StringType),
		cel.Variable("trace.arguments", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("trace.result", cel.DynType),
	)...)
})

// CompileExtractor compiles an extractor: an expression whose value is a list of maps, the
// alternatives. All maps have the same keys, which must be literals. The error is an *Error.
func CompileExtractor(text string) (_ *Extractor, err error) {
	defer recoverPanic(&err)
	environment, err := extractorEnvironment()
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	checked, err := compile(environment, text)
	if err != nil {
		return nil, explainTrace(err)
	}
	if typ := checked.OutputType(); typ.Kind() != types.ListKind && typ.Kind() != types.DynKind {
		return nil, &Error{Problem: fmt.Sprintf(`the expression gives %s, expected a list of alternatives like [{"name": value}]`, typ)}
	}
	names, err := extractedNames(checked)
	if err != nil {
		return nil, err
	}
	prg, err := program(environment, checked)
	if err != nil {
		return nil, err
	}
	return &Extractor{names: names, program: prg}, nil
}

// explainTrace lists the fields of trace if an expression uses another one.
func explainTrace(err error) error {
	mistake, ok := err.(*Error) //nolint:errorlint // compile returns it bare
	if ok && strings.HasPrefix(mistake.Problem, "undeclared reference to 'trace'") {
		mistake.Problem = "trace has tool_name, arguments and result, nothing else"
	}
	return err
}

// Names returns the keys of the alternatives in order of first appearance. The caller owns the
// result.
func (x *Extractor) Names() []string { return slices.Clone(x.names) }

// Extract returns the alternatives of a trace, at most the first 64. Values are in the order of
// Names: int64, float64, string or bool. The error is an *Error that explains why a trace has none,
// e.g. because it is of another tool.
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

// values decodes one alternative. The error is an *Error.
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

// extractedNames returns the common keys of all alternatives. The error is an *Error.
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

// nameFinder collects the keys of the maps in an expression's value.
type nameFinder struct {
	checked *cel.Ast
	// variables maps loop variables to their ranges, accumulators to nil.
	variables map[string]ast.Expr
	names     []string
	mistake   *Error
}

// fail records the first mistake.
func (f *nameFinder) fail(node ast.Expr, format string, arguments ...any) {
	if f.mistake == nil {
		f.mistake = errorAt(f.checked, node, format, arguments...)
	}
}

// list analyzes an expression whose value is a list of alternatives.
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
			return // accumulator of a loop
		}
	}
	f.fail(node, `the names cannot be told here; write alternatives out as [{"name": value}], also inside map, filter and ? :`)
}

// alternative analyzes an expression whose value is one alternative.
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
		// filter returns the items of its range.
		if source := f.variables[node.AsIdent()]; source != nil {
			f.list(source)
			return
		}
	}
	f.fail(node, `the names cannot be told here; write the alternative out as {"name": value}`)
}

// keys collects the keys of a map, and checks its values if their types are known.
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

// sameNames reports whether two lists contain the same names in any order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
