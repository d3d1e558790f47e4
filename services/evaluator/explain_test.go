package evaluator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// unchanged returns automatic guardrails that hold, for all tables except CONTACT.
func unchanged(reference, index int32) []*evaluatorv1.ConstraintExplanation {
	var guards []*evaluatorv1.ConstraintExplanation
	for _, table := range []string{
		world.Setting, world.Messaging, world.Reminder,
	} {
		guards = append(guards, &evaluatorv1.ConstraintExplanation{
			Table: table, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL,
			Reference: proto.Int32(reference), ReferenceIndex: proto.Int32(index), Similarity: 1,
		})
	}
	return guards
}

func TestExplainTrajectory(t *testing.T) {
	_, client := start(t)
	graph := evaluation()
	graph.GetMilestones().Nodes[1] = says("All done")
	graph.GetMilestones().Nodes[0].Name = "added"
	request := &evaluatorv1.ExplainTrajectoryRequest{
		Evaluation: graph, Messages: messages(), Tables: []*worldv1.Table{contacts(0), contacts(2, "Ann")},
	}
	got, err := client.ExplainTrajectory(within(t), request)
	if err != nil {
		t.Fatal(err)
	}
	scored, err := client.ScoreTrajectory(within(t), &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: request.GetEvaluation(), Messages: request.GetMessages(), Tables: request.GetTables(),
	})
	if err != nil {
		t.Fatal(err)
	}
	added := contacts(0, "Ann").GetRows()[0]
	filled := proto.CloneOf(added)
	filled.Cells[2], filled.Cells[3] = world.Text(""), world.Text("")
	similarity := float64(float32(2.0 / 3))
	want := &evaluatorv1.ExplainTrajectoryResponse{
		Result: scored.GetResult(),
		Milestones: []*evaluatorv1.NodeExplanation{
			{Name: "added", Match: &evaluatorv1.NodeEvaluation{
				Index: 2, Similarity: 1, Guardrails: unchanged(-1, 0),
				Constraints: []*evaluatorv1.ConstraintExplanation{{
					Table: contact, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION, Similarity: 1,
					Reference: proto.Int32(-1), ReferenceIndex: proto.Int32(0),
					Changes: []*evaluatorv1.RowChange{{After: added}},
					Rows: []*evaluatorv1.RowExplanation{{Wanted: proto.Int32(0), Found: filled, Similarity: 1, Cells: []*evaluatorv1.CellExplanation{{
						Column: "name", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT,
						Wanted: world.Text("Ann"), Found: world.Text("Ann"), Similarity: 1,
					}}}},
				}},
			}},
			{Node: 1, Match: &evaluatorv1.NodeEvaluation{
				Index: 3, Similarity: similarity, Guardrails: unchanged(0, 2),
				Constraints: []*evaluatorv1.ConstraintExplanation{{
					Table: world.Sandbox, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT, Similarity: similarity,
					Rows: []*evaluatorv1.RowExplanation{{Wanted: proto.Int32(0), Similarity: similarity, Cells: []*evaluatorv1.CellExplanation{{
						Column: "content", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L,
						Wanted: world.Text("All done"), Found: world.Text("done"), Similarity: similarity,
						Text: &evaluatorv1.TextComparison{Precision: 1, Recall: 0.5, Common: []*evaluatorv1.CommonWord{{Wanted: "done", WantedAt: 4, Found: "done"}}},
					}}}},
				}},
			}},
		},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("ExplainTrajectory (-want +got):\n%s", diff)
	}
}

func TestExplainTrajectoryErrors(t *testing.T) {
	_, client := start(t)
	for name, test := range map[string]struct {
		request *evaluatorv1.ExplainTrajectoryRequest
		want    string
	}{
		"cyclic graph": {&evaluatorv1.ExplainTrajectoryRequest{Evaluation: cycle(), Messages: messages()}, "cycle"},
		"gap":          {&evaluatorv1.ExplainTrajectoryRequest{Evaluation: evaluation(), Messages: messages()[1:]}, "message 0 has index 1"},
		"no messages":  {&evaluatorv1.ExplainTrajectoryRequest{Evaluation: evaluation()}, "messages"},
		"no graph":     {&evaluatorv1.ExplainTrajectoryRequest{Messages: messages()}, "evaluation"},
	} {
		_, err := client.ExplainTrajectory(within(t), test.request)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %v with %q", name, err, codes.InvalidArgument, test.want)
		}
	}
}
