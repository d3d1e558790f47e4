package resultfile

import (
	"cmp"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// constraint converts a constraint to the original's format.
func (g *graphWriter) constraint(c *evaluationv1.Constraint) object {
	schema, _ := g.schema.Table(c.GetTable())
	var target any
	if len(c.GetTarget()) > 0 {
		rows := []any{}
		for _, row := range c.GetTarget() {
			cells := object{}
			for _, cell := range row.GetCells() {
				cells = append(cells, member{cell.GetColumn(), cellValue(cell.GetValue())})
			}
			rows = append(rows, cells)
		}
		target = rows
	}
	measures := object{{indexColumn, columnMeasure("exact")}}
	for _, column := range schema.Columns {
		measure := column.Measure
		for _, override := range c.GetOverrides() {
			if override.GetColumn() == column.Name {
				measure = cmp.Or(override.GetPackMeasure(), evaluation.MeasureName(override.GetMeasure()))
			}
		}
		measures = append(measures, member{column.Name, columnMeasure(measure)})
	}
	return object{
		{"database_namespace", c.GetTable()},
		{"snapshot_constraint", snapshotMeasure(c)},
		{"reference_milestone_node_index", c.Reference},
		{"target_dataframe", target},
		{"column_similarity_measure", measures},
	}
}

// snapshotMeasure returns the original's name of a measure.
func snapshotMeasure(c *evaluationv1.Constraint) string {
	return cmp.Or(c.GetPackMeasure(), strings.ToLower(strings.TrimPrefix(c.GetMeasure().String(), "SNAPSHOT_MEASURE_"))) + "_similarity"
}

// columnMeasure returns the original's name of a column measure.
func columnMeasure(name string) string {
	if name == "tool_trace" {
		name = "tool_trace_exact_match"
	} else if name == "exact" {
		name = "exact_match"
	}
	return "column_" + name + "_similarity"
}
