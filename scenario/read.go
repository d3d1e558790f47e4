package scenario

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/expression"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// checkShape reports whether a value has one of the shapes, and records a mistake otherwise. A
// missing value is not a mistake, but the result is false.
func (r *reader) checkShape(v *value, shapes ...shape) bool {
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
	if slices.Contains(shapes, shapeText) && v.shape != shapeNull && v.shape != shapeList && v.shape != shapeMapping && v.time == nil {
		hint = " (quote it)"
	}
	if text, ok := v.colonText(); ok && slices.Equal(shapes, []shape{shapeText}) {
		hint = ": a colon before a space makes a mapping; write " + jsonString(text) + " if this is one text"
	}
	r.fail(v, "is %s, expected %s%s", v.shapeName(), strings.Join(names, " or "), hint)
	return false
}

// colonText returns the text of a mapping if its colon is part of the text.
func (v *value) colonText() (text string, ok bool) {
	if v.shape != shapeMapping || len(v.fields) != 1 {
		return "", false
	}
	only := v.fields[0].value
	return v.fields[0].key + ": " + only.text, only.shape == shapeText || only.shape == shapeNumber
}

// object checks that a value is a mapping whose fields belong to a form. It returns nil for any
// other shape.
func (r *reader) object(v *value, f form) *value {
	if v != nil && len(f.replaceable) > 0 {
		v.expandCall(f)
	}
	if !r.checkShape(v, shapeMapping) {
		return nil
	}
	for i := range v.fields {
		if !r.full() && !f.has(v.fields[i].key) {
			r.fail(v.fields[i].position, "unknown field%s%s", hint(v.fields[i].key, f.names()), f.suggestTool(v))
		}
	}
	for i := range f.fields {
		if f.fields[i].required {
			r.require(v, f.fields[i].name)
		}
	}
	r.exactlyOne(v, f)
	return v
}

// suggestTool suggests a call with an unknown field as the tool, for a mapping that can be a call.
func (f form) suggestTool(v *value) string {
	if len(f.replaceable) == 0 || slices.ContainsFunc(f.replaceable, func(name string) bool { return v.get(name) != nil }) {
		return ""
	}
	return ", or one tool with its arguments, as in search_contacts: {name: Ada}"
}

// exactlyOne checks that a mapping has exactly one of the exclusive fields.
func (r *reader) exactlyOne(v *value, f form) {
	count := len(v.fields)
	for _, name := range f.additional {
		if v.get(name) != nil {
			count--
		}
	}
	if f.exactlyOne && count != 1 {
		r.fail(v, "has %d fields, expected one of %s", count, strings.Join(f.choices(), ", "))
	}
}

// require records a missing field.
func (r *reader) require(v *value, key string) {
	if v != nil && v.get(key) == nil {
		r.fail(v, "has no %q, which is required", key)
	}
}

func (r *reader) text(v *value) string {
	if !r.checkShape(v, shapeText) {
		return ""
	}
	return v.text
}

func (r *reader) number(v *value) float64 {
	if !r.checkShape(v, shapeNumber) {
		return 0
	}
	return v.number
}

// integer reads an integer from minimum to maximum.
func (r *reader) integer(v *value, minimum, maximum int64) int64 {
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
func (r *reader) items(v *value) []*value {
	if !r.checkShape(v, shapeList) {
		return nil
	}
	return v.list
}

// singletonList returns a list, or the list of one item for its short form: a text, or a mapping
// with the field key. It returns nil for any other value.
func (r *reader) singletonList(v *value, key string) *value {
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
func (r *reader) texts(v *value) []string {
	var out []string
	for _, item := range r.items(v) {
		if r.checkShape(item, shapeText) {
			out = append(out, item.text)
		}
	}
	return out
}

// table reads the name of a table.
func (r *reader) table(v *value) string {
	if !r.checkShape(v, shapeText) {
		return ""
	}
	return r.tableName(v, v.text)
}

// tableName looks up a table and records a mistake at a value if it is unknown.
func (r *reader) tableName(at *value, text string) string {
	if table, ok := r.world().Table(world.TableName(text)); ok && world.AuthorName(table.Name) == text {
		return table.Name
	}
	r.fail(at, "unknown table %q%s", text, hint(text, tableNames(r.world())))
	return ""
}

// role reads the name of a role.
func (r *reader) role(v *value) worldv1.Role {
	if !r.checkShape(v, shapeText) {
		return 0
	}
	role, ok := world.ParseRole(v.text)
	if !ok {
		r.fail(v, "unknown role %q%s", v.text, hint(v.text, world.RoleNames()))
	}
	return role
}

// cell reads a cell of a column. Times are POSIX seconds, or local date and time.
func (r *reader) cell(v *value, kind world.Kind, zone *time.Location) *worldv1.Value {
	switch {
	case v.shape == shapeNull, v.shape == shapeBroken:
		return world.Null()
	case v.shape == shapeBool && kind == world.KindBool:
		return world.Bool(v.boolean)
	case v.shape == shapeNumber && kind == world.KindNumber:
		return world.Number(v.number)
	case v.shape == shapeText && kind == world.KindText:
		return world.Text(v.text)
	case v.shape == shapeText && kind == world.KindNumber:
		if seconds, ok := localTime(v.text, zone); ok {
			return world.Number(seconds)
		}
		r.fail(v, "is %q, expected a number or a local time like 2024-05-22T10:30", v.text)
		return world.Null()
	}
	hint := ""
	if kind == world.KindText && (v.shape == shapeNumber || v.shape == shapeBool) && v.time == nil {
		hint = " (quote it)"
	}
	r.fail(v, "is %s, expected a %s%s", v.shapeName(), kind, hint)
	return world.Null()
}

// localTime converts a local date, with or without a time of day, to POSIX seconds.
func localTime(text string, zone *time.Location) (seconds float64, ok bool) {
	if zone == nil {
		zone = time.UTC
	}
	at, err := expression.ParseLocal(text, zone)
	if err != nil {
		return 0, false
	}
	return float64(at.UnixMilli()) / 1000, true
}

func tableNames(schema *world.Schema) []string {
	var names []string
	for _, table := range schema.Tables() {
		names = append(names, world.AuthorName(table.Name))
	}
	return names
}
