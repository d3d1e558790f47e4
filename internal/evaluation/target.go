package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// row compiles a target row.
func (k *constraintChecker) row(at int) []Cell {
	path := fmt.Sprintf("%s.target[%d]", k.path, at)
	source := k.source.GetTarget()[at].GetCells()
	if len(source) == 0 {
		k.warn(path, "wants no column, so it says nothing")
	}
	cells := make([]Cell, len(source))
	names := make([]string, len(source))
	for j, cell := range source {
		cellPath := fmt.Sprintf("%s.cells[%d]", path, j)
		names[j] = cell.GetColumn()
		if slices.Contains(names[:j], names[j]) {
			k.fail(cellPath+".column", "%q is given twice", names[j])
		}
		cells[j] = Cell{Column: k.column(cellPath+".column", names[j]), Value: cell.GetValue(), Tolerance: -1}
		if cells[j].Column >= 0 {
			k.cell(cellPath, &cells[j])
		}
	}
	k.sameColumns(path, names)
	return cells
}

// sameColumns checks that a row lists the columns of the first one.
func (k *constraintChecker) sameColumns(path string, names []string) {
	const other = "lists other columns than the first row; all rows list the same, in the same order"
	var first []string
	for _, cell := range k.source.GetTarget()[0].GetCells() {
		first = append(first, cell.GetColumn())
	}
	switch {
	case slices.Equal(first, names):
	case slices.Equal(slices.Sorted(slices.Values(first)), slices.Sorted(slices.Values(names))):
		k.warn(path, other)
	default:
		k.fail(path, other)
	}
}

// cell sets how a cell is compared, and checks its value.
func (k *constraintChecker) cell(path string, cell *Cell) {
	column := k.table.Columns[cell.Column]
	name := column.Measure
	cell.Measure = ColumnMeasure(name)
	var tolerances map[string]float64
	if override := k.overrides[cell.Column]; override != nil {
		cell.Measure, name = override.GetMeasure(), override.GetPackMeasure()
		tolerances = make(map[string]float64, len(override.GetTolerances()))
		for _, tolerance := range override.GetTolerances() {
			tolerances[tolerance.GetName()] = tolerance.GetAbsolute()
		}
	}
	switch cell.Measure { // the others need nothing
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE:
		if absolute, ok := tolerances[column.Name]; ok {
			cell.Tolerance = absolute
		}
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK:
		cell.PackMeasure = k.measures.Find(name, measure.Cells)
	}
	k.value(path, column, cell, tolerances)
}

// value checks the value of a cell.
func (k *constraintChecker) value(path string, column world.Column, cell *Cell, tolerances map[string]float64) {
	report := k.fail
	if cell.Value.GetKind() == nil || cell.Measure == evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE {
		report = k.warn // no value is compared
	}
	text, isText := cell.Value.GetKind().(*worldv1.Value_Text)
	switch {
	case column.Kind == world.KindTexts && cell.Measure == evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE:
		if cell.Value.GetKind() != nil {
			cell.Traces = k.traces(path, cell.Value.GetText(), tolerances)
		}
	case column.Kind == world.KindTexts && (column.Name != toolTraceColumn || cell.Value.GetKind() != nil):
		report(path, "%s cannot be compared", column.Name)
	case !world.Fits(cell.Value, column.Kind):
		report(path, "%s must be a %s", column.Name, column.Kind)
	case isText && (column.Name == "sender" || column.Name == "recipient"):
		if _, ok := world.ParseRole(text.Text); !ok {
			if cell.Measure != evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT {
				report = k.warn
			}
			report(path, "unknown role %q%s", text.Text, spelling.Hint(text.Text, world.RoleNames()))
		}
	}
	if column.Name == contentColumn && cell.Column == k.result.FillColumn && k.result.Extractor != nil {
		template := k.template(path, cell.Value.GetText())
		if isText && cell.Measure != evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE {
			k.result.Template = template
		}
	}
}

// template parses a text to complete with extracted values. It returns nil for a text that can
// never be completed, which is scored as one that nobody says.
func (k *constraintChecker) template(path, text string) *measure.Template {
	names := k.result.Extractor.Names
	template, err := measure.ParseTemplate(text)
	if err != nil {
		k.warn(path, "%v", err)
		return nil
	}
	list := strings.Join(names, ", ")
	unknown, isUnknown := template.FirstUnknown(names)
	switch {
	case names != nil && isUnknown:
		k.warn(path, "has a place for %s, but the extractor gives %s", unknown, list)
		return nil
	case len(template.Names) == 0 && names == nil:
		k.warn(path, "has no place for what the extractor gives; write the name of a value in braces")
	case len(template.Names) == 0:
		k.warn(path, "has no place for what the extractor gives, which is %s; write {%s}", list, names[0])
	}
	return &template
}

// traces parses a tool trace, or a list of accepted ones.
func (k *constraintChecker) traces(path, text string, tolerances map[string]float64) []Trace {
	traces, ok := parseTraces(text)
	if !ok {
		k.fail(path, "is no tool trace in JSON: %s", spelling.Truncate(text))
		return nil
	}
	if len(traces) == 0 {
		k.warn(path, "lists no tool trace")
	}
	for i := range traces {
		if traces[i].Arguments == nil {
			k.fail(path, "a tool trace needs tool_name and arguments: %s", spelling.Truncate(text))
			continue
		}
		traces[i].Tolerances = tolerances
	}
	return traces
}

// parseTraces parses a tool trace, or a list of accepted ones. One without a name or arguments is
// the zero value. ok is false for a text that is no JSON.
func parseTraces(text string) (traces []Trace, ok bool) {
	target, err := python.ParseJSON(text)
	if err != nil {
		return nil, false
	}
	items, isList := target.AsList()
	if !isList {
		items = []python.Value{target}
	}
	traces = make([]Trace, len(items))
	for i, item := range items {
		tool, hasTool := item.Field("tool_name").AsStr()
		arguments, hasArguments := item.Field("arguments").AsDict()
		if hasTool && tool != "" && hasArguments {
			traces[i] = Trace{Tool: tool, Arguments: arguments}
		}
	}
	return traces, true
}

// WantedTraces returns the traces that a constraint accepts, without invalid ones and without
// tolerances.
func WantedTraces(c *evaluationv1.Constraint) []Trace {
	var wanted []Trace
	for _, row := range c.GetTarget() {
		for _, cell := range row.GetCells() {
			if cell.GetColumn() == toolTraceColumn {
				traces, _ := parseTraces(cell.GetValue().GetText())
				wanted = append(wanted, slices.DeleteFunc(traces, func(t Trace) bool { return t.Arguments == nil })...)
			}
		}
	}
	return wanted
}
