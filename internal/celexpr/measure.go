package celexpr

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// Measure compares a found value with a wanted one. It is immutable.
type Measure struct{ program cel.Program }

// measureEnvironment creates the environment of measures once.
var measureEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return newEnvironment([]string{operators.Has, operators.Map, operators.Filter, operators.Exists, operators.ExistsOne, operators.All},
		append(numberFunctions(),
			numberFunction("abs", func(*cel.Type) *cel.Type { return cel.DoubleType }, func(value ref.Val) ref.Val {
				return types.Double(math.Abs(toDouble(value)))
			}),
			cel.Variable("wanted", cel.DynType), cel.Variable("found", cel.DynType))...)
})

// CompileMeasure compiles a measure: an expression over wanted and found whose value is a number or
// a bool. The error is an *Error.
func CompileMeasure(text string) (_ *Measure, err error) {
	defer recoverPanic(&err)
	environment, err := measureEnvironment()
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Problem: "the expression is empty"}
	}
	checked, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, firstIssue(issues)
	}
	switch typ := checked.OutputType(); typ.Kind() { //nolint:exhaustive // the rest is refused
	case types.IntKind, types.DoubleKind, types.BoolKind, types.DynKind:
	default:
		return nil, &Error{Problem: fmt.Sprintf("the expression gives %s, expected a number from 0 to 1 or a truth value", typ)}
	}
	prg, err := environment.Program(checked, cel.CustomDecoratorV2(sortMapLiterals), cel.CostLimit(maxCost), cel.CostTracking(costs{}))
	if err != nil {
		return nil, &Error{Problem: err.Error()}
	}
	return &Measure{program: prg}, nil
}

// Compare evaluates a measure for cells, which are nil, bool, float64 and string, or for rows,
// which are []any of map[string]any. It returns a bool, an int or a float64, and the number of
// steps, at most 20,000. The error is an *Error.
func (m *Measure) Compare(target, actual any) (result any, steps int, err error) {
	out, details, err := m.program.Eval(map[string]any{"wanted": target, "found": actual})
	if cost := details.ActualCost(); cost != nil {
		steps = int(min(*cost, maxCost))
	}
	if err != nil {
		return nil, steps, &Error{Problem: err.Error()}
	}
	if result, ok := numberOf(out); ok {
		return result, steps, nil
	}
	return nil, steps, &Error{Problem: fmt.Sprintf("gives %s, expected a number from 0 to 1", out.Type().TypeName())}
}

// numberOf converts a number or bool to a Go value.
func numberOf(value ref.Val) (any, bool) {
	switch v := value.(type) {
	case types.Bool:
		return bool(v), true
	case types.Int:
		return int(v), true
	case types.Double:
		return float64(v), true
	}
	return nil, false
}
