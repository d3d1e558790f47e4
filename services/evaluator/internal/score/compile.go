package score

import (
	"cmp"
	"errors"
	"math/bits"

	"github.com/toolsandbox/toolsandbox/internal/graphwidth"
	"github.com/toolsandbox/toolsandbox/internal/measure"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/rouge"
)

// maxNodes is how many nodes a graph may have.
const maxNodes = graphwidth.MaxNodes

// noReference marks a constraint without a reference.
const noReference = -2

// tableSet is a set of places in a schema, one bit each.
type tableSet uint64

func (s tableSet) has(place int) bool        { return s&(1<<place) != 0 }
func (s tableSet) with(place int) tableSet   { return s | 1<<place }
func (s tableSet) union(t tableSet) tableSet { return s | t }

// AutomaticGuardrail is added to a node by Compile: the table must be at the match as it is at the
// reference.
type AutomaticGuardrail struct {
	// Table names what must be equal.
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
	// sorted are the nodes that take part, each behind all that must be matched before it.
	sorted []int
	// before are the nodes that must be matched before each, near these and those that it must be
	// matched before.
	before, near []uint64
	// slots is the number of constraints, which are numbered through.
	slots int
}

// node is one compiled node.
type node struct {
	constraints []constraint
	guards      []guardrail
	// scored is the number of constraints that are no guardrails: the degree of the root.
	scored int
	// before are the nodes that must be matched earlier, for an edge or for a reference.
	before uint64
	// above are the nodes of before that are not before another one of it, reads those that needs
	// lists.
	above, reads uint64
	// needs are the tables that this node compares with their state at another node's match.
	needs []need
}

// need is what a node looks at where another one is matched.
type need struct {
	node int
	// compared are the tables of constraints, tables these and those of automatic guardrails.
	compared, tables tableSet
}

// guardrail is an AutomaticGuardrail with the place of its table.
type guardrail struct{ table, reference int }

// constraint is one compiled constraint.
type constraint struct {
	table   int // place in the schema
	measure SnapshotMeasure
	// own compares the version in place of measure, which is then Snapshot; nil for built-in ones.
	own       *measure.Function
	reference int
	slot      int
	target    [][]cell
	// senders and recipients are the roles that the only target row of a SANDBOX constraint
	// accepts, one bit each.
	senders, recipients uint8
	extractor           *extractor
	// fill is the column that extracted values complete, −1 if the target has none.
	fill int
	// template is the content to complete, nil if there is none or nothing can complete it.
	template   *template
	tolerances map[string]float64
}

// cell is one compiled target cell. The cells of a row stand in the order in which they are
// cheapest to compare.
type cell struct {
	column  int
	measure ColumnMeasure
	// own compares the cell if measure is OwnColumn.
	own       *measure.Function
	value     Value
	tolerance float64
	target    *rouge.Target
	accepted  []wanted
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.nodes) }

// Guardrails returns what was added automatically to a node, by reference and table. The result is
// the caller's.
func (g *Graph) Guardrails(node int) []AutomaticGuardrail {
	var guards []AutomaticGuardrail
	for _, guard := range g.nodes[node].guards {
		guards = append(guards, AutomaticGuardrail{Table: g.schema.Tables()[guard.table].Name, Reference: guard.reference})
	}
	return guards
}

