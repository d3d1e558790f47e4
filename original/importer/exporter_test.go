package importer

import (
	"os"
	"testing"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// TestExported reads what the exporter writes in its own test, so that the two agree on the layout.
func TestExported(t *testing.T) {
	const path = "../../tools/exporter/testdata/scenarios.json"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := Read(path, data)
	if err != nil {
		t.Fatal(err)
	}
	for variant, augmentations := range map[string]int{
		"": 0, "_3_distraction_tools": 0, "_3_distraction_tools_tool_name_scrambled": 1,
	} {
		got, err := scenarios.Scenario("off", variant)
		if err != nil {
			t.Error(err)
			continue
		}
		if n := len(got.GetSetup().GetTools().GetAugmentations()); n != augmentations {
			t.Errorf("augmentations of off%s: got %d, want %d", variant, n, augmentations)
		}
		first := got.GetEvaluation().GetMilestones().GetNodes()[0].GetConstraints()
		if len(first) != 2 || first[0].GetMeasure() != evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL {
			t.Errorf("constraints of off%s: got %v, want the author's guardrail and an update", variant, first)
		}
	}
}
