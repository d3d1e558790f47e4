package score

import (
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// ColumnMeasure compares one cell with its target.
type ColumnMeasure = evaluationv1.ColumnMeasure

// These are the column measures. The zero ColumnMeasure is invalid.
const (
	// Exact is 1 for equal values.
	Exact = evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT
	// Close is 1 for numbers within a tolerance and for other equal values.
	Close = evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE
	// One is always 1.
	One = evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE
	// Contains is 1 if the cell's text contains the target.
	Contains = evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS
	// RougeL is the ROUGE-L F-measure with stemming.
	RougeL = evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L
	// ToolTrace is 1 if a trace of the cell matches one of the target's traces.
	ToolTrace = evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE
	// PackColumn is a pack's measure.
	PackColumn = evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK
)

// measureOf returns the built-in column measure of a name, the zero value if it is unknown.
func measureOf(name string) ColumnMeasure {
	if m := ColumnMeasure(evaluationv1.ColumnMeasure_value["COLUMN_MEASURE_"+strings.ToUpper(name)]); m != PackColumn && nameOf(m) == name {
		return m
	}
	return 0
}

// SnapshotMeasure compares a table version with target rows.
type SnapshotMeasure = evaluationv1.SnapshotMeasure

// These are the snapshot measures. The zero SnapshotMeasure is invalid.
const (
	// Snapshot compares the complete version.
	Snapshot = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT
	// Addition compares the rows added since the reference. No row may have been removed.
	Addition = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION
	// Removal compares the rows removed since the reference. No row may have been added.
	Removal = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL
	// Update compares the rows that differ from the reference, for versions of equal size.
	Update = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE
	// ToolTraceDependant compares a message with a target completed from the traces of the
	// reference message.
	ToolTraceDependant = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT
	// Guardrail is 1 if the version equals the reference's.
	Guardrail = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	// PackSnapshot compares the complete version by a pack's measure.
	PackSnapshot = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK
)

// nameOf returns a measure's name, e.g. rouge_l.
func nameOf(measure fmt.Stringer) string {
	_, name, _ := strings.Cut(measure.String(), "MEASURE_")
	return strings.ToLower(name)
}

// FirstUserMessage is the reference to the first user message instead of a node.
const FirstUserMessage = -1

// Definition is a graph as an author writes it.
type Definition struct {
	// Name is the prefix of paths in errors, e.g. milestones.
	Name string
	// Schema is the schema of the tables; nil means the built-in one.
	Schema *world.Schema
	// Measures are the pack's measures and extractors; nil means none.
	Measures *measure.Set
	// Graph is the nodes and their order. A node's index is its number. Nodes of a larger graph that
	// no edge mentions are never matched.
	Graph *evaluationv1.Graph
}

// DefinitionError is one mistake in a Definition. Compile joins all mistakes; errors.As and the
// Unwrap method of the joined error return them.
type DefinitionError struct {
	// Path is the path of the mistake, e.g. milestones[2].constraints[0].target[0].wifi.
	Path string
	// Node and Constraint are the numbers of node and constraint, −1 if the mistake is outside.
	Node, Constraint int
	// Field is the part of the path inside node or constraint, e.g. target[0].wifi.
	Field string
	// Problem states the mistake.
	Problem string
}

// Error returns path and problem.
func (e *DefinitionError) Error() string { return e.Path + ": " + e.Problem }

// checker records the mistakes of one definition.
type checker struct {
	name   string
	errors []error
}

// add records a mistake. node and constraint may be −1.
func (c *checker) add(node, constraint int, field, format string, arguments ...any) {
	var path strings.Builder
	path.WriteString(c.name)
	if node >= 0 {
		fmt.Fprintf(&path, "[%d]", node)
	}
	if constraint >= 0 {
		fmt.Fprintf(&path, ".constraints[%d]", constraint)
	}
	if field != "" {
		path.WriteString("." + field)
	}
	c.errors = append(c.errors, &DefinitionError{
		Path: path.String(), Node: node, Constraint: constraint, Field: field, Problem: fmt.Sprintf(format, arguments...),
	})
}

// targetField returns the field of a target cell for errors.
func targetField(row int, column string) string { return fmt.Sprintf("target[%d].%s", row, column) }
