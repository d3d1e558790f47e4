package score

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/graphwidth"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/ported/rouge"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// maxNodes is the maximum number of nodes of a graph.
const maxNodes = graphwidth.MaxNodes

// noReference marks a constraint without a reference.
const noReference = -2

// tableSet is a bit set of table indices in a schema.
type tableSet uint64

func (s tableSet) has(table int) bool        { return s&(1<<table) != 0 }
func (s tableSet) with(table int) tableSet   { return s | 1<<table }
func (s tableSet) union(t tableSet) tableSet { return s | t }

// AutomaticGuardrail is a guardrail that Compile adds to a node: the table must be the same at the
// match and at the reference.
type AutomaticGuardrail struct {
	// Table is the name of the table.
	Table string
	// Reference is a node number or FirstUserMessage.
	Reference int
}

// Graph is a compiled Definition. It is immutable and safe for concurrent use.
type Graph struct {
	schema   *world.Schema
	measures *measure.Set
	nodes    []node
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
	guards      []guardrail
	// scored is the number of constraints other than guardrails: the degree of the root.
	scored int
	// before are the nodes that must be matched earlier because of an edge or a reference.
	before uint64
	// directBefore are the nodes of before that precede no other node of it. reads are the nodes of
	// dependences.
	directBefore, reads uint64
	// dependences are the tables that this node compares with their state at another node's match.
	dependences []dependence
}

// dependence is the tables that a node compares with their state at another node's match.
type dependence struct {
	node int
	// compared are the tables of constraints. tables adds those of automatic guardrails.
	compared, tables tableSet
}

// guardrail is an AutomaticGuardrail with the index of its table.
type guardrail struct{ table, reference int }

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

// Guardrails returns the automatic guardrails of a node by reference and table. The caller owns the
// result.
func (g *Graph) Guardrails(node int) []AutomaticGuardrail {
	var guards []AutomaticGuardrail
	for _, guard := range g.nodes[node].guards {
		guards = append(guards, AutomaticGuardrail{Table: g.schema.Tables()[guard.table].Name, Reference: guard.reference})
	}
	return guards
}

// Compile checks a definition, derives the automatic guardrails and prepares the parts that do not
// depend on a trajectory. The error joins one *DefinitionError per mistake.
func Compile(definition Definition) (*Graph, error) {
	check := &checker{name: definition.Name}
	graph := &Graph{schema: cmp.Or(definition.Schema, world.Builtin()), measures: definition.Measures, nodes: make([]node, len(definition.Graph.GetNodes()))}
	if len(graph.nodes) > maxNodes {
		check.add(-1, -1, "", "%d nodes, at most %d are allowed", len(graph.nodes), maxNodes)
		return nil, errors.Join(check.errors...)
	}
	graph.checkMeasures(check)
	for i, node := range definition.Graph.GetNodes() {
		compiled := &graph.nodes[i]
		if len(node.GetConstraints()) == 0 {
			check.add(i, -1, "constraints", "empty")
		}
		for _, table := range slices.Concat(node.GetGuardrailTables(), node.GetUnguardedTables()) {
			if graph.schema.TableIndex(table) < 0 {
				check.add(i, -1, "guard.tables", "unknown table %q", table)
			}
		}
		for j, source := range node.GetConstraints() {
			c := constraintCompiler{check: check, schema: graph.schema, measures: graph.measures, node: i, index: j, nodes: len(graph.nodes)}
			result := c.compile(source)
			result.number = graph.constraintCount
			graph.constraintCount++
			if result.measure != Guardrail {
				compiled.scored++
			}
			compiled.constraints = append(compiled.constraints, result)
		}
	}
	direct := graph.order(check, definition.Graph.GetEdges())
	graph.checkWidth(check, direct)
	if len(check.errors) > 0 {
		return nil, errors.Join(check.errors...)
	}
	for i := range graph.nodes {
		graph.nodes[i].guards = graph.deriveGuardrails(i, direct[i], definition.Graph.GetNodes()[i])
		graph.nodes[i].dependences = graph.dependencesOf(i)
	}
	graph.sort()
	return graph, nil
}

