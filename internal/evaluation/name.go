package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

const (
	columnPrefix   = "COLUMN_MEASURE_"
	snapshotPrefix = "SNAPSHOT_MEASURE_"
	// derivedName is the name of the measure TOOL_TRACE_DEPENDANT in files.
	derivedName = "derived"
)

// MeasureName returns the name of a measure in files, e.g. rouge_l.
func MeasureName(m fmt.Stringer) string {
	if m == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT {
		return derivedName
	}
	_, name, _ := strings.Cut(m.String(), "MEASURE_")
	return strings.ToLower(name)
}

// ColumnMeasure returns the measure of a name in files. An unknown name is that of a pack's
// measure.
func ColumnMeasure(name string) evaluationv1.ColumnMeasure {
	m := evaluationv1.ColumnMeasure(evaluationv1.ColumnMeasure_value[columnPrefix+strings.ToUpper(name)])
	if m == 0 || MeasureName(m) != name {
		return evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK
	}
	return m
}

// SnapshotMeasure returns the measure of a name in files. An unknown name is that of a pack's
// measure.
func SnapshotMeasure(name string) evaluationv1.SnapshotMeasure {
	if name == derivedName {
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT
	}
	m := evaluationv1.SnapshotMeasure(evaluationv1.SnapshotMeasure_value[snapshotPrefix+strings.ToUpper(name)])
	if m == 0 || MeasureName(m) != name {
		return evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK
	}
	return m
}

// BuiltInNames returns the sorted names of the built-in measures or extractors in files.
func BuiltInNames(kind measure.Kind) []string {
	var names []string
	switch kind {
	case measure.Cells:
		for _, number := range evaluationv1.ColumnMeasure_value {
			if m := evaluationv1.ColumnMeasure(number); m != 0 && m != evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK {
				names = append(names, MeasureName(m))
			}
		}
	case measure.Rows:
		for _, number := range evaluationv1.SnapshotMeasure_value {
			if m := evaluationv1.SnapshotMeasure(number); m != 0 && m != evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK {
				names = append(names, MeasureName(m))
			}
		}
	default:
		return measure.BuiltInNames()
	}
	slices.Sort(names)
	return names
}

// Unknown returns the problem of a name that no measure or extractor of a kind has, with a
// suggestion.
func Unknown(measures *measure.Set, name string, kind measure.Kind) string {
	wants := map[measure.Kind]string{measure.Cells: "two cells", measure.Rows: "the rows of a table", measure.Extractor: "values from a call"}
	known := BuiltInNames(kind)
	for _, f := range measures.Functions() {
		if f.Name == name {
			verb := "compares "
			if f.Kind == measure.Extractor {
				verb = "takes "
			}
			return fmt.Sprintf("%s %s%s, expected a name of what is about %s", name, verb, wants[f.Kind], wants[kind])
		}
		if f.Kind == kind {
			known = append(known, f.Name)
		}
	}
	what := "measure"
	if kind == measure.Extractor {
		what = "extractor"
	}
	return fmt.Sprintf("unknown %s %q%s", what, name, spelling.Hint(name, known))
}

// Unsuited explains why a measure cannot compare the cells of a column. It is empty if it can. name
// is that of a pack's measure.
func Unsuited(m evaluationv1.ColumnMeasure, name string, measures *measure.Set, column world.Column) string {
	switch m {
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT, evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE,
		evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE:
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS, evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L:
		if column.Kind != world.KindText {
			return fmt.Sprintf("%s compares texts, and %s is a %s", MeasureName(m), column.Name, column.Kind)
		}
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE:
		if column.Name != toolTraceColumn || column.Kind != world.KindTexts {
			return fmt.Sprintf("%s compares the column %s, not %s", MeasureName(m), toolTraceColumn, column.Name)
		}
	case evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK:
		switch f := measures.Find(name, measure.Cells); {
		case f == nil && !measures.Incomplete():
			return Unknown(measures, name, measure.Cells)
		case f != nil && !f.Accepts(column.Kind):
			return fmt.Sprintf("%s does not compare the cells of %s, which is a %s", name, column.Name, column.Kind)
		}
	default:
		return "has no measure"
	}
	return ""
}

// CheckSchema returns a problem for each column whose measure cannot compare its cells.
func CheckSchema(schema *world.Schema, measures *measure.Set) []Problem {
	var problems []Problem
	for _, table := range schema.Tables() {
		for _, column := range table.Columns {
			if reason := Unsuited(ColumnMeasure(column.Measure), column.Measure, measures, column); reason != "" {
				problems = append(problems, Problem{Path: "schema", Reason: fmt.Sprintf("%s.%s: %s", world.AuthorName(table.Name), column.Name, reason)})
			}
		}
	}
	return problems
}
