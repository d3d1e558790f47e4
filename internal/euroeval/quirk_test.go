package euroeval

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/python"
)

// TestQuirkVectors checks the quirk of each recorded case in which the graders differ.
func TestQuirkVectors(t *testing.T) {
	t.Parallel()
	want := map[string]Quirk{
		"docs_example_amount_left_out":                  QuirkOptional,
		"zip_foreign_description_hides_arguments":       QuirkNone,
		"zip_second_description_hides_wrong_value":      QuirkPosition,
		"calls_beyond_function_list_unchecked":          QuirkExtraCalls,
		"call_order_matters":                            QuirkOrder,
		"optional_wrong_value_passes":                   QuirkOptional,
		"optional_demanded_value_may_be_missing":        QuirkOptional,
		"extra_argument_passes":                         QuirkExtraArgument,
		"empty_required_list_makes_optionals_mandatory": QuirkNoneRequired,
		"int_for_bool_passes":                           QuirkType,
		"string_case_and_spacing_exact":                 QuirkText,
		"nested_options_compared_literally":             QuirkNested,
		"odd_tool_calls_breaks_iteration":               QuirkException,
	}
	seen := 0
	vectortest.Lines(t, vectortest.Dir(t, "euroeval/quirks.jsonl"), func(number int, raw []byte) {
		value, err := python.ParseJSON(raw)
		if err != nil {
			t.Fatalf("line %d: %v", number, err)
		}
		record, _ := value.AsDict()
		text := func(name string) string { v, _ := record.Get(name); return python.Text(v) }
		task, err := NewTask(text("functions"), text("target_text"))
		if err != nil {
			t.Fatalf("line %d: %v", number, err)
		}
		verdicts := task.Grade(text("prediction"))
		if got := verdicts.Quirk; got != want[text("quirk")] {
			t.Errorf("line %d: %s: got quirk %q, want %q\neuroeval: %+v\nstrict: %+v", number, text("quirk"), got, want[text("quirk")], verdicts.EuroEval, verdicts.Strict)
		}
		seen++
	})
	if seen == 0 {
		t.Error("got no vector, want some")
	}
}

// TestQuirkMarksDifferences checks that a verdict has a quirk exactly if the graders differ, on all
// metric vectors.
func TestQuirkMarksDifferences(t *testing.T) {
	t.Parallel()
	counts := make(map[Quirk]int)
	vectortest.Lines(t, vectortest.Dir(t, "euroeval/metric.jsonl"), func(number int, raw []byte) {
		value, err := python.ParseJSON(raw)
		if err != nil {
			t.Fatalf("line %d: %v", number, err)
		}
		record, _ := value.AsDict()
		text := func(name string) string { v, _ := record.Get(name); return python.Text(v) }
		task, err := NewTask(text("functions"), text("target_text"))
		if err != nil {
			return // Load would reject the record
		}
		verdicts := task.Grade(text("prediction"))
		differ := verdicts.Exception != nil || verdicts.EuroEval.Correct != verdicts.Strict.Correct
		if got := verdicts.Quirk != QuirkNone; got != differ {
			t.Errorf("line %d: got quirk %q, want one: %t\neuroeval: %+v\nstrict: %+v", number, verdicts.Quirk, differ, verdicts.EuroEval, verdicts.Strict)
		}
		counts[verdicts.Quirk]++
	})
	t.Log(counts)
}
