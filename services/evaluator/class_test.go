package evaluator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestScoreTrajectoryFindsClasses finds the classes of errors of a stored trajectory where the
// request says what they need.
func TestScoreTrajectoryFindsClasses(t *testing.T) {
	_, client := start(t)
	id := "a"
	call := &worldv1.Message{Index: 1, Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, Body: &worldv1.Message_Call{
		Call: &worldv1.ToolCall{Id: &id, Tool: "add_contact", ArgumentsJson: `{"name": "Bob"}`},
	}}
	answer := &worldv1.Message{Index: 2, Sender: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Result{
		Result: &worldv1.ToolResult{Id: &id, Traces: []*worldv1.ToolTrace{{Tool: "add_contact", ArgumentsJson: `{"name": "Bob"}`, ResultJson: "null"}}},
	}}
	ask := &worldv1.Message{Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: "Save my friend."}}
	for _, test := range []struct {
		zone string
		want []busv1.CauseKind
	}{
		{"", nil},
		{"UTC", []busv1.CauseKind{busv1.CauseKind_CAUSE_KIND_GUESSED_ARGUMENT, busv1.CauseKind_CAUSE_KIND_INFORMATION_MISSING}},
	} {
		response, err := client.ScoreTrajectory(within(t), &evaluatorv1.ScoreTrajectoryRequest{
			Evaluation: &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{says("Who?")}}},
			Messages:   []*worldv1.Message{ask, call, answer}, Tables: []*worldv1.Table{contacts(0), contacts(2, "Bob")}, Starting: 1,
			Categories: []string{"INSUFFICIENT_INFORMATION"}, TimeZone: test.zone,
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []busv1.CauseKind
		for _, c := range response.GetResult().GetCauses() {
			got = append(got, c.GetKind())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("zone %q (-want +got):\n%s", test.zone, diff)
		}
	}
}
