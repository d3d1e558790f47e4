package evaluation

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// These are the columns of messages that extracted values complete.
const (
	toolTraceColumn = "tool_trace"
	contentColumn   = "content"
)

// constraintChecker compiles one constraint.
type constraintChecker struct {
	*checker
	source *evaluationv1.Constraint
	path   string
	table  world.Table
	result *Constraint
	// overrides are the valid overrides by column.
	overrides map[int]*evaluationv1.ColumnOverride
}

// compile compiles and checks the constraint.
func (k *constraintChecker) compile() {
	c := k.source
	*k.result = Constraint{Table: k.graph.Schema.TableIndex(c.GetTable()), Measure: c.GetMeasure(), Reference: NoReference, FillColumn: -1}
	k.reference()
	if k.result.Table < 0 {
		k.fail(k.path+".table", "unknown table %q", c.GetTable())
		return
	}
	k.table = k.graph.Schema.Tables()[k.result.Table]
	k.measure()
	k.columnOverrides()
	for i := range c.GetTarget() {
		k.result.Target = append(k.result.Target, k.row(i))
	}
}

// reference sets the reference.
func (k *constraintChecker) reference() {
	if k.source.Reference == nil {
		return
	}
	r := int(k.source.GetReference())
	if r < FirstUserMessage || r >= len(k.graph.Nodes) {
		k.fail(k.path+".reference", "is %d, expected -1 or a number below %d", r, len(k.graph.Nodes))
		return
	}
	k.result.Reference = r
}

// measure checks the fields that the measure needs.
func (k *constraintChecker) measure() {
	c, name := k.source, MeasureName(k.source.GetMeasure())
	needsReference := true
	switch c.GetMeasure() {
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT:
		needsReference = false
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_PACK:
		needsReference = false
		k.packMeasure()
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION, evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_REMOVAL,
		evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UPDATE:
		if c.GetTable() == world.Sandbox {
			k.fail(k.path+".measure", "is %s, which compares stored tables; messages are in sandbox", name)
		}
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_TOOL_TRACE_DEPENDANT:
		k.derived()
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL:
	case evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_UNSPECIFIED:
		k.fail(k.path+".measure", "is missing")
		return
	default:
		k.fail(k.path+".measure", "is unknown")
		return
	}
	if needsReference && c.Reference == nil {
		k.fail(k.path, "has no reference, which %s needs: a name or start", name)
	}
	k.targetSize()
}

// targetSize checks the number of target rows.
func (k *constraintChecker) targetSize() {
	const nothing = "says nothing to expect: give expect, call or says"
	rows, isMessage := len(k.source.GetTarget()), k.source.GetTable() == world.Sandbox
	switch {
	case k.source.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL:
		if rows > 0 {
			k.fail(k.path, "compares with its reference only and takes nothing to expect")
		}
	case rows == 0 && isMessage:
		k.fail(k.path, nothing)
	case rows == 0:
		k.warn(k.path, nothing)
	case rows > 1 && isMessage:
		k.fail(k.path+".target[1]", "is a second row, but one message is compared at a time")
	}
}

// packMeasure finds the pack's measure of rows.
func (k *constraintChecker) packMeasure() {
	c, name := k.source, k.source.GetPackMeasure()
	k.result.PackMeasure = k.measures.Find(name, measure.Rows)
	if k.result.PackMeasure == nil && !k.measures.Incomplete() {
		k.fail(k.path+".measure", "%s", Unknown(k.measures, name, measure.Rows))
		return
	}
	if c.GetTable() == world.Sandbox {
		k.fail(k.path+".table", "is sandbox, but %s compares stored tables", name)
	}
	if len(c.GetOverrides()) > 0 {
		k.fail(k.path+".overrides[0]", "%s compares whole rows and reads no measures of columns", name)
	}
	if c.Reference != nil {
		k.warn(k.path+".reference", "%s compares the table as it is and has no reference", name)
	}
}

// derived checks the fields of a target that extracted values complete.
func (k *constraintChecker) derived() {
	c := k.source
	if c.GetTable() != world.Sandbox {
		k.fail(k.path+".table", "is %s, but derived compares messages, which are in sandbox", world.AuthorName(c.GetTable()))
	}
	if c.Reference != nil && c.GetReference() == FirstUserMessage {
		k.warn(k.path+".reference", "is start, before which nothing was called, so that no value completes the target; expected the name of the node with the call")
	}
	extractor, err := Extractor(c, k.measures)
	if err != nil {
		k.fail(k.path+".extractor", "%v", err)
	}
	fill := c.GetFillTo()
	if fill != toolTraceColumn && fill != contentColumn {
		k.fail(k.path+".fill_to", "is %q, expected tool_trace or content", fill)
		return
	}
	k.result.Extractor, k.result.FillColumn = extractor, k.table.Column(fill)
	for i, row := range c.GetTarget() {
		if !hasCell(row, fill) {
			k.fail(fmt.Sprintf("%s.target[%d]", k.path, i), "has no %s, which into says is to be filled", fill)
		}
	}
}

