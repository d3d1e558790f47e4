// Package euroeval scores single-turn tool calling as the EuroEval benchmark does, on records in
// the format of the Berkeley Function Calling Leaderboard (BFCL).
//
// All functions are pure except Load, which reads files. They are safe for concurrent use.
package euroeval

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// Check is the check that decided a verdict.
type Check string

// The checks are in the order in which a grader runs them.
const (
	CheckNone      Check = ""            // every check passed
	CheckJSON      Check = "json"        // the whole prediction is JSON
	CheckToolCalls Check = "tool_calls"  // it is an object that holds tool_calls
	CheckCount     Check = "count"       // there are as many calls as expected
	CheckCallShape Check = "call_shape"  // a call is an object with function and arguments
	CheckFunction  Check = "function"    // the call names the expected function
	CheckMissing   Check = "missing_arg" // a compared argument is present
	CheckValue     Check = "value"       // a compared argument has an accepted value
)

// Verdict is a grader's verdict on one prediction. Check and Detail explain a wrong prediction;
// both are empty for a correct one.
type Verdict struct {
	Correct bool
	Check   Check
	Detail  string
	// call is the index of the unmatched expected call. argument is the name of its deciding argument,
	// empty without one.
	call     int
	argument string
}

func wrong(check Check, format string, args ...any) Verdict {
	return Verdict{Check: check, Detail: fmt.Sprintf(format, args...)}
}

// wrongArgument returns a wrong verdict whose detail starts with the argument's name.
func wrongArgument(check Check, name, format string, args ...any) Verdict {
	v := wrong(check, "argument "+name+" "+format, args...)
	v.argument = name
	return v
}

// atCall returns the verdict with the index of the expected call, and its number in the detail.
func (v Verdict) atCall(call int) Verdict {
	v.call, v.Detail = call, fmt.Sprintf("call %d: %s", call+1, v.Detail)
	return v
}

// Grade grades a prediction as EuroEval's metric does. functions is the list of function
// descriptions and answers the list of expected calls, both decoded from JSON. Grade compares call
// i with answer i by the required arguments of description i, whatever its name. The error is the
// *python.Exception that EuroEval's metric raises. EuroEval fails the whole iteration then.
func Grade(functions, answers python.Value, prediction string) (Verdict, error) {
	reply, err := python.ParseJSON(prediction)
	var notJSON *python.DecodeError
	if errors.As(err, &notJSON) {
		return wrong(CheckJSON, "%v", notJSON), nil
	}
	if err != nil {
		return Verdict{}, err
	}
	object, ok := reply.AsDict()
	if !ok {
		return wrong(CheckToolCalls, "the prediction is of type %s, want an object", reply.TypeName()), nil
	}
	calls, ok := object.Get("tool_calls")
	if !ok {
		return wrong(CheckToolCalls, "the object has no key tool_calls"), nil
	}
	return gradeCalls(functions, answers, calls)
}

func gradeCalls(functions, answers, calls python.Value) (Verdict, error) {
	got, err := elements(calls)
	if err != nil {
		return Verdict{}, err
	}
	want, err := elements(answers)
	if err != nil {
		return Verdict{}, err
	}
	if len(got) != len(want) {
		return wrong(CheckCount, "%d calls, want %d", len(got), len(want)), nil
	}
	described, err := elements(functions)
	if err != nil {
		return Verdict{}, err
	}
	for i := range min(len(got), len(described)) {
		verdict, err := gradeCall(described[i], want[i], got[i])
		if err != nil {
			return Verdict{}, err
		}
		if verdict.Check != CheckNone {
			return verdict.atCall(i), nil
		}
	}
	return Verdict{Correct: true}, nil
}

// elements returns the items over which Python iterates: items, keys or characters.
func elements(v python.Value) ([]python.Value, error) {
	switch v.Kind() {
	case python.KindList:
		items, _ := v.AsList()
		return items, nil
	case python.KindDict:
		d, _ := v.AsDict()
		keys := make([]python.Value, 0, d.Len())
		for _, item := range d.Items() {
			keys = append(keys, python.Str(item.Key))
		}
		return keys, nil
	case python.KindStr:
		s, _ := v.AsStr()
		var chars []python.Value
		for _, r := range s {
			chars = append(chars, python.Str(string(r)))
		}
		return chars, nil
	default:
		return nil, &python.Exception{
			Type: "TypeError", Text: fmt.Sprintf("object of type '%s' has no len()", v.TypeName()),
		}
	}
}

