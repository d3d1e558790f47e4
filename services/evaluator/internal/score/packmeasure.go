package score

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/python"
)

// explainStepFactor is the factor of the step limit for explanations.
const explainStepFactor = 16

// packMeasures calls a pack's measures and caches their results. Results depend on the order of
// calls, because steps are limited.
type packMeasures struct {
	steps int
	// lenient raises the step limit and turns failures into similarity 0. Explain sets it, because the
	// score is known.
	lenient bool
	cache   map[cellPair]comparison
	// failure is the first failure of a measure. There is no score after a failure.
	failure error
}

// recordFailure records the first failure, unless failures are lenient.
func (m *packMeasures) recordFailure(err error) {
	if m.failure == nil && !m.lenient {
		m.failure = err
	}
}

// cellPair is the cache key of a comparison.
type cellPair struct {
	measure        *measure.Function
	target, actual cellKey
}

// cellKey is a comparable form of a cell.
type cellKey struct {
	kind Kind
	bits uint64
	text string
}

func keyOf(v Value) cellKey { return cellKey{v.kind, math.Float64bits(v.number), v.text} }

// comparison is the result of a comparison.
type comparison struct {
	similarity float64
	err        error
}

// countSteps counts the steps of a call. The error is measure.ErrSteps, or the first failure, after
// which nothing is called.
func (m *packMeasures) countSteps(steps int) error {
	if m.failure != nil {
		return m.failure
	}
	limit := measure.MaxSteps
	if m.lenient {
		limit *= explainStepFactor
	}
	if m.steps += steps; m.steps > limit {
		return measure.ErrSteps
	}
	return nil
}

// compareCells compares two cells. The error is a *measure.Error or measure.ErrSteps.
func (m *packMeasures) compareCells(fn *measure.Function, target, actual Value) (float64, error) {
	needsCall, equal := fn.Calls(target.python(), actual.python())
	if !needsCall {
		return indicator(equal), nil
	}
	key := cellPair{fn, keyOf(target), keyOf(actual)}
	if cached, ok := m.cache[key]; ok {
		return cached.similarity, cached.err
	}
	similarity, err := m.call(fn, target.python(), actual.python())
	m.cache[key] = comparison{similarity, err}
	return similarity, err
}

// compareRows compares the rows of a table with the target's. The error is that of compareCells.
func (m *packMeasures) compareRows(fn *measure.Function, target [][]cell, rows [][]Value, columns []world.Column) (float64, error) {
	if err := m.countSteps(measure.CellSteps * len(rows) * len(columns)); err != nil {
		return 0, err
	}
	targetRows, actualRows := make([]python.Value, len(target)), make([]python.Value, len(rows))
	for i, row := range target {
		items := make([]python.Item, 0, len(row))
		for _, c := range byColumn(row) {
			items = append(items, python.Item{Key: columns[c.column].Name, Value: c.value.python()})
		}
		targetRows[i] = python.DictOf(items...)
	}
	for i, row := range rows {
		items := make([]python.Item, len(row))
		for j := range row {
			items[j] = python.Item{Key: columns[j].Name, Value: row[j].python()}
		}
		actualRows[i] = python.DictOf(items...)
	}
	return m.call(fn, python.List(targetRows...), python.List(actualRows...))
}

// call calls a measure. It rounds the similarity to 32 bits, as built-in measures do.
func (m *packMeasures) call(fn *measure.Function, target, actual python.Value) (float64, error) {
	if err := m.countSteps(measure.CallSteps); err != nil {
		return 0, err
	}
	similarity, steps, err := fn.Compare(target, actual)
	if exceeded := m.countSteps(steps); err == nil {
		err = exceeded
	}
	if err != nil {
		return 0, err
	}
	return roundToFloat32(similarity), nil
}

// extract calls an extractor. The error is the reason for no alternative.
func (m *packMeasures) extract(fn *measure.Function, c *call) ([][]namedValue, error) {
	if err := m.countSteps(measure.CallSteps); err != nil {
		return nil, err
	}
	extracted, steps, err := fn.Extract(c.tool, c.arguments.Value(), c.result)
	if exceeded := m.countSteps(steps); exceeded != nil {
		return nil, exceeded
	}
	if err != nil {
		return nil, err
	}
	alternatives := make([][]namedValue, len(extracted))
	for i, values := range extracted {
		for _, v := range values {
			alternatives[i] = append(alternatives[i], namedValue{validUTF8(v.Name), v.Value})
		}
	}
	return alternatives, nil
}

// python converts a cell for Python measures.
func (v Value) python() python.Value {
	switch v.kind {
	case KindBool:
		return python.Bool(v.number != 0)
	case KindNumber:
		return python.Float(v.number)
	case KindString:
		return python.Str(v.text)
	case KindNull, KindList:
	}
	return python.None()
}

// validUTF8 replaces invalid UTF-8, as JSON decoders do with lone surrogates.
func validUTF8(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
