package scenario

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// want records a value of the wrong shape and returns false, or returns true. A missing value is no
// mistake.
func (r *reader) want(v *value, shapes ...shape) bool {
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
	r.fail(v, "is %s, expected %s%s", v.what(), strings.Join(names, " or "), hint)
	return false
}

// colonText returns the text that a mapping would be if its colon were part of it.
func (v *value) colonText() (text string, ok bool) {
	if v.shape != shapeMapping || len(v.fields) != 1 {
		return "", false
	}
	only := v.fields[0].value
	return v.fields[0].key + ": " + only.text, only.shape == shapeText || only.shape == shapeNumber
}

// object checks that a value is a mapping with the fields of a form and no others. It returns nil
// for anything but a mapping.
func (r *reader) object(v *value, f form) *value {
	if v != nil && len(f.instead) > 0 {
		v.writeOut(f)
	}
	if !r.want(v, shapeMapping) {
		return nil
	}
	for i := range v.fields {
		if now, renamed := f.former[v.fields[i].key]; renamed {
			r.renamed(v.fields[i].place, v.fields[i].key, now)
		} else if !r.full() && !f.has(v.fields[i].key) {
			r.fail(v.fields[i].place, "unknown field%s%s", hint(v.fields[i].key, f.names()), f.orTool(v))
		}
	}
	for i := range f.fields {
		if f.fields[i].required {
			r.require(v, f.fields[i].name)
		}
	}
	r.one(v, f)
	return v
}

// orTool says what an unknown field may have been meant as, in a mapping that can be a call.
func (f form) orTool(v *value) string {
	if len(f.instead) == 0 || slices.ContainsFunc(f.instead, func(name string) bool { return v.get(name) != nil }) {
		return ""
	}
	return ", or one tool with its arguments, as in search_contacts: {name: Ada}"
}

// one checks that a mapping has one field of those of which it must have exactly one.
func (r *reader) one(v *value, f form) {
	count := len(v.fields)
	for _, name := range f.beside {
		if v.get(name) != nil {
			count--
		}
	}
	if f.one && count != 1 {
		r.fail(v, "has %d fields, expected one of %s", count, strings.Join(f.choices(), ", "))
	}
}

// renamed records a name that something had in an earlier version of the format.
func (r *reader) renamed(at *value, before, now string) {
	r.fail(at, "%s is now called %s; toolsandbox scenario fmt --upgrade renames it", before, now)
}

// require records a missing field.
func (r *reader) require(v *value, key string) {
	if v != nil && v.get(key) == nil {
		r.fail(v, "has no %q, which is required", key)
	}
}

func (r *reader) text(v *value) string {
	if !r.want(v, shapeText) {
		return ""
	}
	return v.text
}

func (r *reader) number(v *value) float64 {
	if !r.want(v, shapeNumber) {
		return 0
	}
	return v.number
}

// integer reads a whole number between two bounds.
func (r *reader) integer(v *value, low, high int64) int64 {
	if !r.want(v, shapeNumber) {
		return 0
	}
	if v.number != math.Trunc(v.number) || v.number < float64(low) || v.number > float64(high) {
		r.fail(v, "is %s, expected a whole number from %d to %d", v.text, low, high)
		return 0
	}
	return int64(v.number)
}

// items returns the items of a list.
func (r *reader) items(v *value) []*value {
	if !r.want(v, shapeList) {
		return nil
	}
	return v.list
}

// alone returns a list, or the one that a text stands for where a list has only one item: the text,
// or a mapping with it as a field. It returns nil for anything else.
func (r *reader) alone(v *value, key string) *value {
	switch {
	case !r.want(v, shapeText, shapeList):
		return nil
	case v.shape == shapeList:
		return v
	}
	item := v
	if key != "" {
		item = &value{shape: shapeMapping, path: v.path, line: v.line, column: v.column, fields: []field{{key: key, place: v, value: v}}}
	}
	return &value{shape: shapeList, path: v.path, line: v.line, column: v.column, list: []*value{item}}
}

// texts reads a list of texts.
func (r *reader) texts(v *value) []string {
	var out []string
	for _, item := range r.items(v) {
		if r.want(item, shapeText) {
			out = append(out, item.text)
		}
	}
	return out
}

// table reads the name of a table.
func (r *reader) table(v *value) string {
	if !r.want(v, shapeText) {
		return ""
	}
	return r.tableName(v, v.text)
}

// tableName looks a table up and records an unknown one at a place.
func (r *reader) tableName(at *value, text string) string {
	if table, ok := r.world().Table(world.Name(text)); ok && world.AuthorText(table.Name) == text {
		return table.Name
	}
	if now, renamed := formerValues("table")[text]; renamed {
		r.renamed(at, text, now)
	} else {
		r.fail(at, "unknown table %q%s", text, hint(text, tableNames(r.world())))
	}
	return ""
}

// role reads the name of a role.
func (r *reader) role(v *value) worldv1.Role {
	if !r.want(v, shapeText) {
		return 0
	}
	role, ok := world.RoleByText(v.text)
	if !ok {
		r.fail(v, "unknown role %q%s", v.text, hint(v.text, roleNames()))
	}
	return role
}

// cell reads a cell of a column. Times are given in POSIX seconds or as local date and time.
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
	r.fail(v, "is %s, expected a %s%s", v.what(), kind, hint)
	return world.Null()
}

// localTime reads a local date, with or without a time of day, as POSIX seconds.
func localTime(text string, zone *time.Location) (seconds float64, ok bool) {
	if zone == nil {
		zone = time.UTC
	}
	at, err := celexpr.Local(text, zone)
	if err != nil {
		return 0, false
	}
	return float64(at.UnixMilli()) / 1000, true
}

func tableNames(schema *world.Schema) []string {
	var names []string
	for _, table := range schema.Tables() {
		names = append(names, world.AuthorText(table.Name))
	}
	return names
}

func roleNames() []string {
	return []string{
		world.RoleText(worldv1.Role_ROLE_SYSTEM), world.RoleText(worldv1.Role_ROLE_USER),
		world.RoleText(worldv1.Role_ROLE_AGENT), world.RoleText(worldv1.Role_ROLE_EXECUTION_ENVIRONMENT),
	}
}
