package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

func entry(name string, similarity resultfile.Similarity, milestones ...resultfile.Match) *resultfile.ScenarioResult {
	return &resultfile.ScenarioResult{Name: name, Similarity: similarity, MilestoneMapping: milestones}
}

func TestRescore(t *testing.T) {
	evaluation := &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Name: "told"}}}}
	rescore := NewRescore()
	for _, pair := range [][2]*resultfile.ScenarioResult{
		{entry("same", "0.5", resultfile.Match{Node: 0, Similarity: "0.5"}), entry("same", "0.5", resultfile.Match{Node: 0, Index: 4, Similarity: "0.50"})},
		{
			entry("moved", "1.0", resultfile.Match{Node: 0, Similarity: "1"}, resultfile.Match{Node: 1, Similarity: "1"}),
			entry("moved", "0.25", resultfile.Match{Node: 0, Similarity: "0.25"}),
		},
	} {
		rescore.Add(pair[0], pair[1], evaluation)
	}
	one, quarter := 1.0, 0.25
	want := []ScoreChange{{
		Name: "moved", Before: &one, After: &quarter, Minefields: []NodeChange{},
		Milestones: []NodeChange{{Node: 0, Name: "told", Before: &one, After: &quarter}, {Node: 1, Before: &one}},
	}}
	if diff := cmp.Diff(want, rescore.Moved); diff != "" || rescore.Unmoved != 1 {
		t.Errorf("%d unmoved, want 1; moved (-want +got):\n%s", rescore.Unmoved, diff)
	}
	rescore.Flagged, rescore.UserFlagCounts = []string{"f"}, &results.UserFlagCounts{Rollouts: 2, Flagged: 1, Rate: 0.5, Rules: map[string]int{"leak": 3}}
	rescore.Failed, rescore.NoScenario, rescore.Before, rescore.After = []string{"a", "b"}, []string{"c"}, new(0.75), nil
	var out strings.Builder
	if err := WriteRescore(&out, rescore); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"moved      1.000  0.250  -0.750  milestone 0 told: 1.000 → 0.250", "milestone 1: 1.000 → none",
		"1 of 2 scores moved, mean 0.750 before, none after", "2 unchanged, ended in a failure: a, b",
		"1 unchanged, scenario not in the catalogue: c", "user flags changed: f",
		"simulated user: 1 of 2 rollouts flagged (50 %): leak 3",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("WriteRescore: got\n%s\nwant a line with %q", out.String(), line)
		}
	}
}
