package score

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// bounds caches the parts of the upper bounds of one matching.
type bounds struct {
	// fixed[node*candidateCount+offset] is the product of a node's comparisons without a reference to
	// another node.
	fixed []float64
	// factors[node][dependence*candidateCount+referenceOffset] caches factors.
	// maxFactors[node][dependence] is the largest of them.
	factors, maxFactors [][][]float64
	rootBounds          map[string]*subtreeBounds
	parentBounds        map[string][]float64
}

// subtreeBounds holds upper bounds of a node and its descendants in a forest, by the node's offset.
type subtreeBounds struct {
	// node is the node's part of sum. It is exact if all its references are matched.
	node []float64
	// sum is the bound. suffixMax is the largest bound at this or a later offset.
	sum, suffixMax []float64
}

// forest is a choice of one predecessor for each open node: a reference, otherwise a predecessor by
// order. A node and its descendants are bounded together. Other dependences between open nodes are
// bounded separately by their best case.
type forest struct {
	open  uint64
	roots uint64
	// tree is each node with its descendants. children are its direct ones.
	tree, children [maxNodes]uint64
	parent         [maxNodes]int8
	// exact reports that no dependence was bounded separately.
	exact bool
}

// buildForest builds the forest of a set of open nodes.
func (m *matcher) buildForest(f *forest, openNodes uint64) {
	f.open, f.exact = openNodes, true
	for position := len(m.graph.sorted) - 1; position >= 0; position-- {
		i := m.graph.sorted[position]
		if openNodes&(1<<i) == 0 {
			continue
		}
		n := &m.graph.nodes[i]
		f.tree[i] |= 1 << i
		references := n.reads & openNodes
		choice := references
		if references == 0 {
			choice = n.directBefore & openNodes
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
		if (references|n.directBefore&openNodes)&^(1<<p) != 0 {
			f.exact = false
		}
	}
}

// prepareBounds evaluates comparisons without a reference.
func (m *matcher) prepareBounds() {
	b := &m.bounds
	b.factors, b.maxFactors = make([][][]float64, len(m.graph.nodes)), make([][][]float64, len(m.graph.nodes))
	b.fixed = m.zeros(len(m.graph.nodes) * m.candidateCount)
	b.rootBounds, b.parentBounds = make(map[string]*subtreeBounds), make(map[string][]float64)
	for set := m.graph.matched; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		for offset := range m.candidateCount {
			b.fixed[i*m.candidateCount+offset] = m.fixedProduct(&m.graph.nodes[i], m.first+offset)
		}
	}
}

// fixedProduct returns the product of a node's comparisons without a reference to another node.
func (m *matcher) fixedProduct(n *node, index int) float64 {
	for _, guard := range n.guards {
		if guard.Reference == FirstUserMessage && !m.equal(guard.Table, index, m.first) {
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
			if product *= m.constraintSimilarity(c, index); product == 0 {
				return 0
			}
		}
	}
	return product
}

// factor returns the product of a node's comparisons at an index with another node's index.
func (m *matcher) factor(n *node, reference, index, referenceIndex int) float64 {
	for _, guard := range n.guards {
		if guard.Reference == reference && !m.equal(guard.Table, index, referenceIndex) {
			return 0
		}
	}
	product := 1.0
	for i := range n.constraints {
		if c := &n.constraints[i]; c.measure != Snapshot && c.reference == reference {
			if product *= m.cachedSimilarity(c, index, referenceIndex); product == 0 {
				return 0
			}
		}
	}
	return product
}

// factors returns by offset the factor of one of a node's dependences, for the reference at an
// offset. Offsets at which the node's similarity is 0 have factor 0.
func (m *matcher) factors(i, dependence, referenceOffset int) []float64 {
	n, b := &m.graph.nodes[i], &m.bounds
	tables := b.factors[i]
	if tables == nil {
		tables = make([][]float64, len(n.dependences)*m.candidateCount)
		b.factors[i] = tables
	}
	table := &tables[dependence*m.candidateCount+referenceOffset]
	if *table != nil {
		return *table
	}
	dep := n.dependences[dependence]
	first := referenceOffset
	for first > 0 && m.sameVersions(dep.tables, m.first+first-1, m.first+first) {
		first--
	}
	if first < referenceOffset {
		*table = m.factors(i, dependence, first)
		return *table
	}
	if !m.reserve(m.candidateCount) {
		return b.fixed[i*m.candidateCount:][:m.candidateCount] // any value: matching stops
	}
	factors := m.zeros(m.candidateCount)
	fixed := b.fixed[i*m.candidateCount:]
	for offset := referenceOffset; offset < m.candidateCount; offset++ {
		if fixed[offset] != 0 {
			m.work++
			factors[offset] = m.factor(n, dep.node, m.first+offset, m.first+referenceOffset)
		}
	}
	*table = factors
	return factors
}

