package score

import (
	"math"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/ported/rouge"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// constraintCompiler compiles one constraint and records its mistakes.
type constraintCompiler struct {
	check       *checker
	schema      *world.Schema
	measures    *measure.Set
	table       world.Table
	node, index int
	nodes       int
}

// fail records a mistake in the constraint.
func (k *constraintCompiler) fail(field, format string, arguments ...any) {
	k.check.add(k.node, k.index, field, format, arguments...)
}

// compile checks and prepares a constraint. The result is invalid if a mistake was recorded.
func (k *constraintCompiler) compile(source *evaluationv1.Constraint) constraint {
	result := constraint{table: k.schema.TableIndex(source.GetTable()), measure: source.GetMeasure(), reference: noReference, fillColumn: -1}
	if source.GetMeasure() == 0 || evaluationv1.SnapshotMeasure_name[int32(source.GetMeasure())] == "" {
		k.fail("measure", "unknown measure %d", source.GetMeasure())
	}
	k.reference(source, &result)
	if result.table < 0 {
		k.fail("table", "unknown table %q", source.GetTable())
		return result
	}
	k.table = k.schema.Tables()[result.table]
	switch source.GetMeasure() {
	case PackSnapshot:
		k.packMeasure(source, &result)
	case Addition, Removal, Update:
		if result.table == sandbox {
			k.fail("table", "%v compares stored tables, not SANDBOX", nameOf(source.GetMeasure()))
		}
	case ToolTraceDependant:
		if result.table != sandbox {
			k.fail("table", "%v compares SANDBOX only", nameOf(source.GetMeasure()))
			return result
		}
		k.dependant(source, &result)
	}
	switch {
	case source.GetMeasure() == Guardrail && len(source.GetTarget()) > 0:
		k.fail("target", "%v takes none", nameOf(source.GetMeasure()))
	case source.GetMeasure() != Guardrail && result.table == sandbox && len(source.GetTarget()) != 1:
		k.fail("target", "has %d rows, must be one message", len(source.GetTarget()))
	}
	overrides := k.overrides(source)
	for i, row := range source.GetTarget() {
		result.target = append(result.target, k.row(source, &result, overrides, i, row.GetCells()))
	}
	if result.fillColumn >= 0 {
		for i := range source.GetTarget() {
			if !slices.ContainsFunc(source.GetTarget()[i].GetCells(), func(c *evaluationv1.TargetCell) bool { return c.GetColumn() == source.GetFillTo() }) {
				k.fail("fill_to", "target[%d] has no %s", i, source.GetFillTo())
			}
		}
	}
	result.senders, result.recipients = math.MaxUint8, math.MaxUint8
	if result.table == sandbox && len(result.target) == 1 {
		for _, c := range result.target[0] {
			k.prefilter(&result, &c)
		}
	}
	return result
}

// packMeasure finds the pack's measure of rows.
func (k *constraintCompiler) packMeasure(source *evaluationv1.Constraint, result *constraint) {
	result.measure, result.packMeasure = Snapshot, k.measures.Find(source.GetPackMeasure(), measure.Rows)
	switch {
	case result.packMeasure == nil:
		k.fail("measure", "unknown measure of rows %q", source.GetPackMeasure())
	case result.table == sandbox:
		k.fail("table", "%s compares stored tables, not SANDBOX", source.GetPackMeasure())
	case len(source.GetOverrides()) > 0:
		k.fail("columns", "%s compares whole rows and takes none", source.GetPackMeasure())
	}
}

// reference checks and sets the reference.
func (k *constraintCompiler) reference(source *evaluationv1.Constraint, result *constraint) {
	if source.Reference == nil {
		if source.GetMeasure() != Snapshot && source.GetMeasure() != PackSnapshot {
			k.fail("reference", "%v needs a reference", nameOf(source.GetMeasure()))
		}
		return
	}
	result.reference = int(source.GetReference())
	if result.reference < FirstUserMessage || result.reference >= k.nodes {
		k.fail("reference", "unknown node %d", result.reference)
		result.reference = noReference
	}
}

// dependant checks and sets the fields of ToolTraceDependant.
func (k *constraintCompiler) dependant(source *evaluationv1.Constraint, result *constraint) {
	extractor, err := findExtractor(source, k.measures)
	if err != nil {
		k.fail("extractor", "%v", err)
		return
	}
	result.extractor = extractor
	if source.GetFillTo() != "tool_trace" && source.GetFillTo() != "content" {
		k.fail("fill_to", "%q is neither tool_trace nor content", source.GetFillTo())
		return
	}
	result.fillColumn = k.table.Column(source.GetFillTo())
}

// overrides returns the overrides by column.
func (k *constraintCompiler) overrides(source *evaluationv1.Constraint) map[int]*evaluationv1.ColumnOverride {
	result := make(map[int]*evaluationv1.ColumnOverride, len(source.GetOverrides()))
	for _, override := range source.GetOverrides() {
		field := "columns." + override.GetColumn()
		column := k.table.Column(override.GetColumn())
		if column < 0 {
			k.fail(field, "%s has no column %q", source.GetTable(), override.GetColumn())
			continue
		}
		if override.GetMeasure() == PackColumn {
			if fn := k.measures.Find(override.GetPackMeasure(), measure.Cells); fn == nil || !fn.Accepts(k.table.Columns[column].Kind) {
				k.fail(field, "measure %q does not compare a %v", override.GetPackMeasure(), k.table.Columns[column].Kind)
				continue
			}
		} else if !supports(override.GetMeasure(), k.table.Columns[column].Kind) {
			k.fail(field, "measure %q does not compare a %v", nameOf(override.GetMeasure()), k.table.Columns[column].Kind)
			continue
		}
		for _, tolerance := range override.GetTolerances() {
			switch {
			case !(tolerance.GetAbsolute() >= 0):
				k.fail(field, "tolerance of %q is %v, must not be negative", tolerance.GetName(), tolerance.GetAbsolute())
			case override.GetMeasure() == ToolTrace:
			case override.GetMeasure() != Close:
				k.fail(field, "measure %q takes no tolerance", nameOf(override.GetMeasure()))
			case tolerance.GetName() != override.GetColumn():
				k.fail(field, "tolerance of %q, must be of %q", tolerance.GetName(), override.GetColumn())
			}
		}
		result[column] = override
	}
	return result
}

// supports reports whether a built-in measure can compare cells of a kind.
func supports(measure ColumnMeasure, kind world.Kind) bool {
	switch measure {
	case Exact, Close, One:
		return true
	case Contains, RougeL:
		return kind == world.KindText
	case ToolTrace:
		return kind == world.KindTexts
	}
	return false
}

// row compiles one target row.
func (k *constraintCompiler) row(
	source *evaluationv1.Constraint, result *constraint, overrides map[int]*evaluationv1.ColumnOverride, at int, row []*evaluationv1.TargetCell,
) []cell {
	cells := make([]cell, 0, len(row))
	var seen uint64
	for i := range row {
		field := targetField(at, row[i].GetColumn())
		column := k.table.Column(row[i].GetColumn())
		if column < 0 {
			k.fail(field, "%s has no column %q", source.GetTable(), row[i].GetColumn())
			continue
		}
		if seen&(1<<column) != 0 {
			k.fail(field, "given twice")
		}
		seen |= 1 << column
		cells = append(cells, k.cell(source, result, overrides[column], field, column, FromProto(row[i].GetValue())))
	}
	if at > 0 && !sameColumns(source.GetTarget()[0].GetCells(), row) {
		k.fail(strings.TrimSuffix(targetField(at, ""), "."), "the columns differ from those of target[0]")
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return cost(a.measure) - cost(b.measure) })
	return cells
}

