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

// loadSchema reads the pack's tables.
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
		for _, item := range r.items(doc.get("tables")) {
			table := r.declaredTable(item)
			if table.GetName() == world.Consent {
				r.fail(item, "%s is the table of what the user allows, which comes by itself; give it another name", world.AuthorName(world.Consent))
			}
			l.declare(r, item, table)
		}
		if r.checkShape(events, shapeBool) {
			if !events.boolean {
				r.fail(events, "is false; leave it out")
			}
			l.declare(r, events, world.EventTable())
		}
	})
}

// declare adds a table to the schema if it has no mistake.
func (l *loader) declare(r *reader, at *value, table *worldv1.TableSchema) {
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

// declaredTable reads a table of schema.yaml.
func (r *reader) declaredTable(v *value) *worldv1.TableSchema {
	out := &worldv1.TableSchema{}
	if v = r.object(v, declaredTableForm()); v == nil {
		return out
	}
	r.require(v, "name")
	r.require(v, "columns")
	out.Name = world.TableName(r.declaredName(v.get("name")))
	out.Description = r.text(v.get("description"))
	for _, item := range r.items(v.get("columns")) {
		if column := r.object(item, declaredColumnForm()); column != nil {
			out.Columns = append(out.Columns, r.declaredColumn(column))
		}
	}
	return out
}

func (r *reader) declaredColumn(v *value) *worldv1.Column {
	r.require(v, "name")
	r.require(v, "type")
	out := &worldv1.Column{Name: r.declaredName(v.get("name")), Description: r.text(v.get("description")), Measure: world.DefaultMeasure}
	if kind := v.get("type"); r.checkShape(kind, shapeText) {
		for _, known := range cellKinds() {
			if known.String() == kind.text {
				out.Type = worldv1.CellType(known)
			}
		}
		if out.GetType() == 0 {
			r.fail(kind, "unknown type %q%s", kind.text, hint(kind.text, cellTypes()))
		}
	}
	measure := v.get("measure")
	if !r.checkShape(measure, shapeText) {
		return out
	}
	out.Measure = measure.text
	column := world.Column{Name: out.GetName(), Kind: world.Kind(out.GetType())}
	reason := evaluation.Unsuited(evaluation.ColumnMeasure(measure.text), measure.text, r.packMeasures.set, column)
	if reason != "" && column.Kind != 0 {
		r.fail(measure, "%s", reason)
	}
	return out
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
