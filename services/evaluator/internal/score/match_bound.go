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
	// factors[node][dependence][class of the reference] caches factors.
	factors [][][][]float64
	// maxFactors[node][dependence] is the largest of them.
	maxFactors   [][][]float64
	rootBounds   map[string]*subtreeBounds
	parentBounds map[string][]float64
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
	b.factors, b.maxFactors = make([][][][]float64, len(m.graph.nodes)), make([][][]float64, len(m.graph.nodes))
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

// factors returns by offset the factor of one of a node's dependences, for a reference at an
// offset. Offsets at which the node's similarity is 0, or before all of the reference's class, have
// factor 0.
func (m *matcher) factors(i, dependence, referenceOffset int) []float64 {
	n, b := &m.graph.nodes[i], &m.bounds
	k := m.classesOf(i, dependence)
	class := int(k.full[referenceOffset])
	if b.factors[i] == nil {
		b.factors[i] = make([][][]float64, len(n.dependences))
	}
	if b.factors[i][dependence] == nil {
		b.factors[i][dependence] = make([][]float64, len(k.first))
	}
	table := &b.factors[i][dependence][class]
	if *table != nil {
		return *table
	}
	if !m.reserve(m.candidateCount) {
		return b.fixed[i*m.candidateCount:][:m.candidateCount] // any value: matching stops
	}
	factors := m.zeros(m.candidateCount)
	for offset := k.last[class]; offset >= k.first[class]; offset = k.previous[offset] {
		factors[offset] = m.factorAt(i, dependence, class, int(offset))
	}
	*table = factors
	return factors
}

// factorAt returns the factor at an offset that has the class's tables of automatic guardrails.
func (m *matcher) factorAt(i, dependence, class, offset int) float64 {
	m.work++
	switch dep := &m.graph.nodes[i].dependences[dependence]; {
	case m.bounds.fixed[i*m.candidateCount+offset] == 0:
		return 0
	case dep.compared:
		return m.factor(&m.graph.nodes[i], dep.node, m.first+offset, m.first+int(m.classesOf(i, dependence).first[class]))
	}
	return 1
}

// maxFactors returns by offset the largest factor over all earlier or equal offsets of a reference.
func (m *matcher) maxFactors(i, dependence int) []float64 {
	b := &m.bounds
	if b.maxFactors[i] == nil {
		b.maxFactors[i] = make([][]float64, len(m.graph.nodes[i].dependences))
	}
	factors := &b.maxFactors[i][dependence]
	if *factors != nil {
		return *factors
	}
	*factors = m.zeros(m.candidateCount)
	k := m.classesOf(i, dependence)
	for class, first := range k.first {
		for offset := k.last[class]; offset >= first && m.work <= maxWork; offset = k.previous[offset] {
			(*factors)[offset] = max((*factors)[offset], m.factorAt(i, dependence, class, int(offset)))
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
		m.work += m.candidateCount / cheap
		var factors []float64
		switch isOpen := f.open&(1<<dep.node) != 0; {
		case isOpen && (dep.node == int(f.parent[i]) || !dep.compared): // an automatic guardrail's best case is 1
			continue
		case isOpen:
			factors = m.maxFactors(i, dependence)
		case dep.compared:
			factors = m.factors(i, dependence, m.assigned[dep.node]-m.first)
		default:
			k := m.classesOf(i, dependence)
			required := k.full[m.assigned[dep.node]-m.first]
			for offset, class := range k.full {
				if class != required {
					products[offset] = 0
				}
			}
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
		m.work += m.candidateCount / cheap
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
	if !m.reserve(3 * m.candidateCount) {
		return &subtreeBounds{node: m.zeros(m.candidateCount), sum: m.zeros(m.candidateCount), suffixMax: m.zeros(m.candidateCount)}
	}
	r := &subtreeBounds{node: m.products(f, i), sum: m.childBounds(f, i), suffixMax: m.zeros(m.candidateCount)}
	scored := m.graph.nodes[i].scored
	best := 0.0
	m.work += m.candidateCount / 2
	for offset := m.candidateCount - 1; offset >= 0; offset-- {
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
	if !m.reserve(m.candidateCount) {
		return m.zeros(m.candidateCount)
	}
	n, p := &m.graph.nodes[i], int(f.parent[i])
	products, childBounds := m.products(f, i), m.childBounds(f, i)
	firstOffset := m.firstIndex(i, f.open, m.first) - m.first
	bounds := m.zeros(m.candidateCount)
	dependenceIndex := slices.IndexFunc(n.dependences, func(dep dependence) bool { return dep.node == p })
	if dependenceIndex < 0 {
		best := 0.0
		m.work += m.candidateCount / 2
		for offset := m.candidateCount - 1; offset >= 0; offset-- {
			if offset >= firstOffset {
				best = max(best, nthRoot(products[offset], n.scored)+childBounds[offset])
			}
			bounds[offset] = best
		}
	} else {
		m.referenceBounds(i, dependenceIndex, products, childBounds, firstOffset, bounds)
	}
	m.bounds.parentBounds[string(m.boundsKey(f, i))] = bounds
	return bounds
}

// referenceBounds sets parentBounds of a node that refers to its parent.
func (m *matcher) referenceBounds(i, dependence int, products, childBounds []float64, firstOffset int, bounds []float64) {
	n, k := &m.graph.nodes[i], m.classesOf(i, dependence)
	for class, first := range k.first {
		best := 0.0
		for offset := k.last[class]; offset >= first && m.work <= maxWork; offset = k.previous[offset] {
			if int(offset) >= firstOffset {
				factor := m.factorAt(i, dependence, class, int(offset))
				best = max(best, nthRoot(products[offset]*factor, n.scored)+childBounds[offset])
			}
			if int(k.full[offset]) == class {
				bounds[offset] = best
			}
		}
	}
	rest := 0.0 // of offsets that automatic guardrails exclude
	for offset := m.candidateCount - 1; offset >= 0; offset-- {
		if offset >= firstOffset {
			rest = max(rest, childBounds[offset])
		}
		bounds[offset] = max(bounds[offset], rest)
	}
}

// boundsKey returns a key for everything that the bounds of a node and its descendants depend on.
// It is valid until the next call of stateKey or boundsKey.
func (m *matcher) boundsKey(f *forest, i int) []byte {
	m.work += bits.OnesCount64(f.tree[i])
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
		key = m.appendReferences(key, j, f.open)
	}
	key = binary.LittleEndian.AppendUint64(key, open)
	m.key = key
	return key
}