func gradeCall(description, answer, call python.Value) (Verdict, error) {
	object, ok := call.AsDict()
	if !ok {
		return wrong(CheckCallShape, "it is of type %s, want an object", call.TypeName()), nil
	}
	name, hasName := object.Get("function")
	argumentsValue, hasArguments := object.Get("arguments")
	if !hasName || !hasArguments {
		return wrong(CheckCallShape, "it lacks function or arguments"), nil
	}
	arguments, ok := argumentsValue.AsDict()
	if !ok {
		return wrong(CheckCallShape, "arguments is of type %s, want an object", argumentsValue.TypeName()), nil
	}
	expected, err := expectedCall(answer)
	if err != nil {
		return Verdict{}, err
	}
	if !name.Equal(python.Str(expected.Key)) {
		return wrong(CheckFunction, "function %s, want %s", python.JSON(name), expected.Key), nil
	}
	return gradeArguments(description, expected.Value, arguments)
}

// expectedCall returns the first item of an answer: function name and accepted values.
func expectedCall(answer python.Value) (python.Item, error) {
	d, ok := answer.AsDict()
	if !ok {
		return python.Item{}, noAttribute(answer, "keys")
	}
	if d.Len() == 0 {
		return python.Item{}, &python.Exception{Type: "IndexError", Text: "list index out of range"}
	}
	return d.Items()[0], nil
}

func gradeArguments(description, accepted python.Value, arguments *python.Dict) (Verdict, error) {
	required, err := requiredNames(description)
	if err != nil {
		return Verdict{}, err
	}
	options, ok := accepted.AsDict()
	if !ok {
		return Verdict{}, noAttribute(accepted, "items")
	}
	for _, option := range options.Items() {
		if required.Truth() {
			compared, err := contains(required, python.Str(option.Key))
			if err != nil {
				return Verdict{}, err
			}
			if !compared {
				continue
			}
		}
		value, ok := arguments.Get(option.Key)
		if !ok {
			return wrongArgument(CheckMissing, option.Key, "is missing"), nil
		}
		equal, err := contains(option.Value, value)
		if err != nil {
			return Verdict{}, err
		}
		if !equal {
			return wrongArgument(CheckValue, option.Key, "is %s, want one of %s", python.JSON(value), python.JSON(option.Value)), nil
		}
	}
	return Verdict{Correct: true}, nil
}

// requiredNames returns parameters.required of a description. None means that Grade compares every
// argument of the answer.
func requiredNames(description python.Value) (python.Value, error) {
	if _, ok := description.AsDict(); !ok {
		return python.None(), noAttribute(description, "get")
	}
	return description.Field("parameters").Field("required"), nil
}

// contains is Python's in operator for a list, dict or text.
func contains(container, v python.Value) (bool, error) {
	text, isText := v.AsStr()
	switch container.Kind() {
	case python.KindList:
		items, _ := container.AsList()
		for _, item := range items {
			if matches(item, v) {
				return true, nil
			}
		}
		return false, nil
	case python.KindDict:
		if v.Kind() == python.KindList || v.Kind() == python.KindDict {
			return false, &python.Exception{
				Type: "TypeError", Text: fmt.Sprintf("unhashable type: '%s'", v.TypeName()),
			}
		}
		d, _ := container.AsDict()
		_, found := d.Get(text)
		return isText && found, nil
	case python.KindStr:
		if !isText {
			return false, &python.Exception{
				Type: "TypeError",
				Text: fmt.Sprintf("'in <string>' requires string as left operand, not %s", v.TypeName()),
			}
		}
		whole, _ := container.AsStr()
		return strings.Contains(whole, text), nil
	default:
		return false, &python.Exception{
			Type: "TypeError", Text: fmt.Sprintf("argument of type '%s' is not iterable", container.TypeName()),
		}
	}
}

// matches compares a list item as Python's in operator does: by identity, then by ==. Identity
// matters only for NaN: json.loads returns one NaN object, also inside lists and objects.
func matches(v, w python.Value) bool {
	a, _ := v.AsFloat()
	b, _ := w.AsFloat()
	return math.IsNaN(a) && math.IsNaN(b) || v.EqualFunc(w, matches)
}

func noAttribute(v python.Value, name string) error {
	return &python.Exception{
		Type: "AttributeError", Text: fmt.Sprintf("'%s' object has no attribute '%s'", v.TypeName(), name),
	}
}
