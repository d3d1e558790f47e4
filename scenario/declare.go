package scenario

import (
	"io/fs"
	"regexp"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// declaredPattern matches names of declared tables and columns.
const declaredPattern = `^[a-z][a-z0-9_]{0,59}$`

var declaredExpression = regexp.MustCompile(declaredPattern)

// cellKinds returns the types of cells in a pack's tables.
func cellKinds() []world.Kind { return []world.Kind{world.KindText, world.KindNumber, world.KindBool} }

// cellTypes returns the names of cellKinds in files.
func cellTypes() []string {
	var types []string
	for _, kind := range cellKinds() {
		types = append(types, kind.String())
	}
	return types
}

// LoadSchema returns the tables and categories that a pack declares in schema.yaml and pack.yaml,
// none without these files. The error is of type Errors.
func LoadSchema(fsys fs.FS) (tables []*worldv1.TableSchema, categories []string, err error) {
	l := &loader{packFiles: packFiles{fsys: fsys, usage: &usage{limits: defaultLimits()}}}
	manifest := &Manifest{}
	l.loadManifest(manifest)
	l.loadMeasures()
	if l.loadSchema(); len(l.mistakes) > 0 {
		return nil, nil, l.mistakes
	}
	return l.declared, manifest.Categories, nil
}

// loadSchema reads the pack's tables. world.Parse decodes them after the reader has found the
// mistakes with their positions.
func (l *loader) loadSchema() {
	l.optional(schemaFile, func(r *reader, data []byte) {
		doc := r.object(r.only(data, "schema"), schemaForm())
		if doc == nil {
			return
		}
		events := doc.get("events")
		if events == nil {
			r.require(doc, "tables")
		}
		items := r.items(doc.get("tables"))
		for _, item := range items {
			r.checkTable(item)
		}
		if r.checkShape(events, shapeBool) {
			if !events.boolean {
				r.fail(events, "is false; leave it out")
			}
			items = append(items, events)
		}
		if len(r.errors) > 0 {
			return
		}
		tables, err := world.Parse(data)
		if err != nil || len(tables) != len(items) {
			r.fail(doc, "cannot be decoded: %v", err)
			return
		}
		for i, item := range items {
			l.declare(r, item, tables[i])
		}
	})
}

// declare adds a table, or columns of a built-in table, to the schema if it has no mistake. The
// phone's own pack restates built-in tables, which adds nothing.
func (l *loader) declare(r *reader, at *value, table *worldv1.TableSchema) {
	if r.world().IsBuiltin(table.GetName()) {
		if world.RestatesBuiltin(table) {
			l.restated = append(l.restated, table)
			return
		}
		r.checkExtension(at, table.GetName())
	}
	if len(r.errors) > 0 {
		return
	}
	schema, err := world.NewSchema(append(l.declared, table))
	if err != nil {
		r.fail(at, "%v", err)
		return
	}
	l.declared, l.schema = append(l.declared, table), schema
}

// checkExtension checks a declaration that adds columns to a built-in table. Worlds have rows of
// the table without these columns, so each states its default.
func (r *reader) checkExtension(at *value, table string) {
	builtin, _ := r.world().Table(table)
	name := world.AuthorName(table)
	if table == world.Sandbox {
		r.fail(at, "sandbox holds the messages, which have no other columns")
		return
	}
	if description := at.get("description"); description != nil {
		r.fail(description, "%s is a built-in table, which has a description; remove this one", name)
	}
	columns := r.items(at.get("columns"))
	if len(columns) == 0 {
		r.fail(at, "%s is a built-in table; expected new columns of it", name)
	}
	for _, column := range columns {
		if written := column.get("name"); builtin.Column(written.text) >= 0 {
			r.fail(written, "%s is a built-in table and has a column %s; name only new columns", name, written.text)
		} else if column.get("default") == nil {
			r.fail(column, `has no "default", expected a %s or null, which rows of %s without it have`, column.get("type").text, name)
		}
	}
}

// checkTable checks a table of schema.yaml by itself.
func (r *reader) checkTable(v *value) {
	if v = r.object(v, declaredTableForm()); v == nil {
		return
	}
	name := r.declaredName(v.get("name"))
	if world.TableName(name) == world.Consent {
		r.fail(v, "%s is the table of what the user allows, which comes by itself; give it another name", name)
	}
	r.text(v.get("description"))
	for i, item := range r.items(v.get("columns")) {
		if column := r.object(item, declaredColumnForm()); column != nil {
			r.checkColumn(column, world.TableName(name) == world.Sandbox)
			if i == 0 && column.get("default") != nil && !r.world().IsBuiltin(world.TableName(name)) {
				r.fail(column.get("default"), "is a default of the row's id, which has none; remove it")
			}
		}
	}
}

// checkColumn checks a column by itself. Only messages hold lists of texts.
func (r *reader) checkColumn(v *value, message bool) {
	column := world.Column{Name: r.declaredName(v.get("name"))}
	r.text(v.get("description"))
	if kind := v.get("type"); r.checkShape(kind, shapeText) {
		if known, ok := world.ParseKind(kind.text); ok && (known != world.KindTexts || message) {
			column.Kind = known
			r.checkDefault(v.get("default"), known)
		} else {
			r.fail(kind, "unknown type %q%s", kind.text, hint(kind.text, cellTypes()))
		}
	}
	measure := v.get("measure")
	if !r.checkShape(measure, shapeText) {
		return
	}
	reason := evaluation.Unsuited(evaluation.ColumnMeasure(measure.text), measure.text, r.packMeasures.set, column)
	if reason != "" && column.Kind != 0 {
		r.fail(measure, "%s", reason)
	}
}

// checkDefault checks the default of a column's cells.
func (r *reader) checkDefault(v *value, kind world.Kind) {
	of := map[world.Kind]shape{world.KindText: shapeText, world.KindNumber: shapeNumber, world.KindBool: shapeBool}[kind]
	r.checkShape(v, of, shapeNull)
}

// declaredName reads the name of a table or column.
func (r *reader) declaredName(v *value) string {
	if !r.checkShape(v, shapeText) {
		return ""
	}
	if !declaredExpression.MatchString(v.text) {
		r.fail(v, "is %q, expected up to 60 lower-case letters, digits and underscores that start with a letter", truncate(v.text))
	}
	return v.text
}
