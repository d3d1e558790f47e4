package score

import (
	"math"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/rouge"
)

// plain compares a cell with a target by every measure that needs no preparation of the cell;
// ROUGE-L and tool traces are the world's, as far as neither side is null.
//
// The result is NaN where the original's comparison has no result: equality of a null cell and a
// value.
func (c *cell) plain(value Value) float64 {
	switch {
	case c.measure == One:
		return 1
	case c.measure == RougeL || c.measure == ToolTrace:
		return 0
	case c.value.IsNull():
		return truth(value.IsNull())
	case value.IsNull() && c.measure == Exact:
		return math.NaN()
	case value.IsNull():
		return 0
	case c.measure == Contains:
		return truth(strings.Contains(value.text, c.value.text))
	case c.measure == Close && c.tolerance >= 0 && c.value.kind == KindNumber && value.kind == KindNumber:
		return truth(c.value.number == value.number || math.Abs(c.value.number-value.number) <= c.tolerance)
	}
	return truth(c.value.Equal(value))
}

// compareCell compares a cell with a target by every measure but traces.
func (w *prepared) compareCell(c *cell, value Value) float64 {
	switch {
	case c.own != nil:
		similarity, err := w.own.cells(c.own, c.value, value)
		w.own.failed(err)
		return similarity
	case c.target != nil && !value.IsNull():
		return single(c.target.FMeasure(w.tokens(value.text)))
	}
	return c.plain(value)
}

// truth is 1 for true.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// single rounds a similarity to 32 bits, in which the original keeps those of columns.
func single(similarity float64) float64 { return float64(float32(similarity)) }

// root returns the n-th root of a product of n similarities: their geometric mean. The mean of none
// is 1.
func root(product float64, n int) float64 {
	if n <= 1 || product == 0 || product == 1 {
		return product
	}
	if n == 2 {
		return math.Sqrt(product)
	}
	return math.Pow(product, 1/float64(n))
}

// row compares a row of a stored table with a target row: the geometric mean over the target's
// columns. A comparison without a result leaves its column out of the product, as the original
// does, but where it is the only one there is no mean, and the result is NaN.
func (w *prepared) row(target []cell, row []Value) float64 {
	product := 1.0
	for i := range target {
		c := &target[i]
		value := row[c.column]
		similarity := w.compareCell(c, value)
		if math.IsNaN(similarity) {
			if len(target) == 1 {
				return similarity
			}
			continue
		}
		if product *= similarity; product == 0 {
			return 0
		}
	}
	return root(product, len(target))
}

// message compares a message with a target row. accepted and content replace the target's traces
// and text in the column fill, unless that is −1.
func (w *prepared) message(target []cell, index, fill int, accepted []wanted, content string) float64 {
	message := &w.trajectory.Messages[index]
	product := 1.0
	for i := range target {
		c := &target[i]
		var similarity float64
		switch {
		case c.measure == ToolTrace:
			goldens := c.accepted
			if c.column == fill {
				goldens = accepted
			}
			similarity = truth(anyFits(goldens, w.calls(index)))
		case c.column == fill && fill == columnContent && !c.value.IsNull():
			similarity = w.filledText(c, message.Content, content)
		default:
			similarity = w.compareCell(c, message.cell(c.column))
		}
		if math.IsNaN(similarity) {
			if len(target) == 1 {
				return 0
			}
			continue
		}
		if product *= similarity; product == 0 {
			return 0
		}
	}
	return root(product, len(target))
}

// filledText compares a message's content with a completed target text.
func (w *prepared) filledText(c *cell, value Value, content string) float64 {
	completed := cell{measure: c.measure, own: c.own, value: String(content), tolerance: -1}
	if c.measure != RougeL {
		return w.compareCell(&completed, value)
	}
	if value.IsNull() {
		return 0
	}
	target, ok := w.targets[content]
	if !ok {
		target = rouge.NewTarget(content)
		if w.targets == nil {
			w.targets = make(map[string]*rouge.Target)
		}
		w.targets[content] = target
	}
	return single(target.FMeasure(w.tokens(value.text)))
}

// dependant compares a message with a target that is completed from the traces of the reference
// message.
func (w *prepared) dependant(c *constraint, index, reference int) float64 {
	best := 0.0
	for _, f := range w.fillings(c, reference) {
		if best = max(best, w.message(c.target[0], index, c.fill, f.accepted, f.content)); best == 1 {
			break
		}
	}
	return best
}

// filling is one of the ways to complete a target: what stands in its tool_trace or in its content.
type filling struct {
	accepted []wanted
	content  string
}

// fillings returns the ways in which the traces of a reference message complete the target of a
// constraint.
func (w *prepared) fillings(c *constraint, reference int) []filling {
	if c.fill == columnContent && c.template == nil {
		return nil
	}
	at := w.filled[c]
	if at == nil {
		at = make([][]filling, len(w.trajectory.Messages))
		if w.filled == nil {
			w.filled = make(map[*constraint][][]filling)
		}
		w.filled[c] = at
	}
	if at[reference] != nil {
		return at[reference]
	}
	list := []filling{}
	calls := w.calls(reference)
	for i := range calls {
		for _, values := range w.extract(&calls[i], c.extractor).alternatives {
			if c.fill == columnContent {
				if c.template.takes(values) {
					list = append(list, filling{content: c.template.fill(values)})
				}
			} else {
				list = append(list, filling{accepted: c.completed(values, true)}, filling{accepted: c.completed(values, false)})
			}
		}
	}
	at[reference] = list
	return list
}

// completed returns the traces of the target's tool_trace with extracted values, which win over the
// given ones if replace is true.
func (c *constraint) completed(values []named, replace bool) []wanted {
	for i := range c.target[0] {
		if cell := &c.target[0][i]; cell.column == columnToolTrace {
			traces := make([]wanted, len(cell.accepted))
			for j := range cell.accepted {
				traces[j] = cell.accepted[j].filled(values, replace)
			}
			return traces
		}
	}
	return nil
}
