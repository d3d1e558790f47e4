package document

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// CheckShape reports whether a value has one of the shapes, and records a mistake otherwise. A
// missing value is not a mistake, but the result is false.
func (r *Reader) CheckShape(v *Value, shapes ...Shape) bool {
	if v == nil || v.Shape == ShapeBroken {
		return false
	}
	if slices.Contains(shapes, v.Shape) {
		return true
	}
	names := make([]string, len(shapes))
	for i, s := range shapes {
		names[i] = s.String()
	}
	hint := ""
	if slices.Contains(shapes, ShapeText) && v.Shape != ShapeNull && v.Shape != ShapeList && v.Shape != ShapeMapping && v.Noun == "" {
		hint = " (quote it)"
	}
	if text, ok := v.colonText(); ok && slices.Equal(shapes, []Shape{ShapeText}) {
		hint = ": a colon before a space makes a mapping; write " + Quote(text) + " if this is one text"
	}
	r.Fail(v, "is %s, expected %s%s", v.ShapeName(), strings.Join(names, " or "), hint)
	return false
}

// ShapeName returns the name of a value for messages.
func (v *Value) ShapeName() string { return cmp.Or(v.Noun, v.Shape.String()) }

// colonText returns the text of a mapping if its colon is part of the text.
func (v *Value) colonText() (text string, ok bool) {
	if v.Shape != ShapeMapping || len(v.Fields) != 1 {
		return "", false
	}
	only := v.Fields[0].Value
	return v.Fields[0].Key + ": " + only.Text, only.Shape == ShapeText || only.Shape == ShapeNumber
}

// Require records a missing field, unless an unknown one may be it with a spelling mistake.
func (r *Reader) Require(v *Value, key string) {
	if v != nil && !v.Unknown && v.Get(key) == nil {
		r.Fail(v, "has no %q, which is required", key)
	}
}

// Text reads a text.
func (r *Reader) Text(v *Value) string {
	if !r.CheckShape(v, ShapeText) {
		return ""
	}
	return v.Text
}

// Number reads a number.
func (r *Reader) Number(v *Value) float64 {
	if !r.CheckShape(v, ShapeNumber) {
		return 0
	}
	return v.Number
}

// Integer reads an integer from minimum to maximum.
func (r *Reader) Integer(v *Value, minimum, maximum int64) int64 {
	if !r.CheckShape(v, ShapeNumber) {
		return 0
	}
	if v.Number != math.Trunc(v.Number) || v.Number < float64(minimum) || v.Number > float64(maximum) {
		r.Fail(v, "is %s, expected a whole number from %d to %d", v.Text, minimum, maximum)
		return 0
	}
	return int64(v.Number)
}

// Items returns the items of a list.
func (r *Reader) Items(v *Value) []*Value {
	if !r.CheckShape(v, ShapeList) {
		return nil
	}
	return v.List
}

// Singleton returns a list, or the list of one item for its short form: a text, or a mapping
// with the field key. It returns nil for any other value.
func (r *Reader) Singleton(v *Value, key string) *Value {
	switch {
	case !r.CheckShape(v, ShapeText, ShapeList):
		return nil
	case v.Shape == ShapeList:
		return v
	}
	item := v
	if key != "" {
		item = &Value{Shape: ShapeMapping, Path: v.Path, Line: v.Line, Column: v.Column, Fields: []Field{{Key: key, Position: v, Value: v}}}
	}
	return &Value{Shape: ShapeList, Path: v.Path, Line: v.Line, Column: v.Column, List: []*Value{item}}
}

// Texts reads a list of texts.
func (r *Reader) Texts(v *Value) []string {
	var out []string
	for _, item := range r.Items(v) {
		if r.CheckShape(item, ShapeText) {
			out = append(out, item.Text)
		}
	}
	return out
}

// Only returns the single document of a file, nil without one.
func (r *Reader) Only(data []byte, what string) *Value {
	docs := r.Documents(data)
	if len(docs) != 1 && len(r.Errors) == 0 {
		r.Fail(Top(), "has %d documents, expected one %s", len(docs), what)
	}
	if len(docs) != 1 {
		return nil
	}
	return docs[0]
}
