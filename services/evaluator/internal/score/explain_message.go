package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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
func (c *constraint) completions(calls []call) []completion {
	var all []completion
	for i := range calls {
		for _, values := range calls[i].extract(c.extractor).alternatives {
			if c.fill == columnContent {
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
func (x *explainer) completedMessage(e *ConstraintExplanation, c *constraint, index int) {
	plain := completion{fill: -1}
	if c.fill == columnContent && c.template == nil {
		e.Problem = "nothing can complete the wanted text"
		e.Rows = []RowExplanation{x.message(c, index, plain)}
		return
	}
	calls := x.calls(e.ReferenceIndex)
	all := c.completions(calls)
	if len(all) == 0 {
		e.Problem = fmt.Sprintf("no call at message %d gives %s", e.ReferenceIndex, strings.Join(c.extractor.Names(), " and "))
		for i := range calls {
			if problem := calls[i].extract(c.extractor).problem; problem != nil {
				e.Problem += fmt.Sprintf("; %s: %v", calls[i].tool, problem)
			}
		}
		e.Rows = []RowExplanation{x.message(c, index, plain)}
		return
	}
	best := all[0]
	for _, tried := range all {
		if x.similarity(c, index, tried) > x.similarity(c, index, best) {
			best = tried
		}
	}
	e.Rows = []RowExplanation{x.message(c, index, best)}
	for i := range best.values {
		e.Extracted = append(e.Extracted, ExtractedValue{Name: best.values[i].name, Value: printed(&best.values[i].value)})
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
func (x *explainer) message(c *constraint, index int, with completion) RowExplanation {
	message := &x.trajectory.Messages[index]
	row := RowExplanation{Similarity: x.similarity(c, index, with)}
	for _, target := range byColumn(c.target[0]) {
		var cell CellExplanation
		switch filled := target.column == with.fill; {
		case target.measure == ToolTrace:
			accepted := target.accepted
			if filled {
				accepted = with.accepted
				target.value = String(wantedJSON(accepted))
			}
			cell = x.cell(sandbox, target, message.cell(target.column))
			cell.Trace = nearestTrace(accepted, x.calls(index))
			cell.Similarity = truth(cell.Trace != nil && cell.Trace.Fits)
		case filled && with.fill == columnContent && !target.value.IsNull():
			target.value, target.tolerance, target.target = String(with.content), -1, nil
			if target.measure == RougeL {
				target.target = rouge.NewTarget(with.content)
			}
			cell = x.cell(sandbox, target, message.cell(target.column))
		default:
			cell = x.cell(sandbox, target, message.cell(target.column))
		}
		if cell.NoResult && (target.column == columnSender || target.column == columnRecipient) {
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
func (x *explainer) cell(t int, target cell, value Value) CellExplanation {
	e := CellExplanation{Column: x.columns(t)[target.column].Name, Measure: target.measure, Wanted: target.value, Found: value}
	if target.target == nil || value.IsNull() {
		e.Similarity = target.plain(value)
	} else {
		e.Similarity = single(target.target.FMeasure(x.tokens(value.text)))
		if !x.brief {
			alignment := rouge.Align(target.value.text, value.text)
			e.Text = &alignment
		}
	}
	if math.IsNaN(e.Similarity) {
		e.Similarity, e.NoResult = 0, true
	}
	return e
}

// nearestTrace compares the accepted trace and the call that fit, or that come closest; nil if
// nothing is accepted.
func nearestTrace(accepted []wanted, calls []call) *TraceExplanation {
	var nearest *TraceExplanation
	consider := func(e TraceExplanation) {
		if nearest == nil || e.Fits && !nearest.Fits || !nearest.Fits && e.nearness() > nearest.nearness() {
			nearest = &e
		}
	}
	for i := range calls {
		for j := range accepted {
			consider(accepted[j].explain(j, &calls[i]))
		}
	}
	if nearest == nil && len(accepted) > 0 {
		consider(TraceExplanation{Tool: accepted[0].tool})
	}
	return nearest
}

// explain compares a call with the accepted trace of that number.
func (w *wanted) explain(number int, c *call) TraceExplanation {
	e := TraceExplanation{Accepted: number, Tool: w.tool, FoundTool: c.tool, Fits: w.fits(c)}
	if w.tool != c.tool {
		return e
	}
	for i, name := range w.names {
		argument := ArgumentExplanation{Name: name, Wanted: w.arguments[i].json(), Tolerance: w.tolerance[i]}
		if given, ok := c.arguments.get(name); ok {
			argument.Found = given.json()
			argument.Fits = within(given, &w.arguments[i], w.tolerance[i])
		}
		e.Arguments = append(e.Arguments, argument)
	}
	return e
}

// wantedJSON writes accepted traces as a JSON text.
func wantedJSON(accepted []wanted) string {
	list := datum{kind: datumList}
	for i := range accepted {
		arguments := datum{kind: datumObject, names: accepted[i].names, items: accepted[i].arguments}
		list.items = append(list.items, datum{
			kind: datumObject, names: []string{"tool_name", "arguments"},
			items: []datum{{kind: datumString, text: accepted[i].tool}, arguments},
		})
	}
	return list.json()
}
