package score

import (
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// written is a Definition as the tests write it, with the values of this package.
type written struct {
	Name     string
	Schema   *world.Schema
	Measures *measure.Set
	Nodes    []Node
	Edges    []Edge
}

func compileWritten(w written) (*Graph, error) {
	return Compile(Definition{Name: w.Name, Schema: w.Schema, Measures: w.Measures, Graph: graphOf(w.Nodes, w.Edges)})
}

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

// graphOf returns the wire form of a graph.
func graphOf(nodes []Node, edges []Edge) *evaluationv1.Graph {
	graph := &evaluationv1.Graph{}
	for _, n := range nodes {
		node := &evaluationv1.Node{}
		switch n.Guard.Mode {
		case GuardOnly:
			node.RestrictGuardrails, node.GuardrailTables = true, n.Guard.Tables
		case GuardExcept:
			node.UnguardedTables = n.Guard.Tables
		}
		for i := range n.Constraints {
			node.Constraints = append(node.Constraints, n.Constraints[i].proto())
		}
		graph.Nodes = append(graph.Nodes, node)
	}
	for _, e := range edges {
		graph.Edges = append(graph.Edges, &evaluationv1.Edge{Before: int32(e.Before), After: int32(e.After)})
	}
	return graph
}

func (c *Constraint) proto() *evaluationv1.Constraint {
	constraint := &evaluationv1.Constraint{
		Table: c.Table, Measure: c.Measure, OwnMeasure: c.Own, FillTo: c.FillTo, Extractor: c.Extractor, ExtractorExpression: c.ExtractorExpression,
	}
	if c.Reference != nil {
		reference := int32(*c.Reference)
		constraint.Reference = &reference
	}
	for _, row := range c.Target {
		target := &evaluationv1.TargetRow{}
		for _, cell := range row {
			target.Cells = append(target.Cells, &evaluationv1.TargetCell{Column: cell.Column, Value: cell.Value.wire()})
		}
		constraint.Target = append(constraint.Target, target)
	}
	for _, o := range c.Overrides {
		override := &evaluationv1.ColumnOverride{Column: o.Column, Measure: o.Measure, OwnMeasure: o.Own}
		for _, t := range o.Tolerances {
			override.Tolerances = append(override.Tolerances, &evaluationv1.Tolerance{Name: t.Name, Absolute: t.Absolute})
		}
		constraint.Overrides = append(constraint.Overrides, override)
	}
	return constraint
}
