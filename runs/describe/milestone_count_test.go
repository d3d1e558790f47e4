package describe

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestMilestoneCounts counts two milestones: one of two calls and a text, one of a contact that two
// constraints name.
func TestMilestoneCounts(t *testing.T) {
	constraint := func(table string, cells ...string) *evaluationv1.Constraint {
		row := &evaluationv1.TargetRow{}
		for i := 0; i < len(cells); i += 2 {
			row.Cells = append(row.Cells, &evaluationv1.TargetCell{Column: cells[i], Value: &worldv1.Value{Kind: &worldv1.Value_Text{Text: cells[i+1]}}})
		}
		return &evaluationv1.Constraint{Table: table, Target: []*evaluationv1.TargetRow{row}}
	}
	counts := milestoneCounts{columns: make(map[string]int), tools: make(map[string]int)}
	counts.add(&evaluationv1.Graph{Nodes: []*evaluationv1.Node{
		{Constraints: []*evaluationv1.Constraint{
			constraint("SANDBOX", "tool_trace", `[{"tool_name": "a"}, {"tool_name": "b"}]`),
			constraint("SANDBOX", "tool_trace", `{"tool_name": "a", "arguments": {}}`, "content", "{"),
		}},
		{Constraints: []*evaluationv1.Constraint{constraint("CONTACT", "name", "x"), constraint("CONTACT", "name", "y"), constraint("SANDBOX", "tool_trace", "no JSON")}},
	}})
	if want := []Count{{"SANDBOX.tool_trace", 2}, {"CONTACT.name", 1}, {"SANDBOX.content", 1}}; counts.milestones != 2 || !cmp.Equal(want, sorted(counts.columns)) {
		t.Errorf("got %d milestones and %v, want 2 and %v", counts.milestones, sorted(counts.columns), want)
	}
	if want := []Count{{"a", 1}, {"b", 1}}; !cmp.Equal(want, sorted(counts.tools)) {
		t.Errorf("tools: got %v, want %v", sorted(counts.tools), want)
	}
}
