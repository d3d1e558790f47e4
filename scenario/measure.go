package scenario

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/celexpr"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/form"
)

// MeasureKind is the place at which the name of a pack's measure or extractor is used.
type MeasureKind int

// The uses.
const (
	// CellMeasure: a column measure.
	CellMeasure MeasureKind = iota
	// RowMeasure: the measure of a constraint.
	RowMeasure
	// ExtractorKind: an extractor.
	ExtractorKind
)

// PackMeasure is a measure or extractor of a pack.
type PackMeasure struct {
	Name string
	Kind MeasureKind
	// Accepts reports whether a measure of cells compares cells of a kind.
	Accepts func(kind world.Kind) bool
	// Probe compares a cell with itself. The error explains why it cannot. It is set for measures of
	// cells only.
	Probe func(cell *worldv1.Value) error
	// Position is its position in the pack.
	Position document.Position
}

// builtInNames returns the names of the built-in measures or extractors.
func builtInNames(use MeasureKind) []string {
	switch use {
	case CellMeasure:
		return form.CellMeasures()
	case RowMeasure:
		return form.RowMeasures()
	default:
		return celexpr.BuiltInNames()
	}
}

// packMeasures are the measures of a pack. If its files were not read, any name is accepted.
type packMeasures struct {
	list   []PackMeasure
	unread bool
	// of holds the source files.
	of *evaluationv1.Evaluation
}

// find returns a measure by name and kind, nil if it is unknown. ok reports whether the name is
// acceptable.
func (m packMeasures) find(name string, kind MeasureKind) (measure *PackMeasure, ok bool) {
	at := slices.IndexFunc(m.list, func(o PackMeasure) bool { return o.Name == name && o.Kind == kind })
	if at < 0 {
		return nil, m.unread
	}
	return &m.list[at], true
}

// unknown returns the error for an unknown name, with a suggestion.
func (m packMeasures) unknown(name string, use MeasureKind) string {
	known := builtInNames(use)
	for _, o := range m.list {
		if o.Name == name {
			wants := map[MeasureKind]string{CellMeasure: "two cells", RowMeasure: "the rows of a table", ExtractorKind: "values from a call"}
			verb := "compares "
			if o.Kind == ExtractorKind {
				verb = "takes "
			}
			return fmt.Sprintf("%s %s%s, expected a name of what is about %s", name, verb, wants[o.Kind], wants[use])
		}
		if o.Kind == use {
			known = append(known, o.Name)
		}
	}
	what := "measure"
	if use == ExtractorKind {
		what = "extractor"
	}
	return fmt.Sprintf("unknown %s %q%s", what, name, document.Hint(name, known))
}

// withMeasures returns options with the measures and extractors of an evaluation.
func (o Options) withMeasures(evaluation *evaluationv1.Evaluation) (Options, document.Errors) {
	files := &evaluationv1.Evaluation{MeasureModules: evaluation.GetMeasureModules(), MeasureExpressions: evaluation.GetMeasureExpressions()}
	if o.packMeasures.of != nil && sameMeasures(o.packMeasures.of, files) {
		return o, nil
	}
	o.packMeasures = packMeasures{of: files}
	if len(files.GetMeasureModules())+len(files.GetMeasureExpressions()) == 0 {
		return o, nil
	}
	if o.Measures == nil {
		o.packMeasures.unread = true
		return o, nil
	}
	list, mistakes := o.Measures(files)
	for _, measure := range list {
		for _, use := range []MeasureKind{CellMeasure, RowMeasure, ExtractorKind} {
			if slices.Contains(builtInNames(use), measure.Name) {
				mistakes = append(mistakes, &document.Error{
					File: measure.Position.File, Line: measure.Position.Line, Column: measure.Position.Column, Field: measure.Name,
					Reason: "a built-in measure or extractor has the name; take another one",
				})
			}
		}
	}
	if o.packMeasures.list = list; len(mistakes) > 0 {
		o.packMeasures.unread = true // errors at their uses would only follow from that
	}
	return o, mistakes
}

func sameMeasures(a, b *evaluationv1.Evaluation) bool {
	return slices.EqualFunc(a.GetMeasureModules(), b.GetMeasureModules(), func(a, b *evaluationv1.MeasureModule) bool { return a == b || proto.Equal(a, b) }) &&
		slices.EqualFunc(a.GetMeasureExpressions(), b.GetMeasureExpressions(), func(a, b *evaluationv1.MeasureExpression) bool { return a == b || proto.Equal(a, b) })
}

// loadMeasures reads the pack's measures and extractors.
func (l *loader) loadMeasures() {
	l.sources(measureFolder, func(r *reader, name, source string) {
		if source == "" {
			r.Fail(document.Top(), "is empty, expected a function of wanted and found")
			return
		}
		l.measures.MeasureModules = append(l.measures.MeasureModules, &evaluationv1.MeasureModule{Name: name, Source: source})
	})
	l.optional(measureFile, func(r *reader, data []byte) {
		doc := r.Only(data, "mapping by measure")
		if !r.CheckShape(doc, document.ShapeMapping) {
			return
		}
		for _, f := range doc.Fields {
			if expression := r.measureExpression(f); expression != nil {
				l.measures.MeasureExpressions = append(l.measures.MeasureExpressions, expression)
			}
		}
	})
	var mistakes document.Errors
	l.opts, mistakes = l.opts.withMeasures(&l.measures)
	l.mistakes = append(l.mistakes, mistakes...)
}

