package score

import (
	"errors"
	"math/bits"

	"github.com/toolsandbox/toolsandbox/internal/graphwidth"
)

// checkWidth records a graph that needs too much work to match. It ignores graphs with other
// mistakes.
func (g *Graph) checkWidth(check *checker, direct []uint64) {
	if len(check.errors) > 0 {
		return
	}
	nodes := make([]graphwidth.Node, len(g.nodes))
	for _, i := range list(g.matched) {
		nodes[i].After = direct[i]
		for _, c := range g.nodes[i].constraints {
			if c.reference >= 0 {
				nodes[i].References |= 1 << c.reference
			}
		}
	}
	var widthErr *graphwidth.Error
	if errors.As(graphwidth.Check(nodes), &widthErr) {
		check.add(widthErr.Node, -1, "", "%v", widthErr)
	}
}

// sort sorts the nodes topologically and derives each node's neighbours.
func (g *Graph) sort() {
	g.before, g.neighbours = make([]uint64, len(g.nodes)), make([]uint64, len(g.nodes))
	var placed uint64
	var before [maxNodes]uint64
	for placed != g.matched {
		for _, i := range list(g.matched &^ placed) {
			if g.nodes[i].before&^placed == 0 {
				g.sorted = append(g.sorted, i)
				placed |= 1 << i
				before[i] = g.nodes[i].before
				for _, p := range list(before[i]) {
					before[i] |= before[p]
				}
			}
		}
	}
	for _, i := range g.sorted {
		n := &g.nodes[i]
		n.directBefore = n.before
		for _, p := range list(n.before) {
			n.directBefore &^= before[p]
		}
		for _, dep := range n.dependences {
			n.reads |= 1 << dep.node
		}
		g.before[i] = n.before
		g.neighbours[i] |= n.before
		for _, p := range list(n.before) {
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
