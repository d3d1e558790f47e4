package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// CallSteps is the number of steps that a call costs, in addition to the executed ones.
const CallSteps = 40

// CellSteps is the number of steps that each cell of a measure of rows costs.
const CellSteps = 4

// MaxSteps is the limit of steps of all measures and extractors for one trajectory.
const MaxSteps = 1 << 24

// ErrSteps means that a trajectory exceeds MaxSteps.
var ErrSteps = fmt.Errorf("the pack's measures take more than %d steps for one trajectory: compare fewer rows, or by fewer steps", MaxSteps)

// Exception is the exception type of a rollout that ended because a measure failed. After a
// correction of the measure, its messages can be scored.
const Exception = "MeasureError"

// IsFailure reports whether an error is a failure of a measure: an *Error or ErrSteps.
func IsFailure(err error) bool {
	var failure *Error
	return errors.As(err, &failure) || errors.Is(err, ErrSteps)
}

// Error is the failure of a function. Its text contains file and line if there are any, name and
// inputs.
type Error struct {
	// Function is the called function.
	Function *Function
	// Inputs are its arguments in Python syntax, possibly truncated.
	Inputs string
	// Reason states the failure.
	Reason string
}

// Error returns one line.
func (e *Error) Error() string {
	place := ""
	if e.Function.File != "" {
		place = fmt.Sprintf("%s:%d: ", e.Function.File, e.Function.Line)
	}
	return fmt.Sprintf("%s%s(%s): %s", place, e.Function.Name, e.Inputs, e.Reason)
}

// Calls reports whether a measure of cells is called for two cells. If not, equal reports whether
// both are null.
func (f *Function) Calls(target, actual python.Value) (calls, equal bool) {
	if target.IsNone() && !f.wantedNull || actual.IsNone() && !f.foundNull {
		return false, target.IsNone() && actual.IsNone()
	}
	return true, false
}

// Compare calls a measure. It returns a similarity from 0 to 1 and the number of steps. Its error
// is an *Error.
func (f *Function) Compare(target, actual python.Value) (similarity float64, steps int, err error) {
	args := []python.Arg{{Name: wantedName, Value: target, Given: true}, {Name: foundName, Value: actual, Given: true}}
	result, steps, err := f.call(args)
	if err != nil {
		return 0, steps, f.failure(args, "%s", err)
	}
	number, ok := result.Number()
	if !ok || !(number >= 0 && number <= 1) { // rejects NaN too
		return 0, steps, f.failure(args, "gives %s, expected a number from 0 to 1", excerpt(python.Repr(result)))
	}
	return math.Abs(number), steps, nil // converts -0 to 0
}

// Probe compares a cell with itself. Its error is an *Error.
func (f *Function) Probe(cell *worldv1.Value) error {
	value := world.CellValue(cell)
	if calls, _ := f.Calls(value, value); !calls {
		return nil
	}
	_, _, err := f.Compare(value, value)
	return err
}

// NamedValue is an extracted value: an int, a float, a str or a bool.
type NamedValue struct {
	Name  string
	Value python.Value
}

// maxAlternatives is the limit of alternatives per call.
const maxAlternatives = 64

// Extract calls an extractor. It returns the alternatives of a tool's call, at most the first 64.
// Its error is an *Error.
func (f *Function) Extract(tool string, arguments, result python.Value) (alternatives [][]NamedValue, steps int, err error) {
	args := []python.Arg{
		{Name: toolName, Value: python.Str(tool), Given: true}, {Name: argumentsName, Value: arguments, Given: true},
		{Name: resultName, Value: result, Given: true},
	}
	returned, steps, err := f.call(args)
	if err != nil {
		return nil, steps, f.failure(args, "%s", err)
	}
	list, ok := returned.AsList()
	if !ok {
		return nil, steps, f.failure(args, "gives %s, expected a list of dicts", excerpt(python.Repr(returned)))
	}
	for _, item := range list[:min(len(list), maxAlternatives)] {
		dict, ok := item.AsDict()
		if !ok || dict.Len() == 0 {
			return nil, steps, f.failure(args, "an alternative is %s, expected a dict of values by name", excerpt(python.Repr(item)))
		}
		var values []NamedValue
		for _, member := range dict.Items() {
			switch member.Value.Kind() {
			case python.KindInt, python.KindFloat, python.KindStr, python.KindBool:
				values = append(values, NamedValue{member.Key, member.Value})
			default:
				return nil, steps, f.failure(args, "%s is %s, expected a number, a text or a truth value",
					excerpt(python.Repr(python.Str(member.Key))), excerpt(python.Repr(member.Value)))
			}
		}
		alternatives = append(alternatives, values)
	}
	return alternatives, steps, nil
}

// call runs a function or an expression. Its error is the exception, or a limit of the interpreter.
func (f *Function) call(args []python.Arg) (result python.Value, steps int, err error) {
	if f.expression != nil {
		values := make([]python.Value, len(args))
		for i := range args {
			values[i] = args[i].Value
		}
		return f.expression.Eval(noHost{}, values...)
	}
	result, outcome := f.program.Call(context.Background(), f.def, args, noHost{})
	return result, outcome.Steps, outcome.Err
}

// failure returns the error of a call.
func (f *Function) failure(args []python.Arg, format string, values ...any) *Error {
	inputs := make([]string, len(args))
	for i, arg := range args {
		inputs[i] = arg.Name + "=" + excerpt(python.Repr(truncateValue(arg.Value)))
	}
	return &Error{Function: f, Inputs: strings.Join(inputs, ", "), Reason: oneLine(fmt.Sprintf(format, values...))}
}

// maxExcerpt is the limit of an excerpt in bytes. maxItems is the limit of printed items.
const (
	maxExcerpt = 200
	maxItems   = 100
)

// truncateValue returns a part of a large value, which prints fast.
func truncateValue(v python.Value) python.Value {
	if text, ok := v.AsStr(); ok && len(text) > maxExcerpt {
		return python.Str(text[:maxExcerpt])
	}
	if list, ok := v.AsList(); ok && len(list) > maxItems {
		return python.List(list[:maxItems]...)
	}
	return v
}

// excerpt truncates a text.
func excerpt(text string) string {
	if len(text) <= maxExcerpt {
		return oneLine(text)
	}
	return oneLine(spelling.Beginning(text, maxExcerpt)) + "…"
}

// oneLine replaces invalid UTF-8, such as lone surrogates, and joins the lines of a text.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, string(utf8.RuneError))), " ")
}

// noHost is a host without functions.
type noHost struct{}

// Callable implements interp.Host.
func (noHost) Callable(string) bool { return false }

// Call implements interp.Host.
func (noHost) Call(name string, _ []python.Value, _ *python.Dict) (python.Value, error) {
	return python.Value{}, errors.New("there is no function " + name)
}
