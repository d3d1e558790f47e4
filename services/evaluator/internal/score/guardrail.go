package score

import (
	"math/bits"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// deriveGuardrails derives the guardrails of node i: for each of its references and direct
// predecessors, every table that no ordinary constraint of the node, its references or its
// predecessors names.
func (g *Graph) deriveGuardrails(i int, source *evaluation.Node) []guardrail {
	candidates := g.candidates(source.Source)
	var references uint64
	first := false
	named := g.nodes[i].constrainedTables()
	for _, c := range g.nodes[i].constraints {
		switch {
		case c.reference >= 0:
			references |= 1 << c.reference
		case c.reference == FirstUserMessage:
			first = true
			named = named.union(g.nodes[len(g.nodes)-1].constrainedTables())
		}
	}
	references |= source.Direct
	for _, r := range evaluation.List(references) {
		named = named.union(g.nodes[r].constrainedTables())
	}
	var guards []guardrail
	add := func(reference int) {
		for _, t := range evaluation.List(uint64(candidates &^ named)) {
			guards = append(guards, guardrail{table: t, reference: reference})
		}
	}
	if first {
		add(FirstUserMessage)
	}
	for _, r := range evaluation.List(references) {
		add(r)
	}
	return guards
}

// candidates returns the tables that may have guardrails. A listed SANDBOX has no effect.
func (g *Graph) candidates(source *evaluationv1.Node) tableSet {
	stored := tableSet(1)<<len(g.schema.Tables()) - 1 - 1<<sandbox
	set := func(names []string) (tables tableSet) {
		for _, name := range names {
			tables = tables.with(g.schema.TableIndex(name))
		}
		return tables
	}
	if source.GetRestrictGuardrails() {
		return stored & set(source.GetGuardrailTables())
	}
	return stored &^ set(source.GetUnguardedTables())
}

// constrainedTables returns the tables of the node's ordinary constraints.
func (n *node) constrainedTables() tableSet {
	var tables tableSet
	for i := range n.constraints {
		if n.constraints[i].measure != Guardrail {
			tables = tables.with(n.constraints[i].table)
		}
	}
	return tables
}

// dependencesOf returns the tables that node i compares with their state at other nodes' matches.
func (g *Graph) dependencesOf(i int) []dependence {
	var compared, tables [maxNodes]tableSet
	var nodes uint64
	for _, c := range g.nodes[i].constraints {
		if c.measure != Snapshot && c.reference >= 0 {
			nodes |= 1 << c.reference
			compared[c.reference] = compared[c.reference].with(c.table)
		}
	}
	for _, guard := range g.nodes[i].guards {
		if guard.reference >= 0 {
			nodes |= 1 << guard.reference
			tables[guard.reference] = tables[guard.reference].with(guard.table)
		}
	}
	needs := make([]dependence, 0, bits.OnesCount64(nodes))
	for _, r := range evaluation.List(nodes) {
		needs = append(needs, dependence{node: r, compared: compared[r], tables: tables[r].union(compared[r])})
	}
	return needs
}
