package score

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// lenience is how many times as many an explanation may take.
const lenience = 16

// owned calls measures of the pack's own and keeps what they give. What it gives follows from the
// order of the calls.
type owned struct {
	steps int
	// lenient lets calls take more steps, and their failures give 0: the score is known.
	lenient bool
	known   map[pair]comparison
	// failure is the first failure of a measure, after which there is no score.
	failure error
}

// failed keeps the first failure, unless the score is known already.
func (o *owned) failed(err error) {
	if o.failure == nil && !o.lenient {
		o.failure = err
	}
}

// pair is two cells and the measure that compares them.
type pair struct {
	own           *measure.Function
	wanted, found scalar
}

// scalar is a value of a cell that can be a key.
type scalar struct {
	kind Kind
	bits uint64
	text string
}

func scalarOf(v Value) scalar { return scalar{v.kind, math.Float64bits(v.number), v.text} }

// comparison is what came of a comparison.
type comparison struct {
	similarity float64
	err        error
}

// spend counts the steps of a call. Its error is measure.ErrSteps, or the first failure: nothing is
// called after that.
func (o *owned) spend(steps int) error {
	if o.failure != nil {
		return o.failure
	}
	most := measure.MaxSteps
	if o.lenient {
		most *= lenience
	}
	if o.steps += steps; o.steps > most {
		return measure.ErrSteps
	}
	return nil
}

// cells compares two cells. Its error is a *measure.Error or measure.ErrSteps.
func (o *owned) cells(own *measure.Function, wanted, found Value) (float64, error) {
	calls, equal := own.Calls(wanted.python(), found.python())
	if !calls {
		return truth(equal), nil
	}
	key := pair{own, scalarOf(wanted), scalarOf(found)}
	if known, ok := o.known[key]; ok {
		return known.similarity, known.err
	}
	similarity, err := o.call(own, wanted.python(), found.python())
	if o.known == nil {
		o.known = make(map[pair]comparison)
	}
	o.known[key] = comparison{similarity, err}
	return similarity, err
}

// rows compares the rows of a table with the target's.
func (o *owned) rows(own *measure.Function, target [][]cell, rows [][]Value, columns []world.Column) (float64, error) {
	if err := o.spend(measure.CellSteps * len(rows) * len(columns)); err != nil {
		return 0, err
	}
	wanted, found := make([]python.Value, len(target)), make([]python.Value, len(rows))
	for i, row := range target {
		items := make([]python.Item, 0, len(row))
		for _, c := range byColumn(row) {
			items = append(items, python.Item{Key: columns[c.column].Name, Value: c.value.python()})
		}
		wanted[i] = python.DictOf(items...)
	}
	for i, row := range rows {
		items := make([]python.Item, len(row))
		for j := range row {
			items[j] = python.Item{Key: columns[j].Name, Value: row[j].python()}
		}
		found[i] = python.DictOf(items...)
	}
	return o.call(own, python.List(wanted...), python.List(found...))
}

// call calls a measure. A similarity has 32 bits, as those of built-in measures have.
func (o *owned) call(own *measure.Function, wanted, found python.Value) (float64, error) {
	if err := o.spend(measure.CallSteps); err != nil {
		return 0, err
	}
	similarity, steps, err := own.Compare(wanted, found)
	if exceeded := o.spend(steps); err == nil {
		err = exceeded
	}
	if err != nil {
		return 0, err
	}
	return single(similarity), nil
}

// extract calls an extractor with a call. Its error says why there is no alternative.
func (o *owned) extract(own *measure.Function, c *call) ([][]named, error) {
	if err := o.spend(measure.CallSteps); err != nil {
		return nil, err
	}
	given, steps, err := own.Extract(c.tool, c.arguments.Value(), c.result)
	if exceeded := o.spend(steps); exceeded != nil {
		return nil, exceeded
	}
	if err != nil {
		return nil, err
	}
	alternatives := make([][]named, len(given))
	for i, values := range given {
		for _, v := range values {
			alternatives[i] = append(alternatives[i], named{plain(v.Name), v.Value})
		}
	}
	return alternatives, nil
}

// python returns a cell as measures in Python read it.
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

// plain replaces what is no UTF-8, as a reader of JSON does with lone surrogates.
func plain(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }
