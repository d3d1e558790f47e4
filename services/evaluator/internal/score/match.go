package score

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// margin is the difference below which two sums of similarities count as equal, above the rounding of a sum and below
// any difference between 32-bit similarities.
const margin = 1e-12

// unknown marks a similarity that was not evaluated yet.
const unknown = -1

// matcher finds the best matching of one graph in one world. at holds the matched index of the nodes in the current
// partial matching; what a method calls open, done or left refers to that.
type matcher struct {
	*world
	graph *Graph
	// count is the number of candidate indices: first, first+1, …
	count int
	at    [maxNodes]int
	// similar caches constraint similarities by slot, then by place: see place.
	similar [][]float64
	// bound[node*count+i] is what the node can reach at most at candidate i or later, upper at candidate i.
	bound, upper []float64
	solved       map[string]step
	key          []byte
	candidates   []candidate
}

// step is the best continuation of a partial matching: a node, where it is matched, and the sum of all similarities from
// there on.
type step struct {
	value float64
	node  int32
	index int32
}

// candidate is a node that could be matched next, at an index.
type candidate struct {
	similarity float64
	node       int32
	index      int32
}

// better orders candidates as they are tried: best similarity first, then lower node, then lower index.
func better(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.node, b.node), cmp.Compare(a.index, b.index))
}

// newMatcher prepares matching. The world must have a first user message.
func newMatcher(w *world, g *Graph) *matcher {
	m := &matcher{world: w, graph: g, count: len(w.trajectory.Messages) - w.first}
	m.similar = make([][]float64, g.slots)
	m.bound = make([]float64, len(g.nodes)*m.count)
	m.upper = make([]float64, len(g.nodes)*m.count)
	for _, i := range list(g.matched) {
		best := 0.0
		for offset := m.count - 1; offset >= 0; offset-- {
			upper := m.limit(&g.nodes[i], w.first+offset)
			best = max(best, upper)
			m.upper[i*m.count+offset], m.bound[i*m.count+offset] = upper, best
		}
	}
	return m
}

// match returns the index of each node, −1 where it is not matched.
func (m *matcher) match() []int {
	indices := make([]int, len(m.graph.nodes))
	for i := range indices {
		indices[i] = -1
	}
	left, last := m.graph.matched, m.first
	for left != 0 {
		next := m.solve(left, last)
		m.at[next.node], indices[next.node] = int(next.index), int(next.index)
		left &^= 1 << next.node
		last = int(next.index)
	}
	return indices
}

// solve returns the best continuation where the nodes of left are not matched yet and last is the last matched index.
func (m *matcher) solve(left uint64, last int) step {
	if left == 0 {
		return step{}
	}
	single := left&(left-1) == 0
	if !single {
		if known, ok := m.solved[string(m.state(left, last))]; ok {
			return known
		}
	}
	start := len(m.candidates)
	m.collect(left, last)
	best := m.choose(left, last, start)
	m.candidates = m.candidates[:start]
	if !single {
		if m.solved == nil {
			m.solved = make(map[string]step)
		}
		m.solved[string(m.state(left, last))] = best
	}
	return best
}

// sortAfter is how many candidates are picked one by one before the others are sorted.
const sortAfter = 4

// choose tries the candidates from start on in their order and returns the first of the best.
func (m *matcher) choose(left uint64, last, start int) step {
	total := m.reach(left, last)
	best := step{value: unknown}
	for picked := 0; start+picked < len(m.candidates); picked++ {
		rest := m.candidates[start+picked:]
		switch {
		case picked < sortAfter:
			first := 0
			for i := range rest {
				if better(rest[i], rest[first]) < 0 {
					first = i
				}
			}
			rest[0], rest[first] = rest[first], rest[0]
		case picked == sortAfter:
			slices.SortFunc(rest, better)
		}
		c := rest[0]
		after := left &^ (1 << c.node)
		if c.similarity+m.reach(after, int(c.index)) <= best.value+margin {
			continue
		}
		m.at[c.node] = int(c.index)
		if value := c.similarity + m.solve(after, int(c.index)).value; value > best.value+margin {
			best = step{value: value, node: c.node, index: c.index}
		}
		if best.value+margin >= total {
			break
		}
	}
	return best
}

// collect appends the candidates for the next step that can be best. Left out are those that follow on one of the same
// node with at least their similarity, at an earlier index where the nodes left see the same versions: whatever continues
// the later one continues the earlier one, which is tried before.
func (m *matcher) collect(left uint64, last int) {
	for set := left; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		n := &m.graph.nodes[i]
		if n.before&left != 0 {
			continue
		}
		seen := m.read(left, i)
		best := float64(unknown)
		for index := last; index < m.first+m.count; index++ {
			if index > last && !m.alike(seen, index-1, index) {
				best = unknown
			}
			similarity := 0.0
			if m.upper[i*m.count+index-m.first] > 0 {
				similarity = m.node(n, index)
			}
			if similarity > best {
				best = similarity
				m.candidates = append(m.candidates, candidate{similarity, int32(i), int32(index)})
			}
		}
	}
}

