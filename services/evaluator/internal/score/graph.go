package score

import (
	"math"
	"math/bits"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/ported/rouge"
	"github.com/toolsandbox/toolsandbox/internal/world"
)

// maxNodes is the maximum number of nodes of a graph.
const maxNodes = evaluation.MaxNodes

// Graph is a graph of milestones or minefields. It is immutable and safe for concurrent use.
type Graph struct {
	schema *world.Schema
	nodes  []node
	// matched are the nodes that take part in matching.
	matched uint64
	// sorted are these nodes in topological order.
	sorted []int
	// before are the nodes that must be matched before each node. neighbours adds those that must be
	// matched after it.
	before, neighbours []uint64
	// constraintCount is the number of constraints of all nodes.
	constraintCount int
}

// node is one compiled node.
type node struct {
	constraints []constraint
	guards      []evaluation.Guardrail
	// scored is the number of constraints other than guardrails: the degree of the root.
	scored int
	// before are the nodes that must be matched earlier because of an edge or a reference.
	before uint64
	// directBefore are the nodes of before that precede no other node of it. reads are the nodes of
	// dependences.
	directBefore, reads uint64
	// dependences are the other nodes at whose matches this node reads tables.
	dependences []dependence
}

// dependence is another node at whose match a node reads tables.
type dependence struct {
	node int
	// compared reports that a constraint does, not only automatic guardrails.
	compared bool
	// guarded is the set of tables of automatic guardrails.
	guarded uint64
}

// constraint is one compiled constraint.
type constraint struct {
	table   int // index in the schema
	measure SnapshotMeasure
	// packMeasure is the pack's measure instead of measure, which is then Snapshot; nil for built-in
	// ones.
	packMeasure *measure.Function
	reference   int
	number      int
	target      [][]cell
	// senders and recipients are bit sets of the roles that the only target row of a SANDBOX
	// constraint accepts.
	senders, recipients uint8
	extractor           *measure.Function
	// fillColumn is the column for extracted values, −1 without one.
	fillColumn int
	// template is the content to complete. It is nil if there is none or if it can never be completed.
	template *template
}

// cell is one compiled target cell. The cells of a row are sorted by the cost of comparing them.
type cell struct {
	column  int
	measure ColumnMeasure
	// packMeasure is the pack's measure if measure is PackColumn.
	packMeasure *measure.Function
	value       Value
	tolerance   float64
	target      *rouge.Target
	accepted    []traceTarget
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.nodes) }

// NewGraph returns a compiled graph for scoring, which must be complete. It prepares the parts that
// do not depend on a trajectory.
func NewGraph(compiled *evaluation.Graph) *Graph {
	g := &Graph{schema: compiled.Schema, nodes: make([]node, len(compiled.Nodes)), matched: compiled.Matched}
	for i := range compiled.Nodes {
		source, n := &compiled.Nodes[i], &g.nodes[i]
		n.before = source.Before
		for j := range source.Constraints {
			c := g.constraint(&source.Constraints[j])
			c.number = g.constraintCount
			g.constraintCount++
			if c.measure != Guardrail {
				n.scored++
			}
			n.constraints = append(n.constraints, c)
		}
	}
	for i := range compiled.Nodes {
		g.nodes[i].guards = compiled.Guardrails(i)
		g.nodes[i].dependences = g.dependencesOf(i)
	}
	g.sort()
	return g
}

// constraint prepares a constraint.
func (g *Graph) constraint(source *evaluation.Constraint) constraint {
	c := constraint{
		table: source.Table, measure: source.Measure, packMeasure: source.PackMeasure, reference: source.Reference,
		extractor: source.Extractor, fillColumn: source.FillColumn, template: (*template)(source.Template),
		senders: math.MaxUint8, recipients: math.MaxUint8,
	}
	if c.measure == PackSnapshot {
		c.measure = Snapshot
	}
	for _, row := range source.Target {
		cells := make([]cell, len(row))
		for i := range row {
			cells[i] = g.cell(source, &row[i])
			if c.table == sandbox {
				c.prefilter(&cells[i])
			}
		}
		slices.SortStableFunc(cells, func(a, b cell) int { return cost(a.measure) - cost(b.measure) })
		c.target = append(c.target, cells)
	}
	return c
}

// cell prepares a target cell.
func (g *Graph) cell(constraint *evaluation.Constraint, source *evaluation.Cell) cell {
	c := cell{
		column: source.Column, measure: source.Measure, packMeasure: source.PackMeasure, value: FromProto(source.Value), tolerance: source.Tolerance,
	}
	switch constraint.Measure {
	case Addition, Removal, Update:
		if c.value.IsNull() {
			c.value = nullValue(g.schema.Tables()[constraint.Table].Columns[c.column].Kind)
		}
	}
	if c.measure == RougeL && !c.value.IsNull() {
		c.target = rouge.NewTarget(c.value.text)
	}
	for _, trace := range source.Traces {
		c.accepted = append(c.accepted, traceTarget{tool: trace.Tool, arguments: trace.Arguments, tolerances: trace.Tolerances})
	}
	return c
}

// prefilter sets the roles that a SANDBOX cell accepts.
func (c *constraint) prefilter(cell *cell) {
	if cell.measure != Exact || cell.column != columnSender && cell.column != columnRecipient {
		return
	}
	role, _ := world.ParseRole(cell.value.text) // null is role 0
	if cell.column == columnSender {
		c.senders = 1 << role
	} else {
		c.recipients = 1 << role
	}
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

// sort sorts the nodes topologically and derives each node's neighbours.
func (g *Graph) sort() {
	g.before, g.neighbours = make([]uint64, len(g.nodes)), make([]uint64, len(g.nodes))
	var placed uint64
	var before [maxNodes]uint64
	for placed != g.matched {
		for _, i := range evaluation.List(g.matched &^ placed) {
			if g.nodes[i].before&^placed == 0 {
				g.sorted = append(g.sorted, i)
				placed |= 1 << i
				before[i] = g.nodes[i].before
				for _, p := range evaluation.List(before[i]) {
					before[i] |= before[p]
				}
			}
		}
	}
	for _, i := range g.sorted {
		n := &g.nodes[i]
		n.directBefore = n.before
		for _, p := range evaluation.List(n.before) {
			n.directBefore &^= before[p]
		}
		for _, dep := range n.dependences {
			n.reads |= 1 << dep.node
		}
		g.before[i] = n.before
		g.neighbours[i] |= n.before
		for _, p := range evaluation.List(n.before) {
			g.neighbours[p] |= 1 << i
		}
	}
}

// latest returns the last of the sorted nodes in a set, which must not be empty.
func (g *Graph) latest(set uint64) int {
	if set&(set-1) != 0 {
		for at := len(g.sorted) - 1; at >= 0; at-- {
			if set&(1<<g.sorted[at]) != 0 {
				return g.sorted[at]
			}
		}
	}
	return bits.TrailingZeros64(set)
}
