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

// The column measures. The zero ColumnMeasure is none of them.
const (
	// Exact is 1 for equal values.
	Exact = evaluationv1.ColumnMeasure_COLUMN_MEASURE_EXACT
	// Close is 1 for numbers within a tolerance and for other values that are equal.
	Close = evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE
	// One is always 1.
	One = evaluationv1.ColumnMeasure_COLUMN_MEASURE_ONE
	// Contains is 1 if the cell's text contains the target.
	Contains = evaluationv1.ColumnMeasure_COLUMN_MEASURE_CONTAINS
	// RougeL is the ROUGE-L F-measure with stemming.
	RougeL = evaluationv1.ColumnMeasure_COLUMN_MEASURE_ROUGE_L
	// ToolTrace is 1 if a trace of the cell fits one of the target's traces.
	ToolTrace = evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE
	// OwnColumn is a measure of the pack's own.
	OwnColumn = evaluationv1.ColumnMeasure_COLUMN_MEASURE_OWN
)

// measureOf returns the built-in column measure of a name; the zero value is none.
func measureOf(name string) ColumnMeasure {
	if m := ColumnMeasure(evaluationv1.ColumnMeasure_value["COLUMN_MEASURE_"+strings.ToUpper(name)]); m != OwnColumn && nameOf(m) == name {
		return m
	}
	return 0
}

// SnapshotMeasure compares a table version with target rows.
type SnapshotMeasure = evaluationv1.SnapshotMeasure

// The snapshot measures. The zero SnapshotMeasure is none of them.
const (
	// Snapshot compares the version as a whole.
	Snapshot = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT
	// Addition compares the rows that came since the reference, of which none may be missing.
	Addition = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION
	// Removal compares the rows that went since the reference, to which none may have come.
	Removal = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL
	// Update compares the rows that are not in the reference, for versions of equal size.
	Update = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE
	// ToolTraceDependant compares a message with a target completed from the traces of the
	// reference message.
	ToolTraceDependant = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT
	// Guardrail is 1 if the version equals the reference's.
	Guardrail = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL
	// OwnSnapshot compares the version as a whole by a measure of the pack's own.
	OwnSnapshot = evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_OWN
)

// nameOf returns a measure's name, e.g. rouge_l.
func nameOf(measure fmt.Stringer) string {
	_, name, _ := strings.Cut(measure.String(), "MEASURE_")
	return strings.ToLower(name)
}

// FirstUserMessage is the reference to the first user message instead of a node.
const FirstUserMessage = -1

// Cell is one wanted cell.
type Cell struct {
	// Column is a column name of the constraint's table.
	Column string
	// Value is what is wanted; null is meant. Roles are their names; a tool trace is a JSON text
	// with one trace or a list.
	Value Value
}

// Tolerance is an absolute tolerance.
type Tolerance struct {
	// Name is a column or an argument of a trace.
	Name string
	// Absolute is the largest accepted difference; +Inf accepts any number.
	Absolute float64
}

// Override replaces the default measure of a column.
type Override struct {
	// Column is a column name of the constraint's table.
	Column string
	// Measure is the measure to use.
	Measure ColumnMeasure
	// Own names it if it is OwnColumn.
	Own string
	// Tolerances are read by Close and ToolTrace.
	Tolerances []Tolerance
}

// Constraint is one comparison at the matched message.
type Constraint struct {
	// Table names what is compared.
	Table string
	// Measure is how it is compared.
	Measure SnapshotMeasure
	// Own names the measure if it is OwnSnapshot.
	Own string
	// Reference is the node whose matched message is the reference, or FirstUserMessage; nil if
	// there is none.
	Reference *int
	// Target are the wanted rows; all list the same columns.
	Target [][]Cell
	// Overrides are the measures that differ from the columns' defaults.
	Overrides []Override
	// FillTo is the column that extracted values complete, tool_trace or content; for
	// ToolTraceDependant only.
	FillTo string
	// Extractor names what is taken from a trace, a built-in extractor or one of the pack's own; for
	// ToolTraceDependant only.
	Extractor string
	// ExtractorExpression says in CEL what is taken from a trace, instead of Extractor.
	ExtractorExpression string
}

// GuardMode says which tables automatic guardrails may guard.
type GuardMode uint8

// The guard modes.
const (
	// GuardAll guards all tables.
	GuardAll GuardMode = iota
	// GuardOnly guards the listed tables.
	GuardOnly
	// GuardExcept guards all tables but the listed ones.
	GuardExcept
)

// Guard restricts automatic guardrails. The zero Guard restricts nothing.
type Guard struct {
	// Mode says how Tables is meant.
	Mode GuardMode
	// Tables are the names of the listed tables. SANDBOX may be listed and has no effect.
	Tables []string
}

// Node is one milestone or minefield.
type Node struct {
	// Constraints are all compared at the same message.
	Constraints []Constraint
	// Guard restricts the guardrails that are added automatically.
	Guard Guard
}

// Edge orders two nodes.
type Edge struct {
	// Before and After are node numbers.
	Before, After int
}

// Definition is a graph as an author writes it.
type Definition struct {
	// Name begins the paths in errors, e.g. milestones.
	Name string
	// Schema is that of the tables; nil is the built-in one.
	Schema *world.Schema
	// Measures are the measures and extractors of the pack's own; nil is none.
	Measures *measure.Set
	// Nodes are the nodes; their position is their number.
	Nodes []Node
	// Edges are the order. Nodes of a larger graph that no edge mentions are never matched.
	Edges []Edge
}

// Chain returns the edges that order n nodes one after the other.
func Chain(n int) []Edge {
	var edges []Edge
	for i := 1; i < n; i++ {
		edges = append(edges, Edge{Before: i - 1, After: i})
	}
	return edges
}

// DefinitionError is one mistake in a Definition. Compile joins all that it finds; errors.As and
// the Unwrap method of the joined error reach them.
type DefinitionError struct {
	// Path is the place, e.g. milestones[2].constraints[0].target[0].wifi.
	Path string
	// Node and Constraint are the numbers of node and constraint, −1 where the mistake is not
	// inside one.
	Node, Constraint int
	// Field is the end of the path inside node or constraint, e.g. target[0].wifi.
	Field string
	// Problem says what is wrong.
	Problem string
}

// Error returns path and problem.
func (e *DefinitionError) Error() string { return e.Path + ": " + e.Problem }

// checker collects the mistakes of one definition.
type checker struct {
	name   string
	errors []error
}

// add notes a mistake; node and constraint are −1 where there is none.
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

// target returns the field of a cell of a target.
func target(row int, column string) string { return fmt.Sprintf("target[%d].%s", row, column) }
