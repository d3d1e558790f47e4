package euroeval

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/python"
)

// These checks belong to the strict grader only.
const (
	CheckUnexpected Check = "unexpected_arg" // the function and the answer know the argument
	CheckType       Check = "type"           // an argument has the declared type
)

// GradeStrict grades a prediction by the rules of BFCL's AST checker. It checks each call by the
// description of its own function, in any order. It checks name, type and value of every argument.
// A prediction that is not valid JSON is wrong. If several calls fit several answers, it finds an
// assignment that fits all; BFCL takes the first call that fits.
func GradeStrict(functions, answers python.Value, prediction string) Verdict {
	reply, err := python.ParseJSON(prediction)
	if err != nil {
		return wrong(CheckJSON, "%v", err)
	}
	if _, ok := reply.AsDict(); !ok {
		return wrong(CheckToolCalls, "the prediction is of type %s, want an object", reply.TypeName())
	}
	listed := reply.Field("tool_calls")
	got, ok := listed.AsList()
	if !ok {
		return wrong(CheckToolCalls, "tool_calls is of type %s, want a list", listed.TypeName())
	}
	want, _ := answers.AsList()
	if len(got) != len(want) {
		return wrong(CheckCount, "%d calls, want %d", len(got), len(want))
	}
	return matchCalls(functions, want, got)
}

// matchCalls assigns a call to each answer. An answer without a fitting call gets the verdict of
// the call at its index.
func matchCalls(functions python.Value, want, got []python.Value) Verdict {
	matches := make([][]bool, len(want))
	verdicts := make([]Verdict, len(want))
	for i, answer := range want {
		expected, err := expectedCall(answer)
		if err != nil {
			return wrong(CheckFunction, "answer %d: %v", i+1, err)
		}
		description := descriptionOf(functions, expected.Key)
		matches[i] = make([]bool, len(got))
		for j, call := range got {
			verdict := strictCall(description, expected, call)
			matches[i][j] = verdict.Correct
			if i == j {
				verdicts[i] = verdict
			}
		}
	}
	answerOf := slices.Repeat([]int{-1}, len(got))
	for i := range want {
		if !assign(matches, answerOf, make([]bool, len(got)), i) {
			verdict := verdicts[i]
			if verdict.Correct {
				verdict = wrong(CheckValue, "another answer needs it")
			}
			return verdict.atCall(i)
		}
	}
	return Verdict{Correct: true}
}

// assign finds an augmenting path of a bipartite matching, starting at an answer.
func assign(matches [][]bool, answerOf []int, visited []bool, answer int) bool {
	for call, fit := range matches[answer] {
		if !fit || visited[call] {
			continue
		}
		visited[call] = true
		if answerOf[call] < 0 || assign(matches, answerOf, visited, answerOf[call]) {
			answerOf[call] = answer
			return true
		}
	}
	return false
}

// descriptionOf returns the description of a function, None if it is missing.
func descriptionOf(functions python.Value, name string) python.Value {
	list, _ := functions.AsList()
	for _, description := range list {
		if description.Field("name").Equal(python.Str(name)) {
			return description
		}
	}
	return python.None()
}

func strictCall(description python.Value, expected python.Item, call python.Value) Verdict {
	if _, ok := call.AsDict(); !ok {
		return wrong(CheckCallShape, "it is of type %s, want an object", call.TypeName())
	}
	if name := call.Field("function"); !name.Equal(python.Str(expected.Key)) {
		return wrong(CheckFunction, "function %s, want %s", python.JSON(name), expected.Key)
	}
	if description.IsNone() {
		return wrong(CheckFunction, "function %s has no description", expected.Key)
	}
	argumentsValue := call.Field("arguments")
	arguments, ok := argumentsValue.AsDict()
	if !ok {
		return wrong(CheckCallShape, "arguments is of type %s, want an object", argumentsValue.TypeName())
	}
	accepted, ok := expected.Value.AsDict()
	if !ok {
		return wrong(CheckValue, "the answer's arguments are of type %s, want an object", expected.Value.TypeName())
	}
	return strictArguments(description, accepted, arguments)
}

func strictArguments(description python.Value, accepted, arguments *python.Dict) Verdict {
	parameters := description.Field("parameters")
	names, _ := parameters.Field("required").AsList()
	for _, name := range names {
		text, _ := name.AsStr()
		if _, ok := arguments.Get(text); !ok {
			return wrongArgument(CheckMissing, text, "is missing and required")
		}
	}
	properties, _ := parameters.Field("properties").AsDict()
	for _, argument := range arguments.Items() {
		schema, declared := properties.Get(argument.Key)
		options, exists := accepted.Get(argument.Key)
		if !declared || !exists {
			return wrongArgument(CheckUnexpected, argument.Key, "is not expected")
		}
		verdict := strictValue(argument.Key, schema, options, argument.Value)
		if verdict.Check != CheckNone {
			return verdict
		}
	}
	for _, option := range accepted.Items() {
		if _, ok := arguments.Get(option.Key); !ok && !optional(option.Value) {
			return wrongArgument(CheckMissing, option.Key, "is missing")
		}
	}
	return Verdict{Correct: true}
}

// optional reports whether an argument is optional: its accepted values include the empty text.
func optional(options python.Value) bool {
	list, _ := options.AsList()
	return slices.ContainsFunc(list, func(option python.Value) bool { return option.Equal(python.Str("")) })
}

func strictValue(name string, schema, options, value python.Value) Verdict {
	list, _ := options.AsList()
	declared, known := kindOf(schema)
	usual, hasUsual := usualKind(list)
	switch {
	case known && fitsKind(declared, value):
		if !itemsFit(schema, list, value) {
			return wrongArgument(CheckType, name, "has an element of another type than declared")
		}
	case hasUsual && value.Kind() == usual:
	default:
		return wrongArgument(CheckType, name, "is of type %s, want %s", value.TypeName(), python.Text(schema.Field("type")))
	}
	same := acceptedValue
	if known && hasUsual && !fitsKind(declared, list[usualIndex(list)]) { // the answer is a variable's name
		same = strictlyEqual
	}
	if !slices.ContainsFunc(list, func(option python.Value) bool { return same(option, value) }) {
		return wrongArgument(CheckValue, name, "is %s, want one of %s", python.JSON(value), python.JSON(options))
	}
	return Verdict{Correct: true}
}
