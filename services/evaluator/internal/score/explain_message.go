package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/ported/rouge"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// completedMessage explains the comparison of a message with a completed target.
func (x *explainer) completedMessage(e *evaluatorv1.ConstraintExplanation, c *constraint, index int) {
	unchanged := completion{fillColumn: -1}
	if c.fillColumn == columnContent && c.template == nil {
		e.Problem = "nothing can complete the wanted text"
		e.Rows = []*evaluatorv1.RowExplanation{x.message(c, index, unchanged)}
		return
	}
	reference := int(e.GetReferenceIndex())
	calls := x.calls(reference)
	all := x.targetCompletions(c, reference)
	if len(all) == 0 {
		e.Problem = fmt.Sprintf("no call at message %d gives %s", reference, strings.Join(c.extractedNames(), " and "))
		for i := range calls {
			if problem := x.extract(&calls[i], c.extractor).problem; problem != nil {
				e.Problem += fmt.Sprintf("; %s: %v", calls[i].tool, problem)
			}
		}
		e.Rows = []*evaluatorv1.RowExplanation{x.message(c, index, unchanged)}
		return
	}
	best := all[0]
	for _, tried := range all {
		if x.similarity(c, index, tried) > x.similarity(c, index, best) {
			best = tried
		}
	}
	e.Rows = []*evaluatorv1.RowExplanation{x.message(c, index, best)}
	for i := range best.values {
		e.Extracted = append(e.Extracted, &evaluatorv1.ExtractedValue{Name: best.values[i].name, Value: format(best.values[i].value)})
	}
}

// similarity returns the similarity of a message and the completed target.
func (x *explainer) similarity(c *constraint, index int, completed completion) float64 {
	if !c.admits(&x.trajectory.Messages[index]) {
		return 0
	}
	return x.preparedTrajectory.compareMessage(c.target[0], index, completed)
}

// message explains the comparison of a message with the completed target.
func (x *explainer) message(c *constraint, index int, completed completion) *evaluatorv1.RowExplanation {
	message := &x.trajectory.Messages[index]
	row := &evaluatorv1.RowExplanation{Wanted: proto.Int32(0), Similarity: x.similarity(c, index, completed)}
	for _, target := range byColumn(c.target[0]) {
		var cell *evaluatorv1.CellExplanation
		switch filled := target.column == completed.fillColumn; {
		case target.measure == ToolTrace:
			accepted := target.accepted
			if filled {
				accepted = completed.accepted
				target.value = String(traceTargetsJSON(accepted))
			}
			cell = x.cell(sandbox, target, message.cell(target.column))
			cell.Trace = nearestTrace(accepted, x.calls(index))
			cell.Similarity = indicator(cell.GetTrace().GetMatches())
		case filled && completed.fillColumn == columnContent && !target.value.IsNull():
			target.value, target.tolerance, target.target = String(completed.content), -1, nil
			if target.measure == RougeL {
				target.target = rouge.NewTarget(completed.content)
			}
			cell = x.cell(sandbox, target, message.cell(target.column))
		default:
			cell = x.cell(sandbox, target, message.cell(target.column))
		}
		if cell.GetNoResult() && (target.column == columnSender || target.column == columnRecipient) {
			cell.NoResult = false // scoring filters roles before it compares cells
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// byColumn returns the cells of a target row in column order.
func byColumn(target []cell) []cell {
	return slices.SortedStableFunc(slices.Values(target), func(a, b cell) int { return cmp.Compare(a.column, b.column) })
}

// cell explains the comparison of two cells. It does not compare traces.
func (x *explainer) cell(t int, target cell, value Value) *evaluatorv1.CellExplanation {
	e := &evaluatorv1.CellExplanation{Column: x.columns(t)[target.column].Name, Measure: target.measure, Wanted: target.value.wire()}
	if texts, ok := value.Texts(); ok {
		e.FoundTexts = texts
	} else {
		e.Found = value.wire()
	}
	if target.packMeasure != nil {
		e.PackMeasure = target.packMeasure.Name
		if _, err := x.packMeasures.compareCells(target.packMeasure, target.value, value); err != nil {
			e.Problem = err.Error()
		}
	}
	similarity := x.compareCell(&target, value)
	if target.target != nil && !value.IsNull() && !x.brief {
		e.Text = compareTexts(target.value.text, value.text)
	}
	if e.NoResult = math.IsNaN(similarity); !e.GetNoResult() {
		e.Similarity = similarity
	}
	return e
}

// compareTexts returns the common words of two texts.
func compareTexts(target, actual string) *evaluatorv1.TextComparison {
	alignment := rouge.Align(target, actual)
	text := &evaluatorv1.TextComparison{Precision: alignment.Precision, Recall: alignment.Recall}
	for _, word := range alignment.Common {
		text.Common = append(text.Common, &evaluatorv1.CommonWord{
			Wanted: target[word.TargetStart:word.TargetEnd], WantedAt: int32(word.TargetStart),
			Found: actual[word.PredictionStart:word.PredictionEnd], FoundAt: int32(word.PredictionStart),
		})
	}
	return text
}

// nearestTrace explains the pair of an accepted trace and a call that matches, or that is nearest.
// It is nil if no trace is accepted.
func nearestTrace(accepted []traceTarget, calls []call) *evaluatorv1.TraceComparison {
	var nearest *evaluatorv1.TraceComparison
	consider := func(e *evaluatorv1.TraceComparison) {
		if nearest == nil || e.GetMatches() && !nearest.GetMatches() || !nearest.GetMatches() && traceNearness(e) > traceNearness(nearest) {
			nearest = e
		}
	}
	for i := range calls {
		for j := range accepted {
			consider(accepted[j].explain(j, &calls[i]))
		}
	}
	if nearest == nil && len(accepted) > 0 {
		consider(&evaluatorv1.TraceComparison{Tool: accepted[0].tool})
	}
	return nearest
}

// explain compares a call with the accepted trace of that number.
func (t *traceTarget) explain(number int, c *call) *evaluatorv1.TraceComparison {
	e := &evaluatorv1.TraceComparison{Accepted: int32(number), Tool: t.tool, FoundTool: c.tool, Matches: t.matches(c)}
	if t.tool != c.tool {
		return e
	}
	for _, want := range t.arguments.Items() {
		argument := &evaluatorv1.ArgumentComparison{Name: validUTF8(want.Key), WantedJson: jsonText(want.Value)}
		if tolerance, ok := t.tolerances[want.Key]; ok && tolerance >= 0 {
			argument.Tolerance = proto.Float64(tolerance)
		}
		if value, ok := c.arguments.Get(want.Key); ok {
			argument.FoundJson = proto.String(jsonText(value))
			argument.Matches = t.matchesArgument(want, value)
		}
		e.Arguments = append(e.Arguments, argument)
	}
	return e
}

// traceTargetsJSON formats accepted traces as JSON.
func traceTargetsJSON(accepted []traceTarget) string {
	traces := make([]python.Value, len(accepted))
	for i, w := range accepted {
		traces[i] = python.DictOf(
			python.Item{Key: "tool_name", Value: python.Str(w.tool)},
			python.Item{Key: "arguments", Value: w.arguments.Value()},
		)
	}
	return jsonText(python.List(traces...))
}

// jsonText formats a value as Python's json module does.
func jsonText(v python.Value) string { return validUTF8(python.JSON(v)) }
