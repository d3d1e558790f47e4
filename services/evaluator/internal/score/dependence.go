package score

import (
	"math/bits"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
)

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
		if guard.Reference >= 0 {
			nodes |= 1 << guard.Reference
			tables[guard.Reference] = tables[guard.Reference].with(guard.Table)
		}
	}
	needs := make([]dependence, 0, bits.OnesCount64(nodes))
	for _, r := range evaluation.List(nodes) {
		needs = append(needs, dependence{node: r, compared: compared[r], tables: tables[r].union(compared[r])})
	}
	return needs
}