// sameColumns reports whether two rows list the same columns, in any order.
func sameColumns(a, b []*evaluationv1.TargetCell) bool {
	names := func(row []*evaluationv1.TargetCell) []string {
		list := make([]string, len(row))
		for i := range row {
			list[i] = row[i].GetColumn()
		}
		slices.Sort(list)
		return list
	}
	return slices.Equal(names(a), names(b))
}

// cost returns the relative cost of a comparison.
func cost(measure ColumnMeasure) int {
	switch measure {
	case PackColumn:
		return 4
	case RougeL:
		return 3
	case ToolTrace:
		return 2
	case Contains:
		return 1
	}
	return 0
}

// cell compiles one target cell.
func (k *constraintCompiler) cell(
	source *evaluationv1.Constraint, result *constraint, override *evaluationv1.ColumnOverride, field string, column int, value Value,
) cell {
	spec := k.table.Columns[column]
	c := cell{column: column, measure: measureOf(spec.Measure), value: value, tolerance: -1}
	packMeasure := spec.Measure
	if c.measure == 0 {
		c.measure = PackColumn
	}
	var tolerances map[string]float64
	if override != nil {
		c.measure, packMeasure = override.GetMeasure(), override.GetPackMeasure()
		tolerances = make(map[string]float64, len(override.GetTolerances()))
		for _, tolerance := range override.GetTolerances() {
			tolerances[tolerance.GetName()] = tolerance.GetAbsolute()
		}
		if absolute, ok := tolerances[spec.Name]; ok && c.measure == Close {
			c.tolerance = absolute
		}
	}
	switch source.GetMeasure() {
	case Addition, Removal, Update:
		if value.IsNull() {
			c.value = nullValue(spec.Kind)
		}
	}
	if c.measure == PackColumn {
		c.packMeasure = k.measures.Find(packMeasure, measure.Cells)
	}
	if c.value.IsNull() {
		return c
	}
	if c.measure == One || !k.checkKind(field, spec, &c) {
		return c
	}
	filled := result.measure == ToolTraceDependant && column == result.fillColumn
	switch c.measure {
	case ToolTrace:
		k.trace(field, &c, tolerances)
	case RougeL:
		c.target = rouge.NewTarget(c.value.text)
	}
	if filled && column == columnContent {
		if parsed, ok := parseTemplate(value.text, result.extractor); ok {
			result.template = &parsed
		}
	}
	return c
}

// checkKind records a value of the wrong type. It reports whether the type is right.
func (k *constraintCompiler) checkKind(field string, spec world.Column, c *cell) bool {
	want := kindOf(spec.Kind)
	if c.measure == ToolTrace {
		want = KindString
	}
	if c.value.kind != want {
		k.fail(field, "is a %v, must be a %v", c.value.kind, want)
		return false
	}
	if (spec.Name == "sender" || spec.Name == "recipient") && want == KindString && c.measure == Exact {
		if _, ok := world.ParseRole(c.value.text); !ok {
			k.fail(field, "unknown role %q", c.value.text)
			return false
		}
	}
	return true
}

// trace parses a target of traces.
func (k *constraintCompiler) trace(field string, c *cell, tolerances map[string]float64) {
	accepted, err := parseTraceTargets(c.value.text, tolerances)
	if err != nil {
		k.fail(field, "%v", err)
	}
	c.accepted = accepted
}

// prefilter sets the roles that a SANDBOX cell accepts.
func (k *constraintCompiler) prefilter(result *constraint, c *cell) {
	if c.measure != Exact || c.column != columnSender && c.column != columnRecipient {
		return
	}
	role, _ := world.ParseRole(c.value.text) // null is role 0
	if c.column == columnSender {
		result.senders = 1 << role
	} else {
		result.recipients = 1 << role
	}
}
