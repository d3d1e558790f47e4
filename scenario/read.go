package scenario

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// checkShape reports whether a value has one of the shapes, and records a mistake otherwise. A
// missing value is not a mistake, but the result is false.
func (r *docReader) checkShape(v *value, shapes ...shape) bool {
	if v == nil || v.shape == shapeBroken {
		return false
	}
	if slices.Contains(shapes, v.shape) {
		return true
	}
	names := make([]string, len(shapes))
	for i, s := range shapes {
		names[i] = s.String()
	}
	hint := ""
	if slices.Contains(shapes, shapeText) && v.shape != shapeNull && v.shape != shapeList && v.shape != shapeMapping && v.noun == "" {
		hint = " (quote it)"
	}
	if text, ok := v.colonText(); ok && slices.Equal(shapes, []shape{shapeText}) {
		hint = ": a colon before a space makes a mapping; write " + jsonString(text) + " if this is one text"
	}
	r.fail(v, "is %s, expected %s%s", v.shapeName(), strings.Join(names, " or "), hint)
	return false
}

// shapeName returns the name of a value for messages.
func (v *value) shapeName() string { return cmp.Or(v.noun, v.shape.String()) }

// colonText returns the text of a mapping if its colon is part of the text.
func (v *value) colonText() (text string, ok bool) {
	if v.shape != shapeMapping || len(v.fields) != 1 {
		return "", false
	}
	only := v.fields[0].value
	return v.fields[0].key + ": " + only.text, only.shape == shapeText || only.shape == shapeNumber
}

// require records a missing field.
func (r *docReader) require(v *value, key string) {
	if v != nil && v.get(key) == nil {
		r.fail(v, "has no %q, which is required", key)
	}
}

func (r *docReader) text(v *value) string {
	if !r.checkShape(v, shapeText) {
		return ""
	}
	return v.text
}

func (r *docReader) number(v *value) float64 {
	if !r.checkShape(v, shapeNumber) {
		return 0
	}
	return v.number
}

// integer reads an integer from minimum to maximum.
func (r *docReader) integer(v *value, minimum, maximum int64) int64 {
	if !r.checkShape(v, shapeNumber) {
		return 0
	}
	if v.number != math.Trunc(v.number) || v.number < float64(minimum) || v.number > float64(maximum) {
		r.fail(v, "is %s, expected a whole number from %d to %d", v.text, minimum, maximum)
		return 0
	}
	return int64(v.number)
}

// items returns the items of a list.
func (r *docReader) items(v *value) []*value {
	if !r.checkShape(v, shapeList) {
		return nil
	}
	return v.list
}

// singletonList returns a list, or the list of one item for its short form: a text, or a mapping
// with the field key. It returns nil for any other value.
func (r *docReader) singletonList(v *value, key string) *value {
	switch {
	case !r.checkShape(v, shapeText, shapeList):
		return nil
	case v.shape == shapeList:
		return v
	}
	item := v
	if key != "" {
		item = &value{shape: shapeMapping, path: v.path, line: v.line, column: v.column, fields: []field{{key: key, position: v, value: v}}}
	}
	return &value{shape: shapeList, path: v.path, line: v.line, column: v.column, list: []*value{item}}
}

// texts reads a list of texts.
func (r *docReader) texts(v *value) []string {
	var out []string
	for _, item := range r.items(v) {
		if r.checkShape(item, shapeText) {
			out = append(out, item.text)
		}
	}
	return out
}

// only returns the single document of a file, nil without one.
func (r *docReader) only(data []byte, what string) *value {
	docs := r.documents(data)
	if len(docs) != 1 && len(r.errors) == 0 {
		r.fail(top(), "has %d documents, expected one %s", len(docs), what)
	}
	if len(docs) != 1 {
		return nil
	}
	return docs[0]
}
