package score

import (
	"encoding/binary"
	"math/bits"

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
	if k := m.guardClasses[dep.guarded]; k != nil && !dep.compared {
		m.classes[i][dependence] = k
		return k
	}
	k := &classes{full: make([]int32, m.candidateCount), compared: make([]int32, m.candidateCount), previous: make([]int32, m.candidateCount)}
	m.classes[i][dependence] = k
	m.work += 4 * m.candidateCount
	if !dep.compared {
		m.guardClasses[dep.guarded] = k
	}
	full, compared, guarded := make(map[string]int32), make(map[string]int32), make(map[string]int32)
	var groups, latest []int32 // the number of each class's guarded tables, and the last offset of each
	var key []byte
	for offset := range m.candidateCount {
		key = key[:0]
		for j := range n.constraints {
			if c := &n.constraints[j]; c.measure != Snapshot && c.reference == dep.node {
				key = binary.LittleEndian.AppendUint32(key, uint32(m.referenceClass(c, m.first+offset)))
			}
		}
		constraints := len(key)
		k.compared[offset] = number(compared, key)
		for set := dep.guarded; set != 0; set &= set - 1 {
			key = binary.LittleEndian.AppendUint32(key, uint32(m.classOf(bits.TrailingZeros64(set), m.first+offset)))
		}
		k.full[offset] = number(full, key)
		group := number(guarded, key[constraints:])
		if int(group) == len(latest) {
			latest = append(latest, -1)
		}
		k.previous[offset], latest[group] = latest[group], int32(offset)
		if int(k.full[offset]) == len(k.first) {
			k.first, groups = append(k.first, int32(offset)), append(groups, group)
		}
	}
	for _, group := range groups {
		k.last = append(k.last, latest[group])
	}
	return k
}

// number returns the number of a key, which is the next one for a new key.
func number(numbers map[string]int32, key []byte) int32 {
	n, ok := numbers[string(key)]
	if !ok {
		n = int32(len(numbers))
		numbers[string(key)] = n
	}
	return n
}

// referenceClass returns a number that two reference messages share if a constraint cannot tell
// them apart.
func (m *matcher) referenceClass(c *constraint, reference int) int {
	switch {
	case c.table != sandbox:
		return int(m.tables[c.table].versionAt[reference])
	case c.measure == ToolTraceDependant:
		return m.completionClass(c, reference)
	}
	return reference - m.first
}