// maxFactors returns by offset the largest factor over all earlier or equal offsets of a reference.
func (m *matcher) maxFactors(i, dependence int) []float64 {
	n, b := &m.graph.nodes[i], &m.bounds
	if b.maxFactors[i] == nil {
		b.maxFactors[i] = make([][]float64, len(n.dependences))
	}
	factors := &b.maxFactors[i][dependence]
	if *factors != nil {
		return *factors
	}
	*factors = m.zeros(m.candidateCount)
	for referenceOffset := range m.candidateCount {
		if m.work > maxWork {
			break
		}
		if referenceOffset > 0 && m.sameVersions(n.dependences[dependence].tables, m.first+referenceOffset-1, m.first+referenceOffset) {
			continue
		}
		for offset, factor := range m.factors(i, dependence, referenceOffset) {
			if offset >= referenceOffset {
				(*factors)[offset] = max((*factors)[offset], factor)
			}
		}
	}
	return *factors
}

// products returns by offset the product of a node's comparisons: exact with matched nodes, an
// upper bound with open ones. It excludes comparisons with its parent.
func (m *matcher) products(f *forest, i int) []float64 {
	n := &m.graph.nodes[i]
	products := m.zeros(m.candidateCount)
	copy(products, m.bounds.fixed[i*m.candidateCount:])
	for dependence, dep := range n.dependences {
		var factors []float64
		switch {
		case f.open&(1<<dep.node) == 0:
			factors = m.factors(i, dependence, m.assigned[dep.node]-m.first)
		case dep.node != int(f.parent[i]):
			factors = m.maxFactors(i, dependence)
		default:
			continue
		}
		for offset, factor := range factors {
			products[offset] *= factor
		}
	}
	return products
}

// childBounds returns by offset the upper bound of a node's descendants if the node has that
// offset.
func (m *matcher) childBounds(f *forest, i int) []float64 {
	sums := m.zeros(m.candidateCount)
	for set := f.children[i]; set != 0; set &= set - 1 {
		for offset, bound := range m.parentBounds(f, bits.TrailingZeros64(set)) {
			sums[offset] += bound
		}
	}
	return sums
}

// rootBounds returns the bounds of a root.
func (m *matcher) rootBounds(f *forest, i int) *subtreeBounds {
	if cached, ok := m.bounds.rootBounds[string(m.boundsKey(f, i))]; ok {
		return cached
	}
	r := &subtreeBounds{node: m.products(f, i), sum: m.childBounds(f, i), suffixMax: m.zeros(m.candidateCount)}
	scored := m.graph.nodes[i].scored
	best := 0.0
	for offset := m.candidateCount - 1; offset >= 0; offset-- {
		m.work++
		r.node[offset] = nthRoot(r.node[offset], scored)
		r.sum[offset] += r.node[offset]
		best = max(best, r.sum[offset])
		r.suffixMax[offset] = best
	}
	m.bounds.rootBounds[string(m.boundsKey(f, i))] = r
	return r
}

// parentBounds returns by the parent's offset the upper bound of a node and its descendants.
func (m *matcher) parentBounds(f *forest, i int) []float64 {
	if cached, ok := m.bounds.parentBounds[string(m.boundsKey(f, i))]; ok {
		return cached
	}
	n, p := &m.graph.nodes[i], int(f.parent[i])
	products, childBounds := m.products(f, i), m.childBounds(f, i)
	firstOffset := m.firstIndex(i, f.open, m.first) - m.first
	bounds := m.zeros(m.candidateCount)
	dependenceIndex := slices.IndexFunc(n.dependences, func(dep dependence) bool { return dep.node == p })
	if dependenceIndex < 0 {
		best := 0.0
		for offset := m.candidateCount - 1; offset >= 0; offset-- {
			m.work++
			if offset >= firstOffset {
				best = max(best, nthRoot(products[offset], n.scored)+childBounds[offset])
			}
			bounds[offset] = best
		}
	} else {
		tables := n.dependences[dependenceIndex].tables
		upper := m.zeros(m.candidateCount + 1)
		for parentOffset := range bounds {
			if m.work > maxWork {
				break
			}
			if parentOffset == 0 || !m.sameVersions(tables, m.first+parentOffset-1, m.first+parentOffset) {
				best := 0.0
				factors := m.factors(i, dependenceIndex, parentOffset)
				for offset := m.candidateCount - 1; offset >= max(parentOffset, firstOffset); offset-- {
					m.work++
					best = max(best, nthRoot(products[offset]*factors[offset], n.scored)+childBounds[offset])
					upper[offset] = best
				}
			}
			bounds[parentOffset] = upper[max(parentOffset, firstOffset)]
		}
	}
	m.bounds.parentBounds[string(m.boundsKey(f, i))] = bounds
	return bounds
}

// boundsKey returns a key for everything that the bounds of a node and its descendants depend on.
// It is valid until the next call of stateKey or boundsKey.
func (m *matcher) boundsKey(f *forest, i int) []byte {
	key := binary.LittleEndian.AppendUint64(m.key[:0], f.tree[i])
	key = append(key, byte(i))
	open := uint64(0)
	for set := f.tree[i]; set != 0; set &= set - 1 {
		j := bits.TrailingZeros64(set)
		n := &m.graph.nodes[j]
		open |= (n.reads | n.directBefore) & f.open
		if n.directBefore&^f.open != 0 {
			key = binary.LittleEndian.AppendUint32(key, uint32(m.firstIndex(j, f.open, m.first)))
		}
		key = m.appendReferences(key, n, f.open)
	}
	key = binary.LittleEndian.AppendUint64(key, open)
	m.key = key
	return key
}
