package score

import (
	"github.com/toolsandbox/toolsandbox/internal/evaluation"
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

// FirstUserMessage is the reference to the first user message instead of a node.
const FirstUserMessage = evaluation.FirstUserMessage
