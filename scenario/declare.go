package scenario

import (
	"io/fs"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

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
	l.optional(form.SchemaFile, func(r *reader, data []byte) {
		doc := r.object(r.Only(data, "schema"), form.Schema())
		if doc == nil {
			return
		}
		events := doc.Get("events")
		if events == nil {
			r.Require(doc, "tables")
		}
		for _, item := range r.Items(doc.Get("tables")) {
			table := r.declaredTable(item)
			if table.GetName() == world.Consent {
				r.Fail(item, "%s is the table of what the user allows, which comes by itself; give it another name", world.AuthorName(world.Consent))
			}
			l.declare(r, item, table)
		}
		if r.CheckShape(events, document.ShapeBool) {
			if !events.Boolean {
				r.Fail(events, "is false; leave it out")
			}
			l.declare(r, events, world.EventTable())
		}
	})
}

// declare adds a table to the schema if it has no mistake.
func (l *loader) declare(r *reader, at *document.Value, table *worldv1.TableSchema) {
	if len(r.Errors) > 0 {
		return
	}
	schema, err := world.NewSchema(append(l.declared, table))
	if err != nil {
		r.Fail(at, "%v", err)
		return
	}
	l.declared, l.schema = append(l.declared, table), schema
}

// declaredTable reads a table of schema.yaml.
func (r *reader) declaredTable(v *document.Value) *worldv1.TableSchema {
	out := &worldv1.TableSchema{}
	if v = r.object(v, form.DeclaredTable()); v == nil {
		return out
	}
	r.Require(v, "name")
	r.Require(v, "columns")
	out.Name = world.TableName(r.declaredName(v.Get("name")))
	out.Description = r.Text(v.Get("description"))
	for _, item := range r.Items(v.Get("columns")) {
		if column := r.object(item, form.DeclaredColumn()); column != nil {
			out.Columns = append(out.Columns, r.declaredColumn(column))
		}
	}
	return out
}

func (r *reader) declaredColumn(v *document.Value) *worldv1.Column {
	r.Require(v, "name")
	r.Require(v, "type")
	out := &worldv1.Column{Name: r.declaredName(v.Get("name")), Description: r.Text(v.Get("description")), Measure: world.DefaultMeasure}
	if kind := v.Get("type"); r.CheckShape(kind, document.ShapeText) {
		for _, known := range form.CellKinds() {
			if known.String() == kind.Text {
				out.Type = worldv1.CellType(known)
			}
		}
		if out.GetType() == 0 {
			r.Fail(kind, "unknown type %q%s", kind.Text, document.Hint(kind.Text, form.CellTypes()))
		}
	}
	measure := v.Get("measure")
	if !r.CheckShape(measure, document.ShapeText) {
		return out
	}
	out.Measure = measure.Text
	number := evaluationv1.ColumnMeasure(r.measure(measure, form.ColumnPrefix, evaluationv1.ColumnMeasure_value))
	column := world.Column{Name: out.GetName(), Kind: world.Kind(out.GetType())}
	if number == evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK {
		if measureOfPack, ok := r.packMeasures.find(measure.Text, CellMeasure); !ok {
			r.Fail(measure, "%s", r.packMeasures.unknown(measure.Text, CellMeasure))
		} else if measureOfPack != nil && column.Kind != 0 && measureOfPack.unsuited(column) != "" {
			r.Fail(measure, "%s", measureOfPack.unsuited(column))
		}
		return out
	}
	if reason := unsuited(number, column); number != 0 && column.Kind != 0 && reason != "" {
		r.Fail(measure, "%s", reason)
	}
	return out
}

// declaredName reads the name of a table or column.
func (r *reader) declaredName(v *document.Value) string {
	if !r.CheckShape(v, document.ShapeText) {
		return ""
	}
	if !form.DeclaredExpression.MatchString(v.Text) {
		r.Fail(v, "is %q, expected up to 60 lower-case letters, digits and underscores that start with a letter", document.Truncate(v.Text))
	}
	return v.Text
}