// read returns which tables at the match of node i the other nodes of left look at.
func (m *matcher) read(left uint64, i int) tableSet {
	var tables tableSet
	for set := left; set != 0; set &= set - 1 {
		for _, need := range m.graph.nodes[bits.TrailingZeros64(set)].needs {
			if need.node == i {
				tables = tables.union(need.tables)
			}
		}
	}
	return tables
}

// alike reports whether some tables have the same versions at two indices.
func (m *matcher) alike(tables tableSet, a, b int) bool {
	if tables.has(Sandbox) {
		return false
	}
	for t := Setting; t < tableEnd; t++ {
		if tables.has(t) && m.tables[t].at[a] != m.tables[t].at[b] {
			return false
		}
	}
	return true
}

// reach returns what the nodes of left can add at most from an index on.
func (m *matcher) reach(left uint64, last int) float64 {
	sum := 0.0
	for ; left != 0; left &= left - 1 {
		sum += m.bound[bits.TrailingZeros64(left)*m.count+last-m.first]
	}
	return sum
}

// state returns a key for everything that the continuation depends on: the nodes left, the last index, and per matched
// node what nodes that are left compare with the tables there. It is valid until the next call.
func (m *matcher) state(left uint64, last int) []byte {
	key := binary.LittleEndian.AppendUint64(m.key[:0], left)
	key = binary.LittleEndian.AppendUint32(key, uint32(last))
	var tables [maxNodes]tableSet
	var live uint64
	for set := left; set != 0; set &= set - 1 {
		for _, need := range m.graph.nodes[bits.TrailingZeros64(set)].needs {
			if left&(1<<need.node) == 0 {
				live |= 1 << need.node
				tables[need.node] = tables[need.node].union(need.tables)
			}
		}
	}
	for ; live != 0; live &= live - 1 {
		r := bits.TrailingZeros64(live)
		if tables[r].has(Sandbox) {
			key = binary.LittleEndian.AppendUint32(key, uint32(m.at[r]))
			tables[r] = tables[r].without(Sandbox)
		}
		for t := Setting; t < tableEnd; t++ {
			if tables[r].has(t) {
				key = binary.LittleEndian.AppendUint32(key, uint32(m.tables[t].at[m.at[r]]))
			}
		}
	}
	m.key = key
	return key
}

// node returns the similarity of a node at an index: the root of the product of its constraints, times its guardrails.
func (m *matcher) node(n *node, index int) float64 {
	for _, guard := range n.guards {
		if !m.equal(guard.Table, index, m.resolve(guard.Reference)) {
			return 0
		}
	}
	scored, guarded := 1.0, 1.0
	for i := range n.constraints {
		c := &n.constraints[i]
		similarity := m.constraint(c, index)
		if similarity == 0 {
			return 0
		}
		if c.measure == Guardrail {
			guarded *= similarity
		} else {
			scored *= similarity
		}
	}
	return root(scored, n.scored) * guarded
}

// limit returns what a node can reach at most at an index, whatever its references.
func (m *matcher) limit(n *node, index int) float64 {
	for _, guard := range n.guards {
		if guard.Reference == FirstUserMessage && !m.equal(guard.Table, index, m.first) {
			return 0
		}
	}
	product := 1.0
	for i := range n.constraints {
		c := &n.constraints[i]
		if c.table == Sandbox && !c.admits(&m.trajectory.Messages[index]) {
			return 0
		}
	}
	for i := range n.constraints {
		if c := &n.constraints[i]; c.measure == Snapshot || c.reference == FirstUserMessage {
			if product *= m.constraint(c, index); product == 0 {
				return 0
			}
		}
	}
	return root(product, n.scored)
}

// resolve returns the message index of a reference.
func (m *matcher) resolve(reference int) int {
	if reference < 0 {
		return m.first
	}
	return m.at[reference]
}

// constraint returns the similarity of a constraint at an index, from the cache where it was evaluated before.
func (m *matcher) constraint(c *constraint, index int) float64 {
	reference := -1
	if c.measure != Snapshot {
		reference = m.resolve(c.reference)
	}
	place, places := m.place(c, index, reference)
	cache := m.similar[c.slot]
	if cache == nil {
		cache = make([]float64, places)
		for i := range cache {
			cache[i] = unknown
		}
		m.similar[c.slot] = cache
	}
	if cache[place] == unknown {
		cache[place] = m.evaluate(c, index, reference)
	}
	return cache[place]
}

// place returns where the cache of a constraint holds the similarity for an index and a reference, and how many places
// it has. Similarities of stored tables depend on the versions only.
func (m *matcher) place(c *constraint, index, reference int) (place, places int) {
	size, at, from := m.count, index-m.first, reference-m.first
	if c.table != Sandbox {
		h := &m.tables[c.table]
		size, at = len(h.versions), int(h.at[index])
		if reference >= 0 {
			from = int(h.at[reference])
		}
	}
	if reference < 0 {
		return at, size
	}
	return from*size + at, size * size
}
