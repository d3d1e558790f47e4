package resultfile

import (
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestUserTools checks that the user's own calls are not in the conversation, and that the user's
// next text has their changes.
func TestUserTools(t *testing.T) {
	agent, user, environment := worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	message := func(index int32, from, to worldv1.Role, text string) *worldv1.Message {
		return &worldv1.Message{Index: index, Sender: from, Recipient: to, Body: &worldv1.Message_Text{Text: text}}
	}
	r := Rollout{
		Scenario: &scenariov1.Scenario{
			Setup: &setupv1.Setup{Tools: &setupv1.ToolSelection{User: []string{"add_contact"}}},
			Evaluation: &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Constraints: []*evaluationv1.Constraint{{
				Table: world.Contact, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT,
			}}}}}},
		},
		Messages: []*worldv1.Message{
			message(0, user, agent, "Whose number is it?"), message(1, agent, user, "Ann's."), message(2, user, environment, "hidden"),
			message(3, environment, user, "hidden"), message(4, user, agent, "Saved."), message(5, agent, user, "Good."),
		},
		Tables: []*worldv1.Table{{
			Name: world.Contact, Index: 3, Rows: []*worldv1.Row{worldtest.Contact("p-1", "Ann", "+14085550000", false)},
		}},
		Result: &busv1.Result{Milestones: []*busv1.Match{{Node: 0, Index: 3, Similarity: 1}}},
	}
	raw, err := json.Marshal(conversation(r))
	if err != nil {
		t.Fatal(err)
	}
	var chat []struct {
		Role, Content string
		Details       struct {
			Update  map[string]any   `json:"database_update"`
			Matches []map[string]any `json:"milestone_matches"`
		} `json:"user_details"`
	}
	if err := json.Unmarshal(raw, &chat); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range chat {
		line := m.Role + ": " + m.Content
		if len(m.Details.Update) == 1 && len(m.Details.Matches) == 1 {
			line += " (with a table and a milestone)"
		}
		got = append(got, line)
	}
	want := []string{"user: Whose number is it?", "assistant: Ann's.", "user: Saved. (with a table and a milestone)", "assistant: Good."}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("conversation (-want +got):\n%s", diff)
	}
}
