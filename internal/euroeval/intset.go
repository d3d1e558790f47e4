package euroeval

import "slices"

// intSet holds small integers in the iteration order of CPython's set. It follows CPython 3.11,
// Objects/setobject.c: open addressing with linear probes. An integer is its own hash.
type intSet struct {
	table []int // free slots are -1; the length is a power of two
	used  int
}

const (
	freeSlot     = -1
	minTable     = 8
	linearProbes = 9
	perturbShift = 5
	// largeSet is the number of members from which a table doubles instead of quadrupling.
	largeSet = 50000
)

// newIntSet returns an empty set. Its table has the first size above capacity.
func newIntSet(capacity int) *intSet {
	size := minTable
	for size <= capacity {
		size *= 2
	}
	return &intSet{table: slices.Repeat([]int{freeSlot}, size)}
}

// add adds a non-negative number that is not yet a member.
func (s *intSet) add(number int) {
	s.insert(number)
	if 5*s.used >= 3*(len(s.table)-1) {
		factor := 4
		if s.used > largeSet {
			factor = 2
		}
		grown := newIntSet(factor * s.used)
		for _, member := range s.members() {
			grown.insert(member)
		}
		*s = *grown
	}
}

// insert stores a number in its slot.
func (s *intSet) insert(number int) {
	mask := len(s.table) - 1
	slot, perturb := number&mask, number
	for {
		last := slot
		if slot+linearProbes <= mask {
			last += linearProbes
		}
		for i := slot; i <= last; i++ {
			if s.table[i] == freeSlot {
				s.table[i] = number
				s.used++
				return
			}
		}
		perturb >>= perturbShift
		slot = (5*slot + 1 + perturb) & mask
	}
}

// members returns the numbers in iteration order.
func (s *intSet) members() []int {
	members := make([]int, 0, s.used)
	for _, number := range s.table {
		if number != freeSlot {
			members = append(members, number)
		}
	}
	return members
}

// clone copies a set as CPython does. The copy's table may have another size.
func (s *intSet) clone() *intSet {
	capacity := 0
	if 5*s.used >= 3*(minTable-1) {
		capacity = 2 * s.used
	}
	clone := newIntSet(capacity)
	if len(clone.table) == len(s.table) {
		copy(clone.table, s.table)
		clone.used = s.used
		return clone
	}
	for _, member := range s.members() {
		clone.insert(member)
	}
	return clone
}

// difference returns the members except removed, in the order of CPython's set difference. removed
// must be members.
func (s *intSet) difference(removed []int) []int {
	excluded := make(map[int]bool, len(removed))
	for _, number := range removed {
		excluded[number] = true
	}
	if s.used/4 > len(removed) { // CPython copies the set and removes from the copy
		return slices.DeleteFunc(s.clone().members(), func(number int) bool { return excluded[number] })
	}
	result := newIntSet(0)
	for _, number := range s.members() {
		if !excluded[number] {
			result.add(number)
		}
	}
	return result.members()
}

// cacheOrder returns the order in which EuroEval lists the answers of n rows: first newRows, which
// must be ascending, then the others.
func cacheOrder(n int, newRows []int) []int {
	added, all := newIntSet(0), newIntSet(0)
	for _, row := range newRows {
		added.add(row)
	}
	for row := range n {
		all.add(row)
	}
	return slices.Concat(added.members(), all.difference(newRows))
}
