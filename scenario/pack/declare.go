package pack

import (
	"io/fs"

	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// LoadSchema returns the tables and categories that a pack declares in schema.yaml and pack.yaml,
// none without these files. The error is of type document.Errors.
func LoadSchema(fsys fs.FS) (tables []*worldv1.TableSchema, categories []string, err error) {
	l := newLoader(fsys, Options{}, defaultLimits())
	manifest := &Manifest{}
	l.loadManifest(manifest)
	l.loadMeasures()
	if l.loadSchema(); len(l.mistakes) > 0 {
		return nil, nil, l.mistakes
	}
	return l.shared.Tables, manifest.Categories, nil
}

// loadSchema reads the pack's tables. world.Parse decodes them after the reader has found the
// mistakes with their positions.
func (l *loader) loadSchema() {
	l.optional(form.SchemaFile, func(r *document.Reader, data []byte) {
		doc := form.Schema().Read(r, r.Only(data, "schema"))
		if doc == nil {
			return
		}
		events := doc.Get("events")
		if events == nil {
			r.Require(doc, "tables")
		}
		items := r.Items(doc.Get("tables"))
		for _, item := range items {
			l.checkTable(r, item)
		}
		if r.CheckShape(events, document.ShapeBool) {
			if !events.Boolean {
				r.Fail(events, "is false; leave it out")
			}
			items = append(items, events)
		}
		if len(r.Errors) > 0 {
			return
		}
		tables, err := world.Parse(data)
		if err != nil || len(tables) != len(items) {
			r.Fail(doc, "cannot be decoded: %v", err)
			return
		}
		before := l.shared.Schema
		for i, item := range items {
			l.declare(r, item, tables[i], before)
		}
	})
}

// declare adds a table, or columns of a built-in table, to the schema if it has no mistake. The
// phone's own pack restates built-in tables, which adds nothing. before is the schema without the
// tables of the file.
func (l *loader) declare(r *document.Reader, at *document.Value, table *worldv1.TableSchema, before *world.Schema) {
	if builtin, ok := before.Table(table.GetName()); ok && before.IsBuiltin(table.GetName()) {
		if world.RestatesBuiltin(table) {
			l.restated = append(l.restated, table)
			return
		}
		checkExtension(r, at, builtin)
	}
	if len(r.Errors) > 0 {
		return
	}
	if err := l.shared.Declare(table); err != nil {
		r.Fail(at, "%v", err)
	}
}

// checkExtension checks a declaration that adds columns to a built-in table. Worlds have rows of
// the table without these columns, so each states its default.
func checkExtension(r *document.Reader, at *document.Value, builtin world.Table) {
	name := world.AuthorName(builtin.Name)
	if builtin.Name == world.Sandbox {
		r.Fail(at, "sandbox holds the messages, which have no other columns")
		return
	}
	if description := at.Get("description"); description != nil {
		r.Fail(description, "%s is a built-in table, which has a description; remove this one", name)
	}
	columns := r.Items(at.Get("columns"))
	if len(columns) == 0 {
		r.Fail(at, "%s is a built-in table; expected new columns of it", name)
	}
	for _, column := range columns {
		if written := column.Get("name"); builtin.Column(written.Text) >= 0 {
			r.Fail(written, "%s is a built-in table and has a column %s; name only new columns", name, written.Text)
		} else if column.Get("default") == nil {
			r.Fail(column, `has no "default", expected a %s or null, which rows of %s without it have`, column.Get("type").Text, name)
		}
	}
}

// checkTable checks a table of schema.yaml by itself.
func (l *loader) checkTable(r *document.Reader, v *document.Value) {
	if v = form.DeclaredTable().Read(r, v); v == nil {
		return
	}
	name := declaredName(r, v.Get("name"))
	if world.TableName(name) == world.Consent {
		r.Fail(v, "%s is the table of what the user allows, which comes by itself; give it another name", name)
	}
	r.Text(v.Get("description"))
	for i, item := range r.Items(v.Get("columns")) {
		if column := form.DeclaredColumn().Read(r, item); column != nil {
			l.checkColumn(r, column, world.TableName(name) == world.Sandbox)
			if i == 0 && column.Get("default") != nil && !l.shared.Schema.IsBuiltin(world.TableName(name)) {
				r.Fail(column.Get("default"), "is a default of the row's id, which has none; remove it")
			}
		}
	}
}

// checkColumn checks a column by itself. Only messages hold lists of texts.
func (l *loader) checkColumn(r *document.Reader, v *document.Value, message bool) {
	column := world.Column{Name: declaredName(r, v.Get("name"))}
	r.Text(v.Get("description"))
	if kind := v.Get("type"); r.CheckShape(kind, document.ShapeText) {
		if known, ok := world.ParseKind(kind.Text); ok && (known != world.KindTexts || message) {
			column.Kind = known
			checkDefault(r, v.Get("default"), known)
		} else {
			r.Fail(kind, "unknown type %q%s", kind.Text, spelling.Hint(kind.Text, form.CellTypes()))
		}
	}
	measure := v.Get("measure")
	if !r.CheckShape(measure, document.ShapeText) {
		return
	}
	if reason := l.shared.Unsuited(measure.Text, column); reason != "" && column.Kind != 0 {
		r.Fail(measure, "%s", reason)
	}
}

// checkDefault checks the default of a column's cells.
func checkDefault(r *document.Reader, v *document.Value, kind world.Kind) {
	of := map[world.Kind]document.Shape{world.KindText: document.ShapeText, world.KindNumber: document.ShapeNumber, world.KindBool: document.ShapeBool}[kind]
	r.CheckShape(v, of, document.ShapeNull)
}

// declaredName reads the name of a table or column.
func declaredName(r *document.Reader, v *document.Value) string {
	if !r.CheckShape(v, document.ShapeText) {
		return ""
	}
	if !form.DeclaredExpression.MatchString(v.Text) {
		r.Fail(v, "is %q, expected up to 60 lower-case letters, digits and underscores that start with a letter", spelling.Truncate(v.Text))
	}
	return v.Text
}
