package translate

import (
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/rouge"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

// Explanation writes an explanation into the wire form. evaluation gives the nodes their names.
func Explanation(explained *score.Explanation, evaluation *evaluationv1.Evaluation, messages int) *evaluatorv1.ExplainTrajectoryResponse {
	return &evaluatorv1.ExplainTrajectoryResponse{
		Result:     Result(explained.Result, messages),
		Milestones: nodes(explained.Milestones, evaluation.GetMilestones()),
		Minefields: nodes(explained.Minefields, evaluation.GetMinefields()),
	}
}

func nodes(list []score.NodeExplanation, graph *evaluationv1.Graph) []*evaluatorv1.NodeExplanation {
	var translated []*evaluatorv1.NodeExplanation
	for i := range list {
		translated = append(translated, &evaluatorv1.NodeExplanation{
			Node: int32(i), Name: graph.GetNodes()[i].GetName(), Match: nodeAt(list[i].Match), Best: nodeAt(list[i].Best),
		})
	}
	return translated
}

func nodeAt(at *score.NodeAt) *evaluatorv1.NodeAt {
	if at == nil {
		return nil
	}
	return &evaluatorv1.NodeAt{
		Index: int32(at.Index), Similarity: at.Similarity,
		Constraints: compared(at.Constraints), Guardrails: compared(at.Guardrails),
	}
}

func compared(list []score.ConstraintExplanation) []*evaluatorv1.ConstraintExplanation {
	var translated []*evaluatorv1.ConstraintExplanation
	for i := range list {
		e := &list[i]
		constraint := &evaluatorv1.ConstraintExplanation{
			Table: e.Table, Measure: evaluationv1.SnapshotMeasure(e.Measure),
			Similarity: e.Similarity, Problem: e.Problem,
		}
		if e.Reference != nil {
			reference, index := int32(*e.Reference), int32(e.ReferenceIndex)
			constraint.Reference, constraint.ReferenceIndex = &reference, &index
		}
		for j := range e.Rows {
			constraint.Rows = append(constraint.Rows, rowPair(&e.Rows[j]))
		}
		for _, change := range e.Changes {
			constraint.Changes = append(constraint.Changes, &evaluatorv1.RowChange{
				Before: rowOf(change.Before), After: rowOf(change.After), Columns: change.Columns,
			})
		}
		for _, extracted := range e.Extracted {
			constraint.Extracted = append(constraint.Extracted, &evaluatorv1.ExtractedValue{Name: extracted.Name, Value: extracted.Value})
		}
		translated = append(translated, constraint)
	}
	return translated
}

func rowPair(e *score.RowExplanation) *evaluatorv1.RowExplanation {
	row := &evaluatorv1.RowExplanation{Found: rowOf(e.Found), Similarity: e.Similarity}
	if e.Wanted >= 0 {
		wanted := int32(e.Wanted)
		row.Wanted = &wanted
	}
	for i := range e.Cells {
		row.Cells = append(row.Cells, cellPair(&e.Cells[i]))
	}
	return row
}

func cellPair(e *score.CellExplanation) *evaluatorv1.CellExplanation {
	cell := &evaluatorv1.CellExplanation{
		Column: e.Column, Measure: evaluationv1.ColumnMeasure(e.Measure), Wanted: valueOf(e.Wanted),
		Similarity: e.Similarity, NoResult: e.NoResult, Trace: traceOf(e.Trace),
	}
	if texts, ok := e.Found.Texts(); ok {
		cell.FoundTexts = texts
	} else {
		cell.Found = valueOf(e.Found)
	}
	if e.Text != nil {
		wanted, _ := e.Wanted.Text()
		found, _ := e.Found.Text()
		cell.Text = textOf(e.Text, wanted, found)
	}
	return cell
}

func textOf(alignment *rouge.Alignment, wanted, found string) *evaluatorv1.TextComparison {
	text := &evaluatorv1.TextComparison{Precision: alignment.Precision, Recall: alignment.Recall}
	for _, word := range alignment.Common {
		text.Common = append(text.Common, &evaluatorv1.CommonWord{
			Wanted: wanted[word.TargetStart:word.TargetEnd], WantedAt: int32(word.TargetStart),
			Found: found[word.PredictionStart:word.PredictionEnd], FoundAt: int32(word.PredictionStart),
		})
	}
	return text
}

func traceOf(e *score.TraceExplanation) *evaluatorv1.TraceComparison {
	if e == nil {
		return nil
	}
	trace := &evaluatorv1.TraceComparison{Accepted: int32(e.Accepted), Tool: e.Tool, FoundTool: e.FoundTool, Fits: e.Fits}
	for _, a := range e.Arguments {
		argument := &evaluatorv1.ArgumentComparison{Name: a.Name, WantedJson: a.Wanted, Fits: a.Fits}
		if a.Found != "" {
			argument.FoundJson = &a.Found
		}
		if a.Tolerance >= 0 {
			argument.Tolerance = &a.Tolerance
		}
		trace.Arguments = append(trace.Arguments, argument)
	}
	return trace
}

func rowOf(cells []score.Value) *worldv1.Row {
	if cells == nil {
		return nil
	}
	row := &worldv1.Row{Cells: make([]*worldv1.Value, len(cells))}
	for i := range cells {
		row.Cells[i] = valueOf(cells[i])
	}
	return row
}

// valueOf is the inverse of value; a list, which has no wire form, becomes null.
func valueOf(v score.Value) *worldv1.Value {
	switch v.Kind() {
	case score.KindBool:
		truth, _ := v.Truth()
		return world.Bool(truth)
	case score.KindNumber:
		number, _ := v.Float()
		return world.Number(number)
	case score.KindString:
		text, _ := v.Text()
		return world.Text(text)
	case score.KindNull, score.KindList:
		return world.Null()
	default:
		return world.Null()
	}
}
