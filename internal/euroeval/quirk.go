package euroeval

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/python"
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
	// QuirkBeyond: calls after the last description are not checked.
	QuirkBeyond Quirk = "calls_beyond_functions_unchecked"
	// QuirkPlace: the description at the call's index applies, whatever its name.
	QuirkPlace Quirk = "description_by_place"
	// QuirkExtra: an argument that is missing in the answer passes.
	QuirkExtra Quirk = "extra_argument_passes"
	// QuirkOptional: an argument that is not required is not compared.
	QuirkOptional Quirk = "optional_argument_not_compared"
	// QuirkAllCompared: without a list of required arguments the metric compares all.
	QuirkAllCompared Quirk = "nothing_required_compares_all"
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
	failed := verdicts.Strict
	switch {
	case verdicts.Exception != nil:
		return QuirkException
	case verdicts.EuroEval.Correct == verdicts.Strict.Correct:
		return QuirkNone
	case verdicts.Strict.Correct:
		failed = verdicts.EuroEval
		if isReordered(t, prediction) {
			return QuirkOrder
		}
	case failed.call >= len(described):
		return QuirkBeyond
	}
	if failed.call >= len(answers) {
		return QuirkOrder
	}
	expected, err := expectedCall(answers[failed.call])
	if err != nil {
		return QuirkNone
	}
	own := descriptionOf(t.Functions, expected.Key)
	required := requires(own, failed.argument)
	if failed.call < len(described) && failed.argument != "" && required != requires(described[failed.call], failed.argument) {
		return QuirkPlace
	}
	return argumentQuirk(failed, required, expected.Value.Field(failed.argument))
}

// argumentQuirk returns the quirk behind the failed check of one argument. required reports whether
// the function's own description requires it.
func argumentQuirk(failed Verdict, required bool, accepted python.Value) Quirk {
	list, _ := accepted.AsList()
	isDict := func(v python.Value) bool { return v.Kind() == python.KindDict }
	switch {
	case failed.Check == CheckUnexpected:
		return QuirkExtra
	case failed.Check == CheckMissing && required:
		return QuirkPlace
	case failed.Check == CheckMissing && optional(accepted):
		return QuirkAllCompared
	case !required && failed.argument != "":
		return QuirkOptional
	case failed.Check == CheckType:
		return QuirkType
	case slices.ContainsFunc(list, isDict):
		return QuirkNested
	case failed.Check == CheckValue:
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
