package results

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// The names of the original's column measures.
const (
	columnExact     = "column_exact_match_similarity"
	columnClose     = "column_close_similarity"
	columnOne       = "column_one_similarity"
	columnContains  = "column_contains_similarity"
	columnRougeL    = "column_rouge_l_similarity"
	columnToolTrace = "column_tool_trace_exact_match_similarity"
)

// constraintText writes a constraint as the original does.
func constraintText(c *evaluationv1.Constraint) object {
	schema, _ := world.SchemaOf(c.GetTable())
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
	measures := object{{indexColumn, columnExact}}
	for _, column := range schema.Columns {
		measure := defaultMeasure(column.Name)
		for _, override := range c.GetOverrides() {
			if override.GetColumn() == column.Name {
				measure = columnMeasure(override.GetMeasure())
			}
		}
		measures = append(measures, member{column.Name, measure})
	}
	return object{
		{"database_namespace", world.TableText(c.GetTable())},
		{"snapshot_constraint", snapshotMeasure(c.GetMeasure())},
		{"reference_milestone_node_index", c.Reference},
		{"target_dataframe", target},
		{"column_similarity_measure", measures},
	}
}

// snapshotMeasure names a measure as the original does.
func snapshotMeasure(m evaluationv1.SnapshotMeasure) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "SNAPSHOT_MEASURE_")) + "_similarity"
}

// defaultMeasure names the measure of a column that no override changes.
func defaultMeasure(column string) string {
	switch column {
	case "content", "relationship":
		return columnRougeL
	case "openai_tool_call_id", "openai_function_name", "tool_call_exception":
		return columnOne
	case "tool_trace":
		return columnToolTrace
	default:
		return columnExact
	}
}

func columnMeasure(m evaluationv1.ColumnMeasure) string {
	switch m {
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE:
		return columnClose
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE:
		return columnOne
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS:
		return columnContains
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L:
		return columnRougeL
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE:
		return columnToolTrace
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT, evaluationv1.ColumnMeasure_COLUMN_MEASURE_UNSPECIFIED:
		return columnExact
	default:
		return columnExact
	}
}
