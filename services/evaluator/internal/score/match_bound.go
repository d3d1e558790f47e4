package score

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// bounds caches the parts of the upper bounds of one matching.
type bounds struct {
	// fixed[node*count+offset] is the product of a node's comparisons without a reference to another
	// node.
	fixed []float64
	// factors[node][dependence*count+at] caches factors. highest[node][dependence] is the largest of
	// them.
	factors, highest [][][]float64
	rootBounds       map[string]*subtreeBounds
	parentBounds     map[string][]float64
}

// subtreeBounds holds upper bounds of a node and its descendants in a forest, by the node's offset.
type subtreeBounds struct {
	// node is the node's part of sum. It is exact if all its references are matched.
	node []float64
	// sum is the bound. best is the largest bound at this or a later offset.
	sum, best []float64
}

// forest is a choice of one predecessor for each open node: a reference, otherwise a predecessor by
// order. A node and its descendants are bounded together. Other dependences between open nodes are
// bounded separately by their best case.
type forest struct {
	left  uint64
	roots uint64
	// tree is each node with its descendants. children are its direct ones.
	tree, children [maxNodes]uint64
	parent         [maxNodes]int8
	// exact reports that no dependence was bounded separately.
	exact bool
}

// buildForest builds the forest of a set of open nodes.
func (m *matcher) buildForest(f *forest, left uint64) {
	f.left, f.exact = left, true
	for at := len(m.graph.sorted) - 1; at >= 0; at-- {
		i := m.graph.sorted[at]
		if left&(1<<i) == 0 {
			continue
		}
		n := &m.graph.nodes[i]
		f.tree[i] |= 1 << i
		open := n.reads & left
		choice := open
		if open == 0 {
			choice = n.directBefore & left
		}
		if choice == 0 {
			f.parent[i] = -1
			f.roots |= 1 << i
			continue
		}
		p := m.graph.latest(choice)
		f.parent[i] = int8(p)
		f.children[p] |= 1 << i
		f.tree[p] |= f.tree[i]
		if (open|n.directBefore&left)&^(1<<p) != 0 {
			f.exact = false
		}
	}
}

// prepareBounds evaluates comparisons without a reference.
func (m *matcher) prepareBounds() {
	b := &m.bounds
	b.factors, b.highest = make([][][]float64, len(m.graph.nodes)), make([][][]float64, len(m.graph.nodes))
	b.fixed = make([]float64, len(m.graph.nodes)*m.count)
	b.rootBounds, b.parentBounds = make(map[string]*subtreeBounds), make(map[string][]float64)
	for set := m.graph.matched; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		for offset := range m.count {
			b.fixed[i*m.count+offset] = m.fixedProduct(&m.graph.nodes[i], m.first+offset)
		}
	}
}

// fixedProduct returns the product of a node's comparisons without a reference to another node.
func (m *matcher) fixedProduct(n *node, index int) float64 {
	for _, guard := range n.guards {
		if guard.reference == FirstUserMessage && !m.equal(guard.table, index, m.first) {
			return 0
		}
	}
	for i := range n.constraints {
		if c := &n.constraints[i]; c.table == sandbox && !c.admits(&m.trajectory.Messages[index]) {
			return 0
		}
	}
	product := 1.0
	for i := range n.constraints {
		if c := &n.constraints[i]; c.measure == Snapshot || c.reference == FirstUserMessage {
			if product *= m.constraint(c, index); product == 0 {
				return 0
			}
		}
	}
	return product
}

// factor returns the product of a node's comparisons at an index with another node's index.
func (m *matcher) factor(n *node, reference, index, at int) float64 {
	for _, guard := range n.guards {
		if guard.reference == reference && !m.equal(guard.table, index, at) {
			return 0
		}
	}
	product := 1.0
	for i := range n.constraints {
		if c := &n.constraints[i]; c.measure != Snapshot && c.reference == reference {
			if product *= m.compare(c, index, at); product == 0 {
				return 0
			}
		}
	}
	return product
}

// factors returns by offset the factor of one of a node's dependences, for the reference at an
// offset. Offsets at which the node's similarity is 0 have factor 0.
func (m *matcher) factors(i, which, at int) []float64 {
	n, b := &m.graph.nodes[i], &m.bounds
	tables := b.factors[i]
	if tables == nil {
		tables = make([][]float64, len(n.dependences)*m.count)
		b.factors[i] = tables
	}
	table := &tables[which*m.count+at]
	if *table != nil {
		return *table
	}
	need := n.dependences[which]
	first := at
	for first > 0 && m.sameVersions(need.tables, m.first+first-1, m.first+first) {
		first--
	}
	if first < at {
		*table = m.factors(i, which, first)
		return *table
	}
	if !m.reserve(m.count) {
		return b.fixed[i*m.count:][:m.count] // any value: matching stops
	}
	factors := make([]float64, m.count)
	fixed := b.fixed[i*m.count:]
	for offset := at; offset < m.count; offset++ {
		if fixed[offset] != 0 {
			m.work++
			factors[offset] = m.factor(n, need.node, m.first+offset, m.first+at)
		}
	}
	*table = factors
	return factors
}

