package score

import "github.com/toolsandbox/toolsandbox/services/evaluator/internal/rouge"

// Explanation is a score and how it comes about. All similarities are the numbers that Score
// computes with.
type Explanation struct {
	// Result is the score.
	Result Result
	// Milestones and Minefields have one entry per node.
	Milestones, Minefields []NodeExplanation
}

// NodeExplanation says what became of one node.
type NodeExplanation struct {
	// Match is the node where it was matched; nil if it took no part.
	Match *NodeAt
	// Best is the node where it alone, its references where they were matched, does better, or
	// where it is 0 everywhere, comes closest; nil if the match is that message or has similarity
	// 1.
	Best *NodeAt
}

// NodeAt is a node at a message.
type NodeAt struct {
	// Index is the message.
	Index int
	// Similarity is the node's similarity there.
	Similarity float64
	// Constraints are the author's, in their order.
	Constraints []ConstraintExplanation
	// Guardrails are the automatic ones, in the order of Graph.Guardrails.
	Guardrails []ConstraintExplanation
}

// ConstraintExplanation is one comparison at a message.
type ConstraintExplanation struct {
	// Table names what is compared.
	Table string
	// Measure is how it is compared.
	Measure SnapshotMeasure
	// Reference is the node whose match is the reference, or FirstUserMessage; nil if the measure
	// reads none.
	Reference *int
	// ReferenceIndex is the reference's message if there is one.
	ReferenceIndex int
	// Similarity is the geometric mean of the rows' similarities, 0 if there is a Problem.
	Similarity float64
	// Problem says what makes the similarity 0 whatever the rows hold; "" if nothing does.
	Problem string
	// Rows are the target's rows with those they are paired with, then found rows that are left
	// over.
	Rows []RowExplanation
	// Changes are what changed since the reference, for every measure that compares a table with
	// its state there.
	Changes []RowChange
	// Extracted are the values that the target was completed with.
	Extracted []ExtractedValue
}

// RowExplanation is a pair of rows.
type RowExplanation struct {
	// Wanted is the number of the target's row, −1 for a row that nothing wants.
	Wanted int
	// Found is the row that it is paired with; nil if there is none, and for messages.
	Found []Value
	// Similarity is the n-th root of the product over n cells without those that have no result.
	Similarity float64
	// Cells are the target's cells in column order, with similarity 0 if there is no row for it;
	// none for a row that nothing wants.
	Cells []CellExplanation
}

// CellExplanation is a pair of cells.
type CellExplanation struct {
	// Column is the column's name.
	Column string
	// Measure is how the cells are compared.
	Measure ColumnMeasure
	// Wanted and Found are the values as they are compared.
	Wanted, Found Value
	// Similarity is 0 to 1.
	Similarity float64
	// NoResult says that the comparison has none.
	NoResult bool
	// Text is set for RougeL between two texts.
	Text *rouge.Alignment
	// Trace is set for ToolTrace with at least one accepted trace.
	Trace *TraceExplanation
}

// TraceExplanation compares the accepted trace and the call that fit, or of all those that come
// closest.
type TraceExplanation struct {
	// Accepted is the number of the accepted trace.
	Accepted int
	// Tool is the accepted tool, FoundTool the one called, "" if there is no call.
	Tool, FoundTool string
	// Fits says whether the call fits.
	Fits bool
	// Arguments are the accepted arguments, if the tools are equal.
	Arguments []ArgumentExplanation
}

// ArgumentExplanation compares one argument.
type ArgumentExplanation struct {
	// Name is the argument's name.
	Name string
	// Wanted and Found are JSON texts; Found is "" if the argument was not given.
	Wanted, Found string
	// Tolerance is the largest accepted difference, negative if the values must be equal.
	Tolerance float64
	// Fits says whether the value fits.
	Fits bool
}

// RowChange is a row that differs between the reference and the match.
type RowChange struct {
	// Before and After are the row at either message; nil where there is none, and for messages.
	Before, After []Value
	// Columns are the columns that differ if there are both.
	Columns []string
}

// ExtractedValue is a value that a target was completed with.
type ExtractedValue struct {
	// Name is the place that it fills.
	Name string
	// Value is the value as it is printed.
	Value string
}
