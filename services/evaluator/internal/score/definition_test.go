package score

import (
	"cmp"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// testDefinition is a graph with Go values instead of proto messages.
type testDefinition struct {
	Name     string
	Schema   *world.Schema
	Measures *measure.Set
	Nodes    []Node
	Edges    []Edge
}

func compileDefinition(w testDefinition) (*Graph, error) {
	compiled, problems := evaluation.Compile(graphOf(w.Nodes, w.Edges), cmp.Or(w.Schema, world.Builtin()), w.Measures)
	for _, problem := range problems {
		if !problem.Scored {
			return nil, fmt.Errorf("%s.%s: %s", w.Name, problem.Path, problem.Reason)
		}
	}
	return NewGraph(compiled), nil
}

// Cell is one target cell.
type Cell struct {
	// Column is a column name of the constraint's table.
	Column string
	// Value is the target, possibly null. A role is its name. A tool trace is a JSON text with one
	// trace or a list.
	Value Value
}

// Tolerance is an absolute tolerance.
type Tolerance struct {
	// Name is a column or an argument of a trace.
	Name string
	// Absolute is the largest accepted difference. +Inf accepts any number.
	Absolute float64
}

// Override replaces the default measure of a column.
type Override struct {
	// Column is a column name of the constraint's table.
	Column string
	// Measure is the measure to use.
	Measure ColumnMeasure
	// Own is the pack's measure if Measure is PackColumn.
	Own string
	// Tolerances apply to Close and ToolTrace.
	Tolerances []Tolerance
}

// Constraint is one comparison at the matched message.
type Constraint struct {
	// Table is the name of the compared table.
	Table string
	// Measure is the measure of the table.
	Measure SnapshotMeasure
	// Own is the pack's measure if Measure is PackSnapshot.
	Own string
	// Reference is the node whose matched message is the reference, or FirstUserMessage. nil means
	// none.
	Reference *int
	// Target are the target rows. All list the same columns.
	Target [][]Cell
	// Overrides replace the columns' default measures.
	Overrides []Override
	// FillTo is the column to complete with extracted values, tool_trace or content. Only
	// ToolTraceDependant uses it.
	FillTo string
	// Extractor is the name of a built-in or a pack's extractor. Only ToolTraceDependant uses it.
	Extractor string
	// ExtractorExpression is an expression instead of Extractor.
	ExtractorExpression string
}

// GuardMode selects the tables of automatic guardrails.
type GuardMode uint8

// These are the guard modes.
const (
	// GuardAll guards all tables.
	GuardAll GuardMode = iota
	// GuardOnly guards the listed tables.
	GuardOnly
	// GuardExcept guards all tables except the listed ones.
	GuardExcept
)

// Guard restricts automatic guardrails. The zero Guard has no restriction.
type Guard struct {
	// Mode is the meaning of Tables.
	Mode GuardMode
	// Tables are the names of the listed tables. A listed SANDBOX has no effect.
	Tables []string
}

// Node is one milestone or minefield.
type Node struct {
	// Constraints are all compared at the same message.
	Constraints []Constraint
	// Guard restricts the automatic guardrails.
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
		Table: c.Table, Measure: c.Measure, PackMeasure: c.Own, FillTo: c.FillTo, Extractor: c.Extractor, ExtractorExpression: c.ExtractorExpression,
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
		override := &evaluationv1.ColumnOverride{Column: o.Column, Measure: o.Measure, PackMeasure: o.Own}
		for _, t := range o.Tolerances {
			override.Tolerances = append(override.Tolerances, &evaluationv1.Tolerance{Name: t.Name, Absolute: t.Absolute})
		}
		constraint.Overrides = append(constraint.Overrides, override)
	}
	return constraint
}
