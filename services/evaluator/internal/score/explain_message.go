package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/python"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/rouge"
)

// completion is what a target is completed with: accepted or content stand in the column fill,
// unless that is −1.
type completion struct {
	fill     int
	accepted []wanted
	content  string
	values   []named
}

// completions returns all completions of a target from the calls at its reference, in the order in
// which they are tried.
func (x *explainer) completions(c *constraint, calls []call) []completion {
	var all []completion
	for i := range calls {
		for _, values := range x.extract(&calls[i], c.extractor).alternatives {
			if c.fill == columnContent {
				if !c.template.takes(values) {
					continue
				}
				all = append(all, completion{fill: c.fill, content: c.template.fill(values), values: values})
				continue
			}
			for _, replace := range []bool{true, false} {
				all = append(all, completion{fill: c.fill, accepted: c.completed(values, replace), values: values})
			}
		}
	}
	return all
}

// completedMessage explains a comparison of a message with a target that is completed.
func (x *explainer) completedMessage(e *evaluatorv1.ConstraintExplanation, c *constraint, index int) {
	plain := completion{fill: -1}
	if c.fill == columnContent && c.template == nil {
		e.Problem = "nothing can complete the wanted text"
		e.Rows = []*evaluatorv1.RowExplanation{x.message(c, index, plain)}
		return
	}
	reference := int(e.GetReferenceIndex())
	calls := x.calls(reference)
	all := x.completions(c, calls)
	if len(all) == 0 {
		e.Problem = fmt.Sprintf("no call at message %d gives %s", reference, strings.Join(c.gives(), " and "))
		for i := range calls {
			if problem := x.extract(&calls[i], c.extractor).problem; problem != nil {
				e.Problem += fmt.Sprintf("; %s: %v", calls[i].tool, problem)
			}
		}
		e.Rows = []*evaluatorv1.RowExplanation{x.message(c, index, plain)}
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
		e.Extracted = append(e.Extracted, &evaluatorv1.ExtractedValue{Name: best.values[i].name, Value: printed(best.values[i].value)})
	}
}

// similarity returns that of a message with the target.
func (x *explainer) similarity(c *constraint, index int, with completion) float64 {
	if !c.admits(&x.trajectory.Messages[index]) {
		return 0
	}
	return x.prepared.message(c.target[0], index, with.fill, with.accepted, with.content)
}

// message explains the comparison of a message with the target.
func (x *explainer) message(c *constraint, index int, with completion) *evaluatorv1.RowExplanation {
	message := &x.trajectory.Messages[index]
	row := &evaluatorv1.RowExplanation{Wanted: proto.Int32(0), Similarity: x.similarity(c, index, with)}
	for _, target := range byColumn(c.target[0]) {
		var cell *evaluatorv1.CellExplanation
		switch filled := target.column == with.fill; {
		case target.measure == ToolTrace:
			accepted := target.accepted
			if filled {
				accepted = with.accepted
				target.value = String(wantedJSON(accepted))
			}
			cell = x.cell(sandbox, target, message.cell(target.column))
			cell.Trace = nearestTrace(accepted, x.calls(index))
			cell.Similarity = truth(cell.GetTrace().GetFits())
		case filled && with.fill == columnContent && !target.value.IsNull():
			target.value, target.tolerance, target.target = String(with.content), -1, nil
			if target.measure == RougeL {
				target.target = rouge.NewTarget(with.content)
			}
			cell = x.cell(sandbox, target, message.cell(target.column))
		default:
			cell = x.cell(sandbox, target, message.cell(target.column))
		}
		if cell.GetNoResult() && (target.column == columnSender || target.column == columnRecipient) {
			cell.NoResult = false // a role is looked at before anything is compared
		}
		row.Cells = append(row.Cells, cell)
	}
	return row
}

// byColumn returns the cells of a target row in column order.
func byColumn(target []cell) []cell {
	return slices.SortedStableFunc(slices.Values(target), func(a, b cell) int { return cmp.Compare(a.column, b.column) })
}

// cell explains the comparison of two cells, but not of traces.
func (x *explainer) cell(t int, target cell, value Value) *evaluatorv1.CellExplanation {
	e := &evaluatorv1.CellExplanation{Column: x.columns(t)[target.column].Name, Measure: target.measure, Wanted: target.value.wire()}
	if texts, ok := value.Texts(); ok {
		e.FoundTexts = texts
	} else {
		e.Found = value.wire()
	}
	if target.own != nil {
		e.OwnMeasure = target.own.Name
		if _, err := x.own.cells(target.own, target.value, value); err != nil {
			e.Problem = err.Error()
		}
	}
	similarity := x.compareCell(&target, value)
	if target.target != nil && !value.IsNull() && !x.brief {
		e.Text = compared(target.value.text, value.text)
	}
	if e.NoResult = math.IsNaN(similarity); !e.GetNoResult() {
		e.Similarity = similarity
	}
	return e
}

// compared says which words two texts have in common.
func compared(wanted, found string) *evaluatorv1.TextComparison {
	alignment := rouge.Align(wanted, found)
	text := &evaluatorv1.TextComparison{Precision: alignment.Precision, Recall: alignment.Recall}
	for _, word := range alignment.Common {
		text.Common = append(text.Common, &evaluatorv1.CommonWord{
			Wanted: wanted[word.TargetStart:word.TargetEnd], WantedAt: int32(word.TargetStart),
			Found: found[word.PredictionStart:word.PredictionEnd], FoundAt: int32(word.PredictionStart),
		})
	}
	return text
}

// nearestTrace compares the accepted trace and the call that fit, or that come closest; nil if
// nothing is accepted.
func nearestTrace(accepted []wanted, calls []call) *evaluatorv1.TraceComparison {
	var nearest *evaluatorv1.TraceComparison
	consider := func(e *evaluatorv1.TraceComparison) {
		if nearest == nil || e.GetFits() && !nearest.GetFits() || !nearest.GetFits() && traceNearness(e) > traceNearness(nearest) {
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
func (w *wanted) explain(number int, c *call) *evaluatorv1.TraceComparison {
	e := &evaluatorv1.TraceComparison{Accepted: int32(number), Tool: w.tool, FoundTool: c.tool, Fits: w.fits(c)}
	if w.tool != c.tool {
		return e
	}
	for _, want := range w.arguments.Items() {
		argument := &evaluatorv1.ArgumentComparison{Name: plain(want.Key), WantedJson: jsonText(want.Value)}
		if tolerance, ok := w.tolerances[want.Key]; ok && tolerance >= 0 {
			argument.Tolerance = proto.Float64(tolerance)
		}
		if given, ok := c.arguments.Get(want.Key); ok {
			argument.FoundJson = proto.String(jsonText(given))
			argument.Fits = w.accepts(want, given)
		}
		e.Arguments = append(e.Arguments, argument)
	}
	return e
}

// wantedJSON writes accepted traces as a JSON text.
func wantedJSON(accepted []wanted) string {
	traces := make([]python.Value, len(accepted))
	for i, w := range accepted {
		traces[i] = python.DictOf(
			python.Item{Key: "tool_name", Value: python.Str(w.tool)},
			python.Item{Key: "arguments", Value: w.arguments.Value()},
		)
	}
	return jsonText(python.List(traces...))
}

// jsonText writes a value as Python's json module does.
func jsonText(v python.Value) string { return plain(python.JSON(v)) }