// Compile checks a definition, derives the automatic guardrails and prepares everything that does
// not depend on a trajectory. Its error joins one *DefinitionError per mistake.
func Compile(definition Definition) (*Graph, error) {
	check := &checker{name: definition.Name}
	graph := &Graph{schema: cmp.Or(definition.Schema, world.Builtin()), measures: definition.Measures, nodes: make([]node, len(definition.Nodes))}
	if len(definition.Nodes) > maxNodes {
		check.add(-1, -1, "", "%d nodes, at most %d are allowed", len(definition.Nodes), maxNodes)
		return nil, errors.Join(check.errors...)
	}
	graph.checkMeasures(check)
	for i := range definition.Nodes {
		compiled := &graph.nodes[i]
		if len(definition.Nodes[i].Constraints) == 0 {
			check.add(i, -1, "constraints", "empty")
		}
		for _, table := range definition.Nodes[i].Guard.Tables {
			if graph.schema.Place(table) < 0 {
				check.add(i, -1, "guard.tables", "unknown table %q", table)
			}
		}
		for j := range definition.Nodes[i].Constraints {
			c := constraintCompiler{check: check, schema: graph.schema, measures: graph.measures, node: i, at: j, nodes: len(definition.Nodes)}
			result := c.compile(&definition.Nodes[i].Constraints[j])
			result.slot = graph.slots
			graph.slots++
			if result.measure != Guardrail {
				compiled.scored++
			}
			compiled.constraints = append(compiled.constraints, result)
		}
	}
	direct := graph.order(check, definition.Edges)
	graph.checkWidth(check, direct)
	if len(check.errors) > 0 {
		return nil, errors.Join(check.errors...)
	}
	for i := range graph.nodes {
		graph.nodes[i].guards = graph.guard(i, direct[i], &definition.Nodes[i].Guard)
		graph.nodes[i].needs = graph.needed(i)
	}
	graph.arrange()
	return graph, nil
}

// checkMeasures notes columns whose default measure cannot compare their cells.
func (g *Graph) checkMeasures(check *checker) {
	for _, table := range g.schema.Tables() {
		for _, column := range table.Columns {
			if own := g.measures.Find(column.Measure, measure.Cells); (own == nil || !own.Takes(column.Kind)) && !suits(measureOf(column.Measure), column.Kind) {
				check.add(-1, -1, "", "schema: %s.%s: measure %q does not compare a %v", table.Name, column.Name, column.Measure, column.Kind)
			}
		}
	}
}

// order sets which nodes take part and what comes before each, and returns the direct predecessors
// by the author's edges.
func (g *Graph) order(check *checker, edges []Edge) []uint64 {
	direct := make([]uint64, len(g.nodes))
	if len(g.nodes) == 1 {
		g.matched = 1
	}
	for i, edge := range edges {
		if edge.Before < 0 || edge.Before >= len(g.nodes) || edge.After < 0 || edge.After >= len(g.nodes) {
			check.add(-1, -1, "edges", "edge %d refers to an unknown node: %d, %d", i, edge.Before, edge.After)
			continue
		}
		g.matched |= 1<<edge.Before | 1<<edge.After
		direct[edge.After] |= 1 << edge.Before
	}
	for i := range g.nodes {
		g.nodes[i].before = direct[i]
	}
	if rest := g.unordered(); rest != 0 {
		check.add(-1, -1, "edges", "cycle through nodes %v", list(rest))
		return direct
	}
	g.orderReferences(check, direct)
	return direct
}

// orderReferences lets references come first, and notes those that can never be matched.
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
	rest := g.unordered()
	for _, i := range list(rest) {
		for j, c := range g.nodes[i].constraints {
			if c.reference >= 0 && rest&(1<<c.reference) != 0 {
				check.add(i, j, "reference", "nodes %v wait for each other", list(rest))
			}
		}
	}
}

// unordered returns the nodes that lie on a cycle or behind one.
func (g *Graph) unordered() uint64 {
	rest := g.matched
	for {
		before := rest
		for _, i := range list(rest) {
			if g.nodes[i].before&rest == 0 {
				rest &^= 1 << i
			}
		}
		if rest == before {
			return rest
		}
	}
}

// descendants returns for each node those that come after it, for an order without a cycle.
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

// list returns the numbers in a set, ascending.
func list(set uint64) []int {
	numbers := make([]int, 0, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		numbers = append(numbers, bits.TrailingZeros64(set))
	}
	return numbers
}
