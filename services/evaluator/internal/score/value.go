package score

import (
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Kind says what a Value holds.
type Kind uint8

// The kinds of values.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindList
)

// String returns the kind's name.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "number", "text", "list"}[k]
}

// Value is one cell of a table or of a target. The zero Value is null.
type Value struct {
	kind Kind
	// number also holds booleans, as 0 and 1.
	number float64
	text   string
	list   []string
}

// Null returns the null value.
func Null() Value { return Value{} }

// Bool returns a truth value.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, number: 1}
	}
	return Value{kind: KindBool}
}

// Number returns a number.
func Number(n float64) Value { return Value{kind: KindNumber, number: n} }

// String returns a text.
func String(s string) Value { return Value{kind: KindString, text: s} }

// List returns a list of texts, which must not change afterwards.
func List(texts ...string) Value { return Value{kind: KindList, list: texts} }

// Kind returns what v holds.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Text returns the text of v and whether v is one.
func (v Value) Text() (string, bool) { return v.text, v.kind == KindString }

// Float returns the number of v and whether v is one.
func (v Value) Float() (float64, bool) { return v.number, v.kind == KindNumber }

// Truth returns the truth value of v and whether v is one.
func (v Value) Truth() (bool, bool) { return v.number != 0, v.kind == KindBool }

// Texts returns the list of v, which must not be changed, and whether v is one.
func (v Value) Texts() ([]string, bool) { return v.list, v.kind == KindList }

// Equal reports whether both values have the same kind and content. Null equals null and NaN equals
// NaN.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindBool:
		return v.number == w.number
	case KindNumber:
		return v.number == w.number || math.IsNaN(v.number) && math.IsNaN(w.number)
	case KindString:
		return v.text == w.text
	case KindList:
		return slices.Equal(v.list, w.list)
	}
	return true
}

// zero returns the value that stands for null in a column where rows are matched.
func zero(kind world.Kind) Value { return Value{kind: kindOf(kind)} }

// kindOf returns what the cells of a column hold where they are not null.
func kindOf(kind world.Kind) Kind {
	switch kind {
	case world.KindBool:
		return KindBool
	case world.KindNumber:
		return KindNumber
	case world.KindText:
		return KindString
	case world.KindTexts:
		return KindList
	}
	return KindNull
}

// wire returns the value's wire form. A list, which has none, becomes null.
func (v Value) wire() *worldv1.Value {
	switch v.kind {
	case KindBool:
		return world.Bool(v.number != 0)
	case KindNumber:
		return world.Number(v.number)
	case KindString:
		return world.Text(v.text)
	default:
		return world.Null()
	}
}

// wireRow returns a row's wire form; nil has none.
func wireRow(cells []Value) *worldv1.Row {
	if cells == nil {
		return nil
	}
	row := &worldv1.Row{Cells: make([]*worldv1.Value, len(cells))}
	for i := range cells {
		row.Cells[i] = cells[i].wire()
	}
	return row
}