// highest returns by offset the largest factor over all earlier or equal offsets of a reference.
func (m *matcher) highest(i, which int) []float64 {
	n, b := &m.graph.nodes[i], &m.bounds
	if b.highest[i] == nil {
		b.highest[i] = make([][]float64, len(n.dependences))
	}
	highest := &b.highest[i][which]
	if *highest != nil {
		return *highest
	}
	*highest = make([]float64, m.count)
	for at := range m.count {
		if m.work > maxWork {
			break
		}
		if at > 0 && m.sameVersions(n.dependences[which].tables, m.first+at-1, m.first+at) {
			continue
		}
		for offset, factor := range m.factors(i, which, at) {
			if offset >= at {
				(*highest)[offset] = max((*highest)[offset], factor)
			}
		}
	}
	return *highest
}

// products returns by offset the product of a node's comparisons: exact with matched nodes, an
// upper bound with open ones. It excludes comparisons with its parent.
func (m *matcher) products(f *forest, i int) []float64 {
	n := &m.graph.nodes[i]
	products := make([]float64, m.count)
	copy(products, m.bounds.fixed[i*m.count:])
	for which, need := range n.dependences {
		var factors []float64
		switch {
		case f.left&(1<<need.node) == 0:
			factors = m.factors(i, which, m.at[need.node]-m.first)
		case need.node != int(f.parent[i]):
			factors = m.highest(i, which)
		default:
			continue
		}
		for offset, factor := range factors {
			products[offset] *= factor
		}
	}
	return products
}

// below returns by offset the upper bound of a node's descendants if the node has that offset.
func (m *matcher) below(f *forest, i int) []float64 {
	sums := make([]float64, m.count)
	for set := f.children[i]; set != 0; set &= set - 1 {
		for offset, bound := range m.parentBounds(f, bits.TrailingZeros64(set)) {
			sums[offset] += bound
		}
	}
	return sums
}

// rootBounds returns the bounds of a root.
func (m *matcher) rootBounds(f *forest, i int) *subtreeBounds {
	if known, ok := m.bounds.rootBounds[string(m.boundsKey(f, i))]; ok {
		return known
	}
	r := &subtreeBounds{node: m.products(f, i), sum: m.below(f, i), best: make([]float64, m.count)}
	scored := m.graph.nodes[i].scored
	best := 0.0
	for offset := m.count - 1; offset >= 0; offset-- {
		m.work++
		r.node[offset] = nthRoot(r.node[offset], scored)
		r.sum[offset] += r.node[offset]
		best = max(best, r.sum[offset])
		r.best[offset] = best
	}
	m.bounds.rootBounds[string(m.boundsKey(f, i))] = r
	return r
}

// parentBounds returns by the parent's offset the upper bound of a node and its descendants.
func (m *matcher) parentBounds(f *forest, i int) []float64 {
	if known, ok := m.bounds.parentBounds[string(m.boundsKey(f, i))]; ok {
		return known
	}
	n, p := &m.graph.nodes[i], int(f.parent[i])
	products, reach := m.products(f, i), m.below(f, i)
	low := m.firstIndex(i, f.left, m.first) - m.first
	message := make([]float64, m.count)
	which := slices.IndexFunc(n.dependences, func(need dependence) bool { return need.node == p })
	if which < 0 {
		best := 0.0
		for offset := m.count - 1; offset >= 0; offset-- {
			m.work++
			if offset >= low {
				best = max(best, nthRoot(products[offset], n.scored)+reach[offset])
			}
			message[offset] = best
		}
	} else {
		seen := n.dependences[which].tables
		upper := make([]float64, m.count+1)
		for at := range message {
			if m.work > maxWork {
				break
			}
			if at == 0 || !m.sameVersions(seen, m.first+at-1, m.first+at) {
				best := 0.0
				factors := m.factors(i, which, at)
				for offset := m.count - 1; offset >= max(at, low); offset-- {
					m.work++
					best = max(best, nthRoot(products[offset]*factors[offset], n.scored)+reach[offset])
					upper[offset] = best
				}
			}
			message[at] = upper[max(at, low)]
		}
	}
	m.bounds.parentBounds[string(m.boundsKey(f, i))] = message
	return message
}

// boundsKey returns a key for everything that the bounds of a node and its descendants depend on.
// It is valid until the next call of state or boundsKey.
func (m *matcher) boundsKey(f *forest, i int) []byte {
	key := binary.LittleEndian.AppendUint64(m.key[:0], f.tree[i])
	key = append(key, byte(i))
	open := uint64(0)
	for set := f.tree[i]; set != 0; set &= set - 1 {
		j := bits.TrailingZeros64(set)
		n := &m.graph.nodes[j]
		open |= (n.reads | n.directBefore) & f.left
		if n.directBefore&^f.left != 0 {
			key = binary.LittleEndian.AppendUint32(key, uint32(m.firstIndex(j, f.left, m.first)))
		}
		key = m.appendSeen(key, n, f.left)
	}
	key = binary.LittleEndian.AppendUint64(key, open)
	m.key = key
	return key
}
