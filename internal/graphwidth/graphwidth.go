// Package graphwidth measures how much of a scoring graph must be kept in mind at once while it is
// matched: the part of the work that grows with powers of the number of messages. Who loads
// scenarios and who scores them refuse the same graphs by it.
package graphwidth

import (
	"fmt"
	"math/bits"
)

const (
	// MaxNodes is how many nodes a graph may have.
	MaxNodes = 64
	// MaxWidth is the width that a graph may have.
	MaxWidth = 10
)

// Node says what a node of a graph without circles depends on.
type Node struct {
	// After are the nodes that an edge puts before this one, References those that its constraints
	// refer to; one bit each.
	After, References uint64
}

// Error says that a graph is too tangled.
type Error struct {
	// Node is the node at which most must be kept in mind.
	Node int
	// Width is how much that is.
	Width int
}

// Error returns what is wrong and what helps.
func (e *Error) Error() string {
	return fmt.Sprintf("too many references cross each other: the matches of %d nodes would have to be tried together, at most %d are; "+
		"refer to a node directly before or to the start, or split the graph into chains", e.Width, MaxWidth)
}

// Check returns an *Error if the graph's width exceeds MaxWidth, else nil. There may be at most
// MaxNodes nodes.
func Check(nodes []Node) error {
	if node, width := Width(nodes); width > MaxWidth {
		return &Error{Node: node, Width: width}
	}
	return nil
}

// Width returns how many matched nodes must be told apart at once when nodes are tried one by one,
// in each connected part the one with most neighbours of those that wait for no other; and the node
// that is tried then. Parts in which each node depends on one other at most need no trying: where
// all are like that the width is 0.
func Width(nodes []Node) (node, width int) {
	g := graph{before: make([]uint64, len(nodes)), near: make([]uint64, len(nodes)), nodes: nodes}
	for i, n := range nodes {
		g.before[i] = n.After | n.References
		g.near[i] |= g.before[i]
		for set := g.before[i]; set != 0; set &= set - 1 {
			g.near[bits.TrailingZeros64(set)] |= 1 << i
		}
	}
	g.node = -1
	g.split(1<<len(nodes) - 1)
	return g.node, g.width
}

// graph is a graph under measurement.
type graph struct {
	nodes        []Node
	before, near []uint64
	node, width  int
}

// split measures the connected parts of a set.
func (g *graph) split(set uint64) {
	for set != 0 {
		part := Connected(g.near, set)
		set &^= part
		if g.forest(part) {
			continue
		}
		i := Branch(g.before, g.near, part)
		if width := 1 + g.seen(part); width > g.width {
			g.node, g.width = i, width
		}
		g.split(part &^ (1 << i))
	}
}

// forest reports whether each node of a part depends on one other node of it at most.
func (g *graph) forest(part uint64) bool {
	for set := part; set != 0; set &= set - 1 {
		if open := g.before[bits.TrailingZeros64(set)] & part; open&(open-1) != 0 {
			return false
		}
	}
	return true
}

// seen returns how many things about matched nodes the nodes of a part depend on: each reference
// for itself, and for each set of predecessors when the last of them was matched and the tables
// that they agree on.
func (g *graph) seen(part uint64) int {
	var outside, references uint64
	groups := make(map[uint64]struct{})
	for set := part; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		outside |= g.before[i] &^ part
		references |= g.nodes[i].References &^ part
		if before := g.before[i] &^ part; before != 0 {
			groups[before] = struct{}{}
		}
	}
	return min(bits.OnesCount64(outside), bits.OnesCount64(references)+len(groups))
}

// Connected returns the lowest node of a set with all that can be reached from it in the set; near
// are each node's neighbours.
func Connected(near []uint64, set uint64) uint64 {
	reached := uint64(0)
	for fresh := set & -set; fresh != 0; {
		i := bits.TrailingZeros64(fresh)
		reached |= 1 << i
		fresh = (fresh | near[i]&set) &^ reached
	}
	return reached
}

// Branch returns the node of a set to try first: of those that wait for no other of the set the one
// with most neighbours in it, and of these the lowest; −1 if all wait.
func Branch(before, near []uint64, set uint64) int {
	best, most := -1, -1
	for rest := set; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if before[i]&set != 0 {
			continue
		}
		if count := bits.OnesCount64(near[i] & set); count > most {
			best, most = i, count
		}
	}
	return best
}
