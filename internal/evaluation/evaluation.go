// Package evaluation compiles and checks graphs of milestones and minefields. The reader of
// scenarios reports the problems at positions of files, and the evaluator scores the graphs.
package evaluation

import (
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// FirstUserMessage is the reference to the first user message instead of a node.
const FirstUserMessage = -1

// NoReference marks a constraint without a reference.
const NoReference = -2

// Problem is a mistake in a graph.
type Problem struct {
	// Path is the field of the graph, e.g. nodes[1].constraints[0].target[0].cells[2].
	Path string
	// Reason states the mistake and the expected value.
	Reason string
	// Scored reports whether the graph can be scored nevertheless, as the original scores it. It is
	// hardly what its author means.
	Scored bool
}

// Graph is a compiled graph. It is immutable and safe for concurrent use.
type Graph struct {
	Schema *world.Schema
	Nodes  []Node
	// Matched is the set of nodes that take part in matching: the only one, or those with an edge.
	Matched NodeSet

	source *evaluationv1.Graph
}

// Node is a compiled node.
type Node struct {
	Constraints []Constraint
	// Direct are the nodes before it by edges. Before adds those to which its constraints refer.
	Direct, Before NodeSet
}

// Constraint is a compiled constraint.
type Constraint struct {
	// Table is the index of the table in the schema.
	Table   int
	Measure evaluationv1.SnapshotMeasure
	// PackMeasure is the pack's measure, nil for a built-in one.
	PackMeasure *measure.Function
	// Reference is the number of a node, FirstUserMessage or NoReference.
	Reference int
	Target    [][]Cell
	// Extractor completes the target, nil without one.
	Extractor *measure.Function
	// FillColumn is the index of the column for extracted values, −1 without one.
	FillColumn int
	// Template is the text to complete. It is nil if there is none or if it can never be completed.
	Template *measure.Template
}

// Cell is a compiled target cell.
type Cell struct {
	// Column is the index of the column in the table, −1 for an unknown one.
	Column  int
	Measure evaluationv1.ColumnMeasure
	// PackMeasure is the pack's measure, nil for a built-in one.
	PackMeasure *measure.Function
	Value       *worldv1.Value
	// Tolerance is the largest accepted difference of numbers, −1 without one.
	Tolerance float64
	// Traces are the accepted traces of a column that is compared by them.
	Traces []Trace
}

// Probe compares the cell with itself by the pack's measure, if it has one. The error is a
// *measure.Error.
func (c *Cell) Probe() error {
	if c.PackMeasure == nil || c.Column < 0 {
		return nil
	}
	return c.PackMeasure.Probe(c.Value)
}

// Trace is an accepted trace: a tool and the arguments to compare.
type Trace struct {
	Tool      string
	Arguments *python.Dict
	// Tolerances are the largest accepted differences by argument. Other arguments must be equal.
	Tolerances map[string]float64
}

// Compile compiles and checks a graph. The graph is complete if every problem is Scored. It is nil
// if there are too many nodes.
func Compile(source *evaluationv1.Graph, schema *world.Schema, measures *measure.Set) (*Graph, []Problem) {
	c := &checker{source: source, graph: &Graph{Schema: schema, Nodes: make([]Node, len(source.GetNodes())), source: source}, measures: measures}
	if count := len(source.GetNodes()); count > MaxNodes {
		c.fail(fmt.Sprintf("nodes[%d]", MaxNodes), "the graph has %d nodes; at most %d are scored", count, MaxNodes)
		return nil, c.problems
	}
	for i, node := range source.GetNodes() {
		c.node(i, node)
	}
	c.order()
	return c.graph, c.problems
}

// checker compiles one graph and records its problems.
type checker struct {
	source   *evaluationv1.Graph
	graph    *Graph
	measures *measure.Set
	problems []Problem
}

// fail records a problem that makes scoring impossible.
func (c *checker) fail(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// warn records a problem with which the graph is scored nevertheless.
func (c *checker) warn(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{Path: path, Reason: fmt.Sprintf(format, args...), Scored: true})
}

// node compiles a node except its order.
func (c *checker) node(i int, source *evaluationv1.Node) {
	at := fmt.Sprintf("nodes[%d]", i)
	for j := range i {
		if name := source.GetName(); name != "" && c.source.GetNodes()[j].GetName() == name {
			c.fail(at+".name", "%q is the name of number %d too", name, j)
			break
		}
	}
	for _, name := range slices.Concat(source.GetGuardrailTables(), source.GetUnguardedTables()) {
		if c.graph.Schema.TableIndex(name) < 0 {
			c.fail(at, "guardrails name an unknown table %q", name)
		}
	}
	if len(source.GetConstraints()) == 0 {
		c.fail(at+".constraints", "has no constraint, so nothing says when it is reached")
	}
	node := &c.graph.Nodes[i]
	node.Constraints = make([]Constraint, len(source.GetConstraints()))
	for j, constraint := range source.GetConstraints() {
		k := &constraintChecker{checker: c, source: constraint, path: fmt.Sprintf("%s.constraints[%d]", at, j), result: &node.Constraints[j]}
		k.compile()
	}
}

// nodeText returns the name of a node for messages.
func (c *checker) nodeText(i int) string {
	if name := c.source.GetNodes()[i].GetName(); name != "" {
		return name
	}
	return fmt.Sprintf("number %d", i)
}
