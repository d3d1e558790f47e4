package scenario

import (
	"time"

	"github.com/toolsandbox/toolsandbox/internal/expression"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// reader reads a file of a pack, whose tables and measures it knows.
type reader struct {
	*document.Reader

	// schema is the schema of the pack's tables.
	schema *world.Schema
	// budget bounds the rows of the pack.
	budget *Budget
	// times are the expressions of computed numbers.
	times map[*document.Value]*expression.Time
}

func newReader(r *document.Reader, schema *world.Schema, budget *Budget) *reader {
	return &reader{Reader: r, schema: schema, budget: budget, times: map[*document.Value]*expression.Time{}}
}

// object checks that a value is a mapping whose fields belong to a form. It returns nil for any
// other shape.
func (r *reader) object(v *document.Value, f form.Form) *document.Value { return f.Read(r.Reader, v) }

// table reads the name of a table.
func (r *reader) table(v *document.Value) string {
	if !r.CheckShape(v, document.ShapeText) {
		return ""
	}
	return r.tableName(v, v.Text)
}

// tableName looks up a table and records a mistake at a value if it is unknown.
func (r *reader) tableName(at *document.Value, text string) string {
	if table, ok := r.schema.Table(world.TableName(text)); ok && world.AuthorName(table.Name) == text {
		return table.Name
	}
	r.Fail(at, "unknown table %q%s", text, spelling.Hint(text, form.Tables(r.schema)))
	return ""
}

// role reads the name of a role.
func (r *reader) role(v *document.Value) worldv1.Role {
	if !r.CheckShape(v, document.ShapeText) {
		return 0
	}
	role, ok := world.ParseRole(v.Text)
	if !ok {
		r.Fail(v, "unknown role %q%s", v.Text, spelling.Hint(v.Text, world.RoleNames()))
	}
	return role
}

// cell reads a cell of a column. Times are POSIX seconds, or local date and time.
func (r *reader) cell(v *document.Value, kind world.Kind, zone *time.Location) *worldv1.Value {
	switch {
	case v.Shape == document.ShapeNull, v.Shape == document.ShapeBroken:
		return world.Null()
	case v.Shape == document.ShapeBool && kind == world.KindBool:
		return world.Bool(v.Boolean)
	case v.Shape == document.ShapeNumber && kind == world.KindNumber:
		return world.Number(v.Number)
	case v.Shape == document.ShapeText && kind == world.KindText:
		return world.Text(v.Text)
	case v.Shape == document.ShapeText && kind == world.KindNumber:
		if seconds, ok := localTime(v.Text, zone); ok {
			return world.Number(seconds)
		}
		r.Fail(v, "is %q, expected a number or a local time like 2024-05-22T10:30", v.Text)
		return world.Null()
	}
	hint := ""
	if kind == world.KindText && (v.Shape == document.ShapeNumber || v.Shape == document.ShapeBool) && v.Noun == "" {
		hint = " (quote it)"
	}
	r.Fail(v, "is %s, expected a %s%s", v.ShapeName(), kind, hint)
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
