package score

import (
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Kind is the type of a Value.
type Kind uint8

// These are the kinds of values.
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

// Value is a cell of a table or target. The zero Value is null.
type Value struct {
	kind Kind
	// number also holds booleans, as 0 and 1.
	number float64
	text   string
	list   []string
}

// Null returns the null value.
func Null() Value { return Value{} }

// Bool returns a boolean.
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

// List returns a list of texts. The caller must not change it afterwards.
func List(texts ...string) Value { return Value{kind: KindList, list: texts} }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Texts returns the list of v, which must not be changed. ok is false for other kinds.
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

// nullValue returns the zero value of a column, which equals null when rows are paired.
func nullValue(kind world.Kind) Value { return Value{kind: kindOf(kind)} }

// kindOf returns the kind of a column's non-null cells.
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

// FromProto converts a wire form to a value.
func FromProto(v *worldv1.Value) Value {
	switch kind := v.GetKind().(type) {
	case *worldv1.Value_Boolean:
		return Bool(kind.Boolean)
	case *worldv1.Value_Number:
		return Number(kind.Number)
	case *worldv1.Value_Text:
		return String(kind.Text)
	default:
		return Null()
	}
}

// wire converts the value to its wire form. Lists have none and become null.
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

// wireRow converts a row to its wire form; nil stays nil.
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