// checkMeasures records columns whose default measure cannot compare their cells.
func (g *Graph) checkMeasures(check *checker) {
	for _, table := range g.schema.Tables() {
		for _, column := range table.Columns {
			if fn := g.measures.Find(column.Measure, measure.Cells); (fn == nil || !fn.Accepts(column.Kind)) && !supports(measureOf(column.Measure), column.Kind) {
				check.add(-1, -1, "", "schema: %s.%s: measure %q does not compare a %v", table.Name, column.Name, column.Measure, column.Kind)
			}
		}
	}
}

// order sets which nodes take part and which precede each. It returns the direct predecessors by
// the author's edges.
func (g *Graph) order(check *checker, edges []*evaluationv1.Edge) []uint64 {
	direct := make([]uint64, len(g.nodes))
	if len(g.nodes) == 1 {
		g.matched = 1
	}
	for i, edge := range edges {
		before, after := int(edge.GetBefore()), int(edge.GetAfter())
		if before < 0 || before >= len(g.nodes) || after < 0 || after >= len(g.nodes) {
			check.add(-1, -1, "edges", "edge %d refers to an unknown node: %d, %d", i, before, after)
			continue
		}
		g.matched |= 1<<before | 1<<after
		direct[after] |= 1 << before
	}
	for i := range g.nodes {
		g.nodes[i].before = direct[i]
	}
	if unordered := g.unordered(); unordered != 0 {
		check.add(-1, -1, "edges", "cycle through nodes %v", list(unordered))
		return direct
	}
	g.orderReferences(check, direct)
	return direct
}

// orderReferences makes references predecessors, and records those that can never be matched.
func (g *Graph) orderReferences(check *checker, direct []uint64) {
	later := descendants(direct)
	for i := range g.nodes {
		if g.matched&(1<<i) == 0 {
			continue
		}
		for j, c := range g.nodes[i].constraints {
			switch r := c.reference; {
			case r < 0 || r >= len(g.nodes):
			case r == i:
				check.add(i, j, "reference", "node %d refers to itself", r)
			case g.matched&(1<<r) == 0:
				check.add(i, j, "reference", "node %d is never matched: no edge mentions it", r)
			case later[i]&(1<<r) != 0:
				check.add(i, j, "reference", "node %d is only matched after node %d", r, i)
			default:
				g.nodes[i].before |= 1 << r
			}
		}
	}
	unordered := g.unordered()
	for _, i := range list(unordered) {
		for j, c := range g.nodes[i].constraints {
			if c.reference >= 0 && unordered&(1<<c.reference) != 0 {
				check.add(i, j, "reference", "nodes %v wait for each other", list(unordered))
			}
		}
	}
}

// unordered returns the nodes on a cycle or after one.
func (g *Graph) unordered() uint64 {
	remaining := g.matched
	for {
		before := remaining
		for _, i := range list(remaining) {
			if g.nodes[i].before&remaining == 0 {
				remaining &^= 1 << i
			}
		}
		if remaining == before {
			return remaining
		}
	}
}

// descendants returns the later nodes of each node in an acyclic order.
func descendants(direct []uint64) []uint64 {
	later := make([]uint64, len(direct))
	for changed := true; changed; {
		changed = false
		for i, before := range direct {
			for _, p := range list(before) {
				if merged := later[p] | 1<<i | later[i]; merged != later[p] {
					later[p], changed = merged, true
				}
			}
		}
	}
	return later
}

// list returns the numbers in a set in ascending order.
func list(set uint64) []int {
	numbers := make([]int, 0, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		numbers = append(numbers, bits.TrailingZeros64(set))
	}
	return numbers
}
