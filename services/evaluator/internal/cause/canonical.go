package cause

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// findCanonical finds arguments that mean what a milestone wants and are written in another form: a
// phone number without its country code, a time as a date or in another zone, a unit in short.
func (c *classifier) findCanonical() {
	for node, milestone := range c.graph.GetNodes() {
		if c.fulfilled(node) {
			continue
		}
		for _, constraint := range milestone.GetConstraints() {
			c.findOtherForm(c.wantedValues(constraint))
		}
	}
}

// fulfilled reports whether a milestone was reached in full.
func (c *classifier) fulfilled(node int) bool {
	return slices.ContainsFunc(c.result.GetMilestones(), func(m *busv1.Match) bool {
		return int(m.GetNode()) == node && m.GetSimilarity() > 1-1e-9
	})
}

// wanted is a value that a milestone wants, as an argument of a tool or in a cell.
type wanted struct {
	tool, name string // tool is empty for a cell
	value      python.Value
	tolerance  float64
}

// wantedValues returns the values of arguments and cells that a constraint wants exactly or within
// a tolerance.
func (c *classifier) wantedValues(constraint *evaluationv1.Constraint) []wanted {
	var list []wanted
	for _, trace := range evaluation.WantedTraces(constraint) {
		for _, item := range trace.Arguments.Items() {
			list = append(list, wanted{trace.Tool, item.Key, item.Value, trace.Tolerances[item.Key]})
		}
	}
	if constraint.GetTable() == sandboxTable {
		return list
	}
	for _, row := range constraint.GetTarget() {
		for _, cell := range row.GetCells() {
			if measure := c.measureOf(constraint, cell.GetColumn()); measure > evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE {
				continue
			}
			switch value := cell.GetValue(); value.GetKind().(type) {
			case *worldv1.Value_Text:
				list = append(list, wanted{"", cell.GetColumn(), python.Str(value.GetText()), 0})
			case *worldv1.Value_Number:
				list = append(list, wanted{"", cell.GetColumn(), python.Float(value.GetNumber()), tolerance(constraint, cell.GetColumn())})
			}
		}
	}
	return list
}

// measureOf returns the measure of a column, unspecified for an unknown one.
func (c *classifier) measureOf(constraint *evaluationv1.Constraint, column string) evaluationv1.ColumnMeasure {
	for _, override := range constraint.GetOverrides() {
		if override.GetColumn() == column {
			return override.GetMeasure()
		}
	}
	table, _ := c.world.schema.Table(constraint.GetTable())
	if at := table.Column(column); at >= 0 {
		return evaluation.ColumnMeasure(table.Columns[at].Measure)
	}
	return evaluationv1.ColumnMeasure_COLUMN_MEASURE_UNSPECIFIED
}

// tolerance returns the accepted difference of a column.
func tolerance(constraint *evaluationv1.Constraint, column string) float64 {
	for _, override := range constraint.GetOverrides() {
		for _, t := range override.GetTolerances() {
			if override.GetColumn() == column && t.GetName() == column {
				return t.GetAbsolute()
			}
		}
	}
	return 0
}

// findOtherForm reports the first call with another form of a wanted value, unless a call has it as
// wanted.
func (c *classifier) findOtherForm(list []wanted) {
	for _, want := range list {
		var first *invocation
		exact := false
		for _, b := range c.batches {
			for _, one := range b.calls {
				value, ok := want.argument(one)
				if !ok || want.tool != "" && want.tool != one.call.GetTool() {
					continue
				}
				exact = exact || want.isMetBy(value)
				if first == nil && c.otherForm(want.value, value, want.tolerance) {
					first = one
				}
			}
		}
		if first != nil && !exact {
			value, _ := want.argument(first)
			c.add(agent, busv1.CauseKind_CAUSE_KIND_WRONG_CANONICALIZATION, first.index, first.call.GetTool()+" "+want.name+" "+python.JSON(value))
		}
	}
}

// argument returns the argument of a call for the value: that of its name, or whose name ends that
// of the column, as phone_number does of recipient_phone_number.
func (w wanted) argument(one *invocation) (python.Value, bool) {
	for _, item := range one.arguments.Items() {
		if item.Key == w.name || w.tool == "" && strings.HasSuffix(w.name, "_"+item.Key) {
			return item.Value, true
		}
	}
	return python.Value{}, false
}

func (w wanted) isMetBy(value python.Value) bool {
	a, ok := value.Number()
	b, isNumber := w.value.Number()
	return value.Equal(w.value) || ok && isNumber && math.Abs(a-b) <= w.tolerance
}

// otherForm reports whether a value means a wanted one but differs from it.
func (c *classifier) otherForm(want, got python.Value, tolerance float64) bool {
	if (wanted{value: want, tolerance: tolerance}).isMetBy(got) {
		return false
	}
	if number, ok := want.Number(); ok {
		return c.otherNumber(number, got, tolerance)
	}
	text, isText := want.AsStr()
	written := python.Text(got)
	return isText && (samePhone(text, written) || sameWord(text, written))
}

// otherNumber reports whether a value writes a number as text, without its sign, in milliseconds,
// as a date, or as a time in another zone.
func (c *classifier) otherNumber(want float64, got python.Value, tolerance float64) bool {
	isNear := func(value float64) bool { return math.Abs(value-want) <= max(tolerance, 1e-9*math.Abs(want)) }
	const stamps, milliseconds = 1e8, 1000
	if number, ok := got.Number(); ok {
		_, offset := time.Unix(int64(want), 0).In(c.world.zone).Zone()
		isStamp := want > stamps && (isNear(number/milliseconds) || offset != 0 && (isNear(number+float64(offset)) || isNear(number-float64(offset))))
		return isStamp || want != math.Trunc(want) && isNear(-number)
	}
	text, ok := got.AsStr()
	if !ok {
		return false
	}
	if parsed, err := python.ParseJSON(strings.TrimSpace(text)); err == nil {
		if number, ok := parsed.Number(); ok {
			return isNear(number)
		}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, c.world.zone); err == nil && want > stamps {
			return isNear(float64(at.Unix())) || isNear(float64(time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC).Unix()))
		}
	}
	return false
}

// samePhone reports whether two texts are one phone number, one of them without its country code or
// with other signs between the digits.
func samePhone(want, got string) bool {
	const local = 7
	digits := func(text string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case unicode.IsDigit(r):
				return r
			case unicode.IsLetter(r):
				return 'x' // no phone number
			}
			return -1
		}, text)
	}
	a, b := digits(want), strings.TrimLeft(digits(got), "0")
	if !strings.HasPrefix(want, "+") || strings.Contains(a+b, "x") || len(b) < local {
		return false
	}
	return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
}

// sameWord reports whether two words differ in case, marks between letters, or a plural, or one is
// the other in short.
func sameWord(want, got string) bool {
	letters := func(text string) string {
		return strings.TrimSuffix(strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, text), "s")
	}
	a, b := letters(want), letters(got)
	return a != "" && a == b
}
