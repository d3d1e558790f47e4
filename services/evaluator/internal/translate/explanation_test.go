package translate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/rouge"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

func TestExplanation(t *testing.T) {
	reference := 1
	got := Explanation(&score.Explanation{
		Result: score.Result{Minefields: score.GraphResult{Matches: []score.Match{{Matched: true, Index: 3}}}},
		Minefields: []score.NodeExplanation{{
			Match: &score.NodeAt{Index: 3, Constraints: []score.ConstraintExplanation{{
				Table: world.Sandbox, Measure: score.ToolTraceDependant, Reference: &reference, ReferenceIndex: 2, Problem: "p",
				Rows: []score.RowExplanation{{Wanted: 0, Similarity: 0.5, Cells: []score.CellExplanation{
					{
						Column: "content", Measure: score.RougeL, Wanted: score.String("ä b"), Found: score.String("b"), Similarity: 1,
						Text: &rouge.Alignment{Precision: 1, Recall: 0.5, Common: []rouge.Word{{TargetStart: 3, TargetEnd: 4, PredictionEnd: 1}}},
					},
					{
						Column: "tool_trace", Measure: score.ToolTrace, Wanted: score.String("[]"), Found: score.List("{}"), NoResult: true,
						Trace: &score.TraceExplanation{Accepted: 1, Tool: "f", FoundTool: "f", Arguments: []score.ArgumentExplanation{
							{Name: "a", Wanted: "1", Found: "2", Tolerance: 0}, {Name: "b", Wanted: "1", Tolerance: -1},
						}},
					},
				}}},
				Changes:   []score.RowChange{{Columns: []string{"content"}}},
				Extracted: []score.ExtractedValue{{Name: "days", Value: "3"}},
			}}},
			Best: &score.NodeAt{Index: 4, Guardrails: []score.ConstraintExplanation{{
				Table: world.Setting, Measure: score.Guardrail,
				Changes: []score.RowChange{{Before: []score.Value{score.Bool(true), score.Number(2), score.Null()}}},
				Rows:    []score.RowExplanation{{Wanted: -1, Found: []score.Value{}}},
			}}},
		}},
	}, &evaluationv1.Evaluation{Minefields: &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Name: "never"}}}}, 5)
	want := &evaluatorv1.ExplainTrajectoryResponse{
		Result: got.GetResult(),
		Minefields: []*evaluatorv1.NodeExplanation{{
			Name: "never",
			Match: &evaluatorv1.NodeAt{Index: 3, Constraints: []*evaluatorv1.ConstraintExplanation{{
				Table: world.Sandbox, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT,
				Reference: proto.Int32(1), ReferenceIndex: proto.Int32(2), Problem: "p",
				Rows: []*evaluatorv1.RowExplanation{{Wanted: proto.Int32(0), Similarity: 0.5, Cells: []*evaluatorv1.CellExplanation{
					{
						Column: "content", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L, Wanted: world.Text("ä b"), Found: world.Text("b"), Similarity: 1,
						Text: &evaluatorv1.TextComparison{Precision: 1, Recall: 0.5, Common: []*evaluatorv1.CommonWord{{Wanted: "b", Found: "b", WantedAt: 3}}},
					},
					{
						Column: "tool_trace", Measure: evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE, Wanted: world.Text("[]"), FoundTexts: []string{"{}"}, NoResult: true,
						Trace: &evaluatorv1.TraceComparison{Accepted: 1, Tool: "f", FoundTool: "f", Arguments: []*evaluatorv1.ArgumentComparison{
							{Name: "a", WantedJson: "1", FoundJson: proto.String("2"), Tolerance: proto.Float64(0)}, {Name: "b", WantedJson: "1"},
						}},
					},
				}}},
				Changes:   []*evaluatorv1.RowChange{{Columns: []string{"content"}}},
				Extracted: []*evaluatorv1.ExtractedValue{{Name: "days", Value: "3"}},
			}}},
			Best: &evaluatorv1.NodeAt{Index: 4, Guardrails: []*evaluatorv1.ConstraintExplanation{{
				Table: world.Setting, Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL,
				Changes: []*evaluatorv1.RowChange{{Before: &worldv1.Row{Cells: []*worldv1.Value{world.Bool(true), world.Number(2), world.Null()}}}},
				Rows:    []*evaluatorv1.RowExplanation{{Found: &worldv1.Row{}}},
			}}},
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("Explanation (-want +got):\n%s", diff)
	}
}
