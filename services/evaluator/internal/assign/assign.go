// Package assign finds the assignment of rows to columns of a square cost matrix with the lowest
// cost. It uses shortest augmenting paths (Jonker and Volgenant) in time cubic in the number of
// rows.
package assign

import "math"

// Solver is reusable memory for Solve. The zero value is ready. It is not safe for concurrent use.
type Solver struct {
	rowPrice, columnPrice, distance []float64
	rowOf, columnOf, previous       []int
	done                            []bool
}

// Solve assigns each of n rows a distinct column and minimizes the total cost. cost[r*n+c] is the
// cost of column c for row r, +Inf if the pair is forbidden. NaN and −Inf are not allowed. The
// result is the column of each row, valid until the next call. ok is false if every assignment uses
// a forbidden pair.
func (s *Solver) Solve(n int, cost []float64) (columns []int, ok bool) {
	s.reset(n)
	for row := range n {
		if !s.augment(n, cost, row) {
			return nil, false
		}
	}
	return s.columnOf, true
}

// reset resizes the memory for n rows.
func (s *Solver) reset(n int) {
	if cap(s.rowPrice) < n {
		s.rowPrice, s.columnPrice, s.distance = make([]float64, n), make([]float64, n), make([]float64, n)
		s.rowOf, s.columnOf, s.previous = make([]int, n), make([]int, n), make([]int, n)
		s.done = make([]bool, n)
	}
	s.rowPrice, s.columnPrice, s.distance = s.rowPrice[:n], s.columnPrice[:n], s.distance[:n]
	s.rowOf, s.columnOf, s.previous, s.done = s.rowOf[:n], s.columnOf[:n], s.previous[:n], s.done[:n]
	for i := range n {
		s.rowPrice[i], s.columnPrice[i] = 0, 0
		s.rowOf[i], s.columnOf[i] = -1, -1
	}
}

// augment assigns row start along the shortest augmenting path, which may reassign other rows.
func (s *Solver) augment(n int, cost []float64, start int) bool {
	for c := range n {
		s.distance[c], s.done[c] = math.Inf(1), false
	}
	row, shortest, sink := start, 0.0, -1
	for sink < 0 {
		next, best := -1, math.Inf(1)
		for c := range n {
			if s.done[c] {
				continue
			}
			if d := shortest + cost[row*n+c] - s.rowPrice[row] - s.columnPrice[c]; d < s.distance[c] {
				s.distance[c], s.previous[c] = d, row
			}
			if s.distance[c] < best || s.distance[c] == best && next >= 0 && s.rowOf[c] < 0 && s.rowOf[next] >= 0 {
				next, best = c, s.distance[c]
			}
		}
		if next < 0 {
			return false
		}
		shortest = best
		s.done[next] = true
		if s.rowOf[next] < 0 {
			sink = next
		} else {
			row = s.rowOf[next]
		}
	}
	s.rowPrice[start] += shortest
	for c := range n {
		if s.done[c] && c != sink {
			s.rowPrice[s.rowOf[c]] += shortest - s.distance[c]
			s.columnPrice[c] -= shortest - s.distance[c]
		}
	}
	for c := sink; ; {
		r := s.previous[c]
		s.rowOf[c] = r
		s.columnOf[r], c = c, s.columnOf[r]
		if r == start {
			return true
		}
	}
}
