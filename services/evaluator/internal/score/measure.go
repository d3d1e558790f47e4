package score

import (
	"math"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/ported/rouge"
)

// compareDirect compares a cell with a target by every measure that needs no preparation of the
// cell. For ROUGE-L and traces it returns 0.
//
// The result is NaN where the original's comparison has no result: equality of a null cell and a
// value.
func (c *cell) compareDirect(value Value) float64 {
	switch {
	case c.measure == One:
		return 1
	case c.measure == RougeL || c.measure == ToolTrace:
		return 0
	case c.value.IsNull():
		return indicator(value.IsNull())
	case value.IsNull() && c.measure == Exact:
		return math.NaN()
	case value.IsNull():
		return 0
	case c.measure == Contains:
		return indicator(strings.Contains(value.text, c.value.text))
	case c.measure == Close && c.tolerance >= 0 && c.value.kind == KindNumber && value.kind == KindNumber:
		return indicator(c.value.number == value.number || math.Abs(c.value.number-value.number) <= c.tolerance)
	}
	return indicator(c.value.Equal(value))
}

// compareCell compares a cell with a target by every measure except traces.
func (p *preparedTrajectory) compareCell(c *cell, value Value) float64 {
	switch {
	case c.packMeasure != nil:
		similarity, err := p.packMeasures.compareCells(c.packMeasure, c.value, value)
		p.packMeasures.recordFailure(err)
		return similarity
	case c.target != nil && !value.IsNull():
		return p.compareTexts(c.target, value.text)
	}
	return c.compareDirect(value)
}

// indicator is 1 for true.
func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// roundToFloat32 rounds a similarity to 32 bits, the precision of the original's column
// similarities.
func roundToFloat32(similarity float64) float64 { return float64(float32(similarity)) }

// nthRoot returns the n-th root of a product of n similarities: their geometric mean, 1 without
// any.
func nthRoot(product float64, n int) float64 {
	if n <= 1 || product == 0 || product == 1 {
		return product
	}
	if n == 2 {
		return math.Sqrt(product)
	}
	return math.Pow(product, 1/float64(n))
}