// measureExpression reads a measure in CEL, nil after recording a mistake.
func (r *reader) measureExpression(f document.Field) *evaluationv1.MeasureExpression {
	before := len(r.Errors)
	if !form.DeclaredExpression.MatchString(f.Key) {
		r.Fail(f.Position, "is %q, expected up to 60 lower-case letters, digits and underscores that start with a letter", document.Truncate(f.Key))
	}
	v := r.object(f.Value, form.PackMeasure())
	if v == nil {
		return nil
	}
	source := v.Get(form.ExpressionKey)
	if !r.CheckShape(source, document.ShapeText) {
		return nil
	}
	if rows := v.Get(form.RowsKey); rows != nil && (rows.Shape != document.ShapeBool || !rows.Boolean) {
		r.Fail(rows, "is %s, expected true; omit it for a measure of cells", rows.ShapeName())
	}
	if _, err := celexpr.CompileMeasure(source.Text); err != nil {
		r.failInText(source, err)
	}
	for _, use := range []MeasureKind{CellMeasure, RowMeasure, ExtractorKind} {
		if slices.Contains(builtInNames(use), f.Key) {
			r.Fail(f.Position, "a built-in measure or extractor has the name; take another one")
		}
	}
	if len(r.Errors) > before {
		return nil
	}
	return &evaluationv1.MeasureExpression{Name: f.Key, Expression: source.Text, Rows: v.Get(form.RowsKey) != nil}
}

// measures reads the pack's measures and extractors unless they are known.
func (c *checker) measures(evaluation *evaluationv1.Evaluation) {
	var mistakes document.Errors
	c.opts, mistakes = c.opts.withMeasures(evaluation)
	for _, mistake := range mistakes {
		c.fail("evaluation.measure_modules", "%v", mistake)
	}
}

// packOverride checks a pack's measure in an override.
func (c *checker) packOverride(path string, column world.Column, override *evaluationv1.ColumnOverride) {
	measure, ok := c.opts.packMeasures.find(override.GetPackMeasure(), CellMeasure)
	switch {
	case !ok:
		c.fail(path+".measure", "%s", c.opts.packMeasures.unknown(override.GetPackMeasure(), CellMeasure))
	case measure != nil:
		if reason := measure.unsuited(column); reason != "" {
			c.fail(path+".measure", "%s", reason)
		}
	}
	if len(override.GetTolerances()) > 0 {
		c.fail(path, "%s takes no tolerance, only close and tool_trace do", override.GetPackMeasure())
	}
}

// unsuited explains why a pack's measure cannot compare the cells of a column. It is empty if it
// can.
func (m *PackMeasure) unsuited(column world.Column) string {
	if m.Accepts(column.Kind) {
		return ""
	}
	return fmt.Sprintf("%s does not compare the cells of %s, which is a %s", m.Name, column.Name, column.Kind)
}

// packRowMeasure checks a pack's measure in a constraint.
func (c *checker) packRowMeasure(path string, constraint *evaluationv1.Constraint) {
	name := constraint.GetPackMeasure()
	if _, ok := c.opts.packMeasures.find(name, RowMeasure); !ok {
		c.fail(path+".measure", "%s", c.opts.packMeasures.unknown(name, RowMeasure))
		return
	}
	if constraint.GetTable() == world.Sandbox {
		c.fail(path+".table", "is sandbox, but %s compares stored tables", name)
	}
	if len(constraint.GetOverrides()) > 0 {
		c.fail(path+".overrides[0]", "%s compares whole rows and reads no measures of columns", name)
	}
	if constraint.Reference != nil {
		c.fail(path+".reference", "%s compares the table as it is and has no reference", name)
	}
}

// probe calls the pack's measures with each expected cell as the found one.
func (c *checker) probe(path string, schema world.Table, constraint *evaluationv1.Constraint) {
	if len(c.opts.packMeasures.list) == 0 || constraint.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT ||
		constraint.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK {
		return
	}
	for i, row := range constraint.GetTarget() {
		for j, cell := range row.GetCells() {
			column := schema.Column(cell.GetColumn())
			if column < 0 || !world.Fits(cell.GetValue(), schema.Columns[column].Kind) {
				continue
			}
			name := schema.Columns[column].Measure
			for _, override := range constraint.GetOverrides() {
				if override.GetColumn() == cell.GetColumn() {
					name = override.GetPackMeasure()
				}
			}
			if measure, _ := c.opts.packMeasures.find(name, CellMeasure); measure != nil && measure.Accepts(schema.Columns[column].Kind) {
				if err := measure.Probe(cell.GetValue()); err != nil {
					c.fail(fmt.Sprintf("%s.target[%d].cells[%d]", path, i, j), "%v", err)
				}
			}
		}
	}
}