// Extractor returns the extractor of a constraint, by name or by expression. It is nil without an
// error if the pack's measures are incomplete.
func Extractor(c *evaluationv1.Constraint, measures *measure.Set) (*measure.Function, error) {
	name, text := c.GetExtractor(), c.GetExtractorExpression()
	switch {
	case name == "" && text == "":
		return nil, errors.New("is empty, expected the name of an extractor or {python: expression}")
	case name != "" && text != "":
		return nil, errors.New("is both a name and an expression; keep one")
	case text != "":
		return measure.CompileExpression(text)
	}
	if builtIn := measure.BuiltIn(name); builtIn != nil {
		return builtIn, nil
	}
	if f := measures.Find(name, measure.Extractor); f != nil || measures.Incomplete() {
		return f, nil
	}
	return nil, errors.New(Unknown(measures, name, measure.Extractor))
}

// hasCell reports whether a target row expects a column.
func hasCell(row *evaluationv1.TargetRow, column string) bool {
	return slices.ContainsFunc(row.GetCells(), func(cell *evaluationv1.TargetCell) bool { return cell.GetColumn() == column })
}

// columnOverrides checks the overrides.
func (k *constraintChecker) columnOverrides() {
	k.overrides = make(map[int]*evaluationv1.ColumnOverride, len(k.source.GetOverrides()))
	for i, override := range k.source.GetOverrides() {
		at := fmt.Sprintf("%s.overrides[%d]", k.path, i)
		column := k.column(at, override.GetColumn())
		if column < 0 {
			continue
		}
		if k.overrides[column] != nil {
			k.warn(at, "overrides %q twice", override.GetColumn())
		}
		before := len(k.problems)
		k.override(at, k.table.Columns[column], override)
		if target := k.source.GetTarget(); len(k.problems) == before && len(target) > 0 && !hasCell(target[0], override.GetColumn()) {
			k.warn(at, "overrides %q, which the constraint does not expect", override.GetColumn())
		}
		k.overrides[column] = override
	}
}

// override checks that a measure fits a column, and that tolerances fit the measure.
func (k *constraintChecker) override(path string, column world.Column, override *evaluationv1.ColumnOverride) {
	m, name := override.GetMeasure(), MeasureName(override.GetMeasure())
	at := path
	if m == evaluationv1.ColumnMeasure_COLUMN_MEASURE_PACK {
		name, at = override.GetPackMeasure(), path+".measure"
	}
	if reason := Unsuited(m, name, k.measures, column); reason != "" {
		k.fail(at, "%s", reason)
	}
	for _, tolerance := range override.GetTolerances() {
		switch {
		case !(tolerance.GetAbsolute() >= 0):
			k.fail(path, "the tolerance of %q is %v, expected 0 or more", tolerance.GetName(), tolerance.GetAbsolute())
		case m == evaluationv1.ColumnMeasure_COLUMN_MEASURE_TOOL_TRACE:
			if reason := k.unreadTolerance(tolerance.GetName()); reason != "" {
				k.warn(path, "has a tolerance for %q, %s", tolerance.GetName(), reason)
			}
		case m != evaluationv1.ColumnMeasure_COLUMN_MEASURE_CLOSE:
			k.fail(path, "%s takes no tolerance, only close and tool_trace do", name)
		case tolerance.GetName() != column.Name:
			k.fail(path, "has a tolerance for %q, expected %q", tolerance.GetName(), column.Name)
		}
	}
}

// unreadTolerance explains why no wanted call reads the tolerance of an argument, empty if one does
// or if the extractor may give it.
func (k *constraintChecker) unreadTolerance(argument string) string {
	if extractor := k.result.Extractor; k.source.GetFillTo() == toolTraceColumn &&
		(extractor == nil || extractor.Names == nil || slices.Contains(extractor.Names, argument)) {
		return ""
	}
	var names []string
	isWanted := false
	for _, trace := range WantedTraces(k.source) {
		value, ok := trace.Arguments.Get(argument)
		if _, isNumber := value.Number(); ok && isNumber {
			return ""
		}
		isWanted = isWanted || ok
		for _, item := range trace.Arguments.Items() {
			names = append(names, item.Key)
		}
	}
	if isWanted {
		return "which is wanted and no number"
	}
	return "which no wanted call has" + spelling.Hint(argument, names)
}

// column returns the position of a column, or −1 after recording a problem.
func (k *constraintChecker) column(path, name string) int {
	at := k.table.Column(name)
	if at < 0 {
		k.fail(path, "%s has no column %q%s", world.AuthorName(k.table.Name), name, spelling.Hint(name, k.table.ColumnNames()))
	}
	return at
}