// compareRow compares a row of a stored table with a target row: the geometric mean over the
// target's columns. As in the original, the product omits a comparison without a result. The result
// is NaN if that is the only column.
func (p *preparedTrajectory) compareRow(target []cell, row []Value) float64 {
	product := 1.0
	for i := range target {
		c := &target[i]
		value := row[c.column]
		similarity := p.compareCell(c, value)
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
	return nthRoot(product, len(target))
}

// compareMessage compares a message with a target row. completed replaces the target's traces or
// text, as the type completion describes.
func (p *preparedTrajectory) compareMessage(target []cell, index int, completed completion) float64 {
	message := &p.trajectory.Messages[index]
	product := 1.0
	for i := range target {
		c := &target[i]
		var similarity float64
		switch {
		case c.measure == ToolTrace:
			traces := c.accepted
			if c.column == completed.fillColumn {
				traces = completed.accepted
			}
			similarity = indicator(anyMatches(traces, p.calls(index)))
		case c.column == columnContent && completed.fillColumn == columnContent && !c.value.IsNull():
			similarity = p.compareCompletedText(c, message.cell(columnContent), completed.content)
		default:
			similarity = p.compareCell(c, message.cell(c.column))
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
	return nthRoot(product, len(target))
}

// compareCompletedText compares a message's content with a completed target text.
func (p *preparedTrajectory) compareCompletedText(c *cell, value Value, content string) float64 {
	completed := cell{measure: c.measure, packMeasure: c.packMeasure, value: String(content), tolerance: -1}
	if c.measure != RougeL {
		return p.compareCell(&completed, value)
	}
	if value.IsNull() {
		return 0
	}
	target, ok := p.targets[content]
	if !ok {
		target = rouge.NewTarget(content)
		p.targets[content] = target
	}
	return p.compareTexts(target, value.text)
}

// compareTexts returns the ROUGE-L of a text.
func (p *preparedTrajectory) compareTexts(target *rouge.Target, text string) float64 {
	tokens := p.tokens(text)
	p.effort += len(tokens)
	numbered, ok := p.numbered[target]
	if !ok {
		numbered = p.vocabulary.Target(target)
		p.numbered[target] = numbered
	}
	return roundToFloat32(numbered.FMeasure(tokens))
}

// dependant compares a message with a target completed from the traces of the reference message. It
// returns the best similarity.
func (p *preparedTrajectory) dependant(c *constraint, index, reference int) float64 {
	best := 0.0
	for _, f := range p.targetCompletions(c, reference) {
		if best = max(best, p.compareMessage(c.target[0], index, f)); best == 1 {
			break
		}
	}
	return best
}

// completion replaces the target's traces or text in fillColumn by accepted or content. fillColumn
// −1 replaces nothing.
type completion struct {
	fillColumn int
	accepted   []traceTarget
	content    string
	values     []namedValue
}

// targetCompletions returns the completions of a constraint's target from the traces of a reference
// message.
func (p *preparedTrajectory) targetCompletions(c *constraint, reference int) []completion {
	if !c.completes() {
		return nil
	}
	return p.completionClasses(c).lists[p.completionClass(c, reference)]
}

// completionClasses are the different lists of completions of a constraint's target.
type completionClasses struct {
	// at is the number of the list of each message, −1 if it is not known yet.
	at      []int32
	lists   [][]completion
	numbers map[string]int32 // of the lists, by the extracted values
}

// completionClasses returns the known lists of completions of a constraint's target.
func (p *preparedTrajectory) completionClasses(c *constraint) *completionClasses {
	all := p.completions[c]
	if all == nil {
		all = &completionClasses{at: slices.Repeat([]int32{-1}, len(p.trajectory.Messages)), numbers: make(map[string]int32)}
		p.completions[c] = all
	}
	return all
}

// completes reports whether anything can complete the constraint's target.
func (c *constraint) completes() bool { return c.fillColumn != columnContent || c.template != nil }

// completionClass returns the number of the list of completions at a reference message.
func (p *preparedTrajectory) completionClass(c *constraint, reference int) int {
	if !c.completes() {
		return 0
	}
	all := p.completionClasses(c)
	if all.at[reference] < 0 {
		var key []byte
		calls := p.calls(reference)
		for i := range calls {
			key = append(key, p.extract(&calls[i], c.extractor).key...)
		}
		number, ok := all.numbers[string(key)]
		if !ok {
			number = int32(len(all.lists))
			all.numbers[string(key)], all.lists = number, append(all.lists, p.complete(c, reference))
		}
		all.at[reference] = number
	}
	return int(all.at[reference])
}

// completionEffort is the number of compared words that take as long as making a completion.
const completionEffort = 1000

// complete returns the completions of a constraint's target from the traces of a reference message.
func (p *preparedTrajectory) complete(c *constraint, reference int) []completion {
	var list []completion
	calls := p.calls(reference)
	for i := range calls {
		for _, values := range p.extract(&calls[i], c.extractor).alternatives {
			made := completion{fillColumn: c.fillColumn, values: values}
			p.effort += completionEffort
			switch {
			case c.fillColumn != columnContent:
				for _, replace := range []bool{true, false} {
					made.accepted = c.completedTraces(values, replace)
					list = append(list, made)
				}
			case c.template.canFill(values):
				made.content = c.template.fill(values)
				p.effort += len(made.content)
				list = append(list, made)
			}
		}
	}
	return list
}

// completedTraces returns the target's traces with extracted values. If replace is set, they
// replace the target's own arguments.
func (c *constraint) completedTraces(values []namedValue, replace bool) []traceTarget {
	for i := range c.target[0] {
		if cell := &c.target[0][i]; cell.column == columnToolTrace {
			traces := make([]traceTarget, len(cell.accepted))
			for j := range cell.accepted {
				traces[j] = cell.accepted[j].withValues(values, replace)
			}
			return traces
		}
	}
	return nil
}
