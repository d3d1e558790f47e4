package scenario

import (
	"cmp"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// reader reads a file of a pack, whose tables and measures it knows.
type reader struct {
	docReader

	// schema is the schema of the pack's tables; nil means the built-in one.
	schema *world.Schema
	// packMeasures are the pack's measures.
	packMeasures packMeasures
	// times are the expressions of computed numbers.
	times map[*value]*celexpr.Time
}

// newReader returns the reader of a file.
func newReader(file string, schema *world.Schema) *reader {
	return &reader{docReader: docReader{file: file}, schema: schema, times: map[*value]*celexpr.Time{}}
}

// world returns the schema of the pack's tables.
func (r *reader) world() *world.Schema { return cmp.Or(r.schema, world.Builtin()) }

// object checks that a value is a mapping whose fields belong to a form. It returns nil for any
// other shape.
func (r *reader) object(v *value, f form) *value { return f.read(&r.docReader, v) }

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
		r.fail(v, "unknown role %q%s", v.text, hint(v.text, roleNames()))
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
	if kind == world.KindText && (v.shape == shapeNumber || v.shape == shapeBool) && v.noun == "" {
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
	at, err := celexpr.ParseLocal(text, zone)
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

func roleNames() []string {
	return []string{
		world.RoleName(worldv1.Role_ROLE_SYSTEM), world.RoleName(worldv1.Role_ROLE_USER),
		world.RoleName(worldv1.Role_ROLE_AGENT), world.RoleName(worldv1.Role_ROLE_EXECUTION_ENVIRONMENT),
	}
}
