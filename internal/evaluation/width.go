package evaluation

import (
	"fmt"
	"math/bits"
)

const (
	// MaxNodes is the largest number of nodes of a graph.
	MaxNodes = 64
	// maxWidth is the largest accepted width.
	maxWidth = 10
)

// checkWidth records a graph that needs too much work to match. The width is the state that
// matching has to keep at once, which is the exponent of its running time.
func (c *checker) checkWidth() {
	nodes := make([]dependences, len(c.graph.Nodes))
	for _, i := range List(c.graph.Matched) {
		nodes[i].after = c.graph.Nodes[i].Direct
		for _, constraint := range c.graph.Nodes[i].Constraints {
			if constraint.Reference >= 0 {
				nodes[i].references |= 1 << constraint.Reference
			}
		}
	}
	if node, width := widest(nodes); width > maxWidth {
		c.fail(fmt.Sprintf("nodes[%d]", node), "too many references cross each other: the matches of %d nodes would have to be tried together, at most %d are; "+
			"refer to a node directly before or to the start, or split the graph into chains", width, maxWidth)
	}
}

// dependences are the predecessors of a node, and the nodes to which its constraints refer.
type dependences struct{ after, references NodeSet }

// widest returns the maximal number of matched nodes that matching has to distinguish at once, and
// the node at which that happens. Matching branches on one node at a time: in each connected
// component on the node without predecessor that has most neighbours. Components in which each node
// depends on at most one other need no branching, so their width is 0.
func widest(nodes []dependences) (node, width int) {
	g := measuredGraph{before: make([]uint64, len(nodes)), neighbours: make([]uint64, len(nodes)), nodes: nodes}
	for i, n := range nodes {
		g.before[i] = n.after | n.references
		g.neighbours[i] |= g.before[i]
		for set := g.before[i]; set != 0; set &= set - 1 {
			g.neighbours[bits.TrailingZeros64(set)] |= 1 << i
		}
	}
	g.node = -1
	g.split(1<<len(nodes) - 1)
	return g.node, g.width
}

// measuredGraph is a graph under measurement.
type measuredGraph struct {
	nodes              []dependences
	before, neighbours []uint64
	node, width        int
}

// split measures the connected components of a set.
func (g *measuredGraph) split(set uint64) {
	for set != 0 {
		component := Connected(g.neighbours, set)
		set &^= component
		if g.forest(component) {
			continue
		}
		i := Branch(g.before, g.neighbours, component)
		if width := 1 + g.dependencies(component); width > g.width {
			g.node, g.width = i, width
		}
		g.split(component &^ (1 << i))
	}
}

// forest reports whether each node of a component depends on at most one other.
func (g *measuredGraph) forest(component uint64) bool {
	for set := component; set != 0; set &= set - 1 {
		if open := g.before[bits.TrailingZeros64(set)] & component; open&(open-1) != 0 {
			return false
		}
	}
	return true
}

// dependencies returns the number of facts about matched nodes that a component depends on: each
// reference, and for each set of predecessors the time of the last match and the tables on which
// they agree.
func (g *measuredGraph) dependencies(component uint64) int {
	var outside, references uint64
	groups := make(map[uint64]struct{})
	for set := component; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		outside |= g.before[i] &^ component
		references |= g.nodes[i].references &^ component
		if before := g.before[i] &^ component; before != 0 {
			groups[before] = struct{}{}
		}
	}
	return min(bits.OnesCount64(outside), bits.OnesCount64(references)+len(groups))
}

// Connected returns the connected component of the lowest node of a set. neighbours are those of
// each node.
func Connected(neighbours []uint64, set uint64) uint64 {
	reached := uint64(0)
	for fresh := set & -set; fresh != 0; {
		i := bits.TrailingZeros64(fresh)
		reached |= 1 << i
		fresh = (fresh | neighbours[i]&set) &^ reached
	}
	return reached
}

// Branch returns the node of a set to branch on: among those without predecessor in the set the one
// with most neighbours, then the lowest. It returns −1 if there is none.
func Branch(before, neighbours []uint64, set uint64) int {
	best, maxNeighbours := -1, -1
	for remaining := set; remaining != 0; remaining &= remaining - 1 {
		i := bits.TrailingZeros64(remaining)
		if before[i]&set != 0 {
			continue
		}
		if count := bits.OnesCount64(neighbours[i] & set); count > maxNeighbours {
			best, maxNeighbours = i, count
		}
	}
	return best
}
