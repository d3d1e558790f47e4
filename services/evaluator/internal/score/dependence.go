package score

import (
	"math/bits"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
)

// dependencesOf returns the nodes at whose matches node i reads tables.
func (g *Graph) dependencesOf(i int) []dependence {
	var compared, guarded uint64
	var tables [maxNodes]uint64
	for _, c := range g.nodes[i].constraints {
		if c.measure != Snapshot && c.reference >= 0 {
			compared |= 1 << c.reference
		}
	}
	for _, guard := range g.nodes[i].guards {
		if guard.Reference >= 0 {
			guarded |= 1 << guard.Reference
			tables[guard.Reference] |= 1 << guard.Table
		}
	}
	var needs []dependence
	for _, r := range evaluation.List(compared | guarded) {
		needs = append(needs, dependence{node: r, compared: compared&(1<<r) != 0, guarded: tables[r]})
	}
	return needs
}

// classes divides the messages by what a node reads at another node's match. Messages of a class
// cannot be told apart there. Classes are numbered in the order of their first messages.
type classes struct {
	// full is the class at each offset. first is the first offset of each class.
	full, first []int32
	// last is the last offset, of any class, with the automatic guardrails' tables of each class.
	// previous is the offset before each one with the same, −1 without one.
	last, previous []int32
	// compared are the coarser classes that constraints tell apart, without automatic guardrails.
	compared []int32
}

// guardClasses divides the messages by the versions of tables that automatic guardrails read.
type guardClasses struct {
	// class is the class at each offset, previous the offset before it with the same, −1 without one.
	// last is the last offset of each class.
	class, previous, last []int32
}

// classesOf returns the classes of one of a node's dependences.
func (m *matcher) classesOf(i, dependence int) *classes {
	n := &m.graph.nodes[i]
	if m.classes[i] == nil {
		m.classes[i] = make([]*classes, len(n.dependences))
	}
	if k := m.classes[i][dependence]; k != nil {
		return k
	}
	dep := n.dependences[dependence]
	m.work += m.candidateCount
	guards := m.guardClassesOf(dep.guarded)
	compared := partition{class: make([]int32, m.candidateCount), count: 1}
	for j := range n.constraints {
		if c := &n.constraints[j]; c.measure != Snapshot && c.reference == dep.node {
			m.refine(&compared, func(offset int) int { return m.referenceClass(c, m.first+offset) })
		}
	}
	full := partition{class: guards.class, count: len(guards.last)}
	if dep.compared {
		full = partition{class: slices.Clone(compared.class), count: compared.count}
		m.refine(&full, func(offset int) int { return int(guards.class[offset]) })
	}
	k := &classes{
		full: full.class, first: make([]int32, 0, full.count),
		last: make([]int32, 0, full.count), previous: guards.previous, compared: compared.class,
	}
	for offset, class := range k.full {
		if int(class) == len(k.first) {
			k.first, k.last = append(k.first, int32(offset)), append(k.last, guards.last[guards.class[offset]])
		}
	}
	m.classes[i][dependence] = k
	return k
}

// guardClassesOf returns the classes by the versions of a set of tables.
func (m *matcher) guardClassesOf(tables uint64) *guardClasses {
	if g := m.guardClasses[tables]; g != nil {
		return g
	}
	m.work += m.candidateCount
	p := partition{class: make([]int32, m.candidateCount), count: 1}
	for set := tables; set != 0; set &= set - 1 {
		m.refine(&p, func(offset int) int { return int(m.classOf(bits.TrailingZeros64(set), m.first+offset)) })
	}
	g := &guardClasses{class: p.class, previous: make([]int32, m.candidateCount)}
	for offset, class := range g.class {
		if int(class) == len(g.last) {
			g.last = append(g.last, -1)
		}
		g.previous[offset], g.last[class] = g.last[class], int32(offset)
	}
	m.guardClasses[tables] = g
	return g
}

// partition divides offsets into count classes, numbered in the order of their first offsets.
type partition struct {
	class []int32
	count int
}

// refine divides each class by a value of its offsets, at least 0. Once matching stops it does
// nothing.
func (m *matcher) refine(p *partition, value func(offset int) int) {
	if p.count == len(p.class) || m.work > maxWork {
		return
	}
	m.work += len(p.class)
	effort := m.effort
	defer func() { m.chargeEffort(effort) }()
	numbers := make(map[uint64]int32, p.count)
	for offset, class := range p.class {
		key := uint64(class)<<32 | uint64(value(offset))
		n, ok := numbers[key]
		if !ok {
			n = int32(len(numbers))
			numbers[key] = n
		}
		p.class[offset] = n
	}
	p.count = len(numbers)
}

// referenceClass returns a number that two reference messages share if a constraint cannot tell
// them apart.
func (m *matcher) referenceClass(c *constraint, reference int) int {
	switch {
	case c.table != sandbox:
		return int(m.tables[c.table].versionAt[reference])
	case c.measure != ToolTraceDependant:
		return reference - m.first
	case m.completions[c.number] == nil:
		m.completions[c.number] = m.completionClasses(c).at
	}
	if class := m.completions[c.number][reference]; class >= 0 {
		return int(class)
	}
	return m.completionClass(c, reference)
}
