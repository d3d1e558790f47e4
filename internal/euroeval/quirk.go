package euroeval

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/python"
)

// Quirk is a rule in which EuroEval's metric and the strict grader differ.
type Quirk string

// Each name states EuroEval's rule.
const (
	QuirkNone Quirk = ""
	// QuirkException: the metric raises, and EuroEval fails the whole iteration.
	QuirkException Quirk = "exception_voids_iteration"
	// QuirkOrder: the order of the calls counts.
	QuirkOrder Quirk = "call_order_counts"
	// QuirkExtraCalls: calls after the last description are not checked.
	QuirkExtraCalls Quirk = "calls_beyond_functions_unchecked"
	// QuirkPosition: the description at the call's index applies, whatever its name.
	QuirkPosition Quirk = "description_by_position"
	// QuirkExtraArgument: an argument that is missing in the answer passes.
	QuirkExtraArgument Quirk = "extra_argument_passes"
	// QuirkOptional: an argument that is not required is not compared.
	QuirkOptional Quirk = "optional_argument_not_compared"
	// QuirkNoneRequired: without a list of required arguments the metric compares all.
	QuirkNoneRequired Quirk = "nothing_required_compares_all"
	// QuirkType: true equals 1, and 1 equals 1.0.
	QuirkType Quirk = "equal_across_types"
	// QuirkText: case, spaces and punctuation count.
	QuirkText Quirk = "text_compared_exactly"
	// QuirkNested: a list of accepted values inside an accepted object is compared literally.
	QuirkNested Quirk = "nested_options_literal"
)

// quirk returns the quirk that explains differing verdicts. If several do, the first failed check
// decides.
func (t *Task) quirk(verdicts *Verdicts, prediction string) Quirk {
	described, _ := t.Functions.AsList()
	answers, _ := t.Answers.AsList()
	verdict := verdicts.Strict
	switch {
	case verdicts.Exception != nil:
		return QuirkException
	case verdicts.EuroEval.Correct == verdicts.Strict.Correct:
		return QuirkNone
	case verdicts.Strict.Correct:
		verdict = verdicts.EuroEval
		if isReordered(t, prediction) {
			return QuirkOrder
		}
	case verdict.call >= len(described):
		return QuirkExtraCalls
	}
	if verdict.call >= len(answers) {
		return QuirkOrder
	}
	expected, err := expectedCall(answers[verdict.call])
	if err != nil {
		return QuirkNone
	}
	description := descriptionOf(t.Functions, expected.Key)
	required := requires(description, verdict.argument)
	if verdict.call < len(described) && verdict.argument != "" && required != requires(described[verdict.call], verdict.argument) {
		return QuirkPosition
	}
	return argumentQuirk(verdict, required, expected.Value.Field(verdict.argument))
}

// argumentQuirk returns the quirk behind the failed check of one argument. required reports whether
// the function's own description requires it.
func argumentQuirk(verdict Verdict, required bool, accepted python.Value) Quirk {
	list, _ := accepted.AsList()
	isDict := func(v python.Value) bool { return v.Kind() == python.KindDict }
	switch {
	case verdict.Check == CheckUnexpected:
		return QuirkExtraArgument
	case verdict.Check == CheckMissing && required:
		return QuirkPosition
	case verdict.Check == CheckMissing && optional(accepted):
		return QuirkNoneRequired
	case !required && verdict.argument != "":
		return QuirkOptional
	case verdict.Check == CheckType:
		return QuirkType
	case slices.ContainsFunc(list, isDict):
		return QuirkNested
	case verdict.Check == CheckValue:
		return QuirkText
	default:
		return QuirkOrder
	}
}

// isReordered reports whether the calls of a prediction are in another order than the answers. The
// strict grader must accept the prediction.
func isReordered(t *Task, prediction string) bool {
	reply, err := python.ParseJSON(prediction)
	if err != nil {
		return false
	}
	got, _ := reply.Field("tool_calls").AsList()
	want, _ := t.Answers.AsList()
	for i := range min(len(got), len(want)) {
		expected, err := expectedCall(want[i])
		if err != nil || !strictCall(descriptionOf(t.Functions, expected.Key), expected, got[i]).Correct {
			return true
		}
	}
	return false
}

// requires reports whether a description requires an argument.
func requires(description python.Value, argument string) bool {
	names, _ := description.Field("parameters").Field("required").AsList()
	return slices.ContainsFunc(names, func(name python.Value) bool { return name.Equal(python.Str(argument)) })
}
