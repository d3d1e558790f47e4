package evaluation

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// NodeSet is a set of nodes by their numbers.
type NodeSet = uint64

// List returns the numbers in a set in ascending order.
func List(set NodeSet) []int {
	numbers := make([]int, 0, bits.OnesCount64(set))
	for ; set != 0; set &= set - 1 {
		numbers = append(numbers, bits.TrailingZeros64(set))
	}
	return numbers
}

// order checks edges and references, and sets which nodes take part and which precede each.
func (c *checker) order() {
	nodes := c.graph.Nodes
	if !c.edges() {
		return
	}
	for i := range nodes {
		if len(nodes) == 1 || nodes[i].Direct != 0 {
			c.graph.Matched |= 1 << i
		}
		c.graph.Matched |= nodes[i].Direct
	}
	if cycle := FindCycle(c.source); cycle != nil {
		c.cycle(cycle)
		return
	}
	for i := range nodes {
		if c.graph.Matched&(1<<i) == 0 {
			c.warn(fmt.Sprintf("nodes[%d]", i), "has no edge, so it is never matched")
		}
	}
	c.references()
	if !slices.ContainsFunc(c.problems, func(p Problem) bool { return !p.Scored }) {
		c.checkWidth()
	}
}

// edges sets the nodes directly before each. It reports whether all edges are valid.
func (c *checker) edges() bool {
	count, valid := len(c.graph.Nodes), true
	for i, edge := range c.source.GetEdges() {
		from, to := int(edge.GetBefore()), int(edge.GetAfter())
		if from < 0 || to < 0 || from >= count || to >= count {
			c.fail(fmt.Sprintf("edges[%d]", i), "leads from %d to %d, expected numbers below %d", from, to, count)
			valid = false
			continue
		}
		c.graph.Nodes[to].Direct |= 1 << from
	}
	return valid
}

// cycle records a cycle at its last edge.
func (c *checker) cycle(cycle []int) {
	names := make([]string, len(cycle))
	for i, node := range cycle {
		names[i] = c.nodeText(node)
	}
	at := slices.IndexFunc(c.source.GetEdges(), func(edge *evaluationv1.Edge) bool {
		return int(edge.GetBefore()) == cycle[len(cycle)-2] && int(edge.GetAfter()) == cycle[len(cycle)-1]
	})
	c.fail(fmt.Sprintf("edges[%d]", at), "the order has a cycle: %s", strings.Join(names, " before "))
}

// references makes the nodes to which a node refers predecessors of it. Scoring needs an order in
// which each is matched before. An author should write it as edges.
func (c *checker) references() {
	nodes := c.graph.Nodes
	earlier := c.earlier()
	for i := range nodes {
		nodes[i].Before = nodes[i].Direct
		for _, constraint := range nodes[i].Constraints {
			r := constraint.Reference
			if r >= 0 && r != i && c.graph.Matched&(1<<i) != 0 && c.graph.Matched&(1<<r) != 0 && earlier[r]&(1<<i) == 0 {
				nodes[i].Before |= 1 << r
			}
		}
	}
	waiting := c.graph.unordered()
	for i := range nodes {
		for j, constraint := range nodes[i].Constraints {
			r := constraint.Reference
			at := fmt.Sprintf("nodes[%d].constraints[%d].reference", i, j)
			switch matched := c.graph.Matched&(1<<i) != 0; {
			case r < 0 || earlier[i]&(1<<r) != 0:
			case r == i:
				c.fail(at, "%q refers to itself", c.nodeText(i))
			default:
				scored := !matched || c.graph.Matched&(1<<r) != 0 && earlier[r]&(1<<i) == 0 && waiting&(1<<r) == 0
				c.problems = append(c.problems, Problem{at, fmt.Sprintf("%q does not come before %q, so there would be nothing to refer to; name it in after",
					c.nodeText(r), c.nodeText(i)), scored})
			}
		}
	}
}

// earlier returns the nodes before each node by edges, directly or not. The edges have no cycle.
func (c *checker) earlier() []NodeSet {
	earlier := make([]NodeSet, len(c.graph.Nodes))
	for changed := true; changed; {
		changed = false
		for i, node := range c.graph.Nodes {
			set := node.Direct
			for _, p := range List(node.Direct) {
				set |= earlier[p]
			}
			if set != earlier[i] {
				earlier[i], changed = set, true
			}
		}
	}
	return earlier
}

// unordered returns the nodes on a cycle of edges and references, or after one.
func (g *Graph) unordered() NodeSet {
	remaining := g.Matched
	for {
		before := remaining
		for _, i := range List(remaining) {
			if g.Nodes[i].Before&remaining == 0 {
				remaining &^= 1 << i
			}
		}
		if remaining == before {
			return remaining
		}
	}
}

// FindCycle returns the nodes of a shortest cycle of edges from its first node to the same, nil
// without one. The edges must be valid.
func FindCycle(graph *evaluationv1.Graph) []int {
	next := make([][]int, len(graph.GetNodes()))
	for _, edge := range graph.GetEdges() {
		next[edge.GetBefore()] = append(next[edge.GetBefore()], int(edge.GetAfter()))
	}
	for start := range next {
		from := slices.Repeat([]int{-1}, len(next)) // predecessor of each node, -1 if not yet reached
		queue := []int{start}
		for len(queue) > 0 && from[start] < 0 {
			node := queue[0]
			queue = queue[1:]
			for _, to := range next[node] {
				if from[to] < 0 {
					from[to] = node
					queue = append(queue, to)
				}
			}
		}
		if from[start] < 0 {
			continue
		}
		cycle := []int{start}
		for at := from[start]; at != start; at = from[at] {
			cycle = append(cycle, at)
		}
		cycle = append(cycle, start)
		slices.Reverse(cycle)
		return cycle
	}
	return nil
}
