package fuzzy

import "math"

// offsetRange is a range of offsets of the shorter text in the longer one. Both ends have a score.
type offsetRange struct{ first, last int }

// partialRatio returns the best ratio of the shorter text and a part of the longer one. A part has
// the same length, or is shorter at either end. The result is 0 below the cutoff.
func (s *scorer) partialRatio(a, b []rune, cutoff float64) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	switch {
	case cutoff > maxScore:
		return 0
	case len(a) == 0:
		if len(b) == 0 {
			return maxScore
		}
		return 0
	}
	score := s.partial(a, b, cutoff)
	if score != maxScore && len(a) == len(b) {
		score = max(score, s.partial(b, a, max(cutoff, score)))
	}
	return score
}

// partial is partialRatio for two non-empty texts. a must not be longer than b.
func (s *scorer) partial(a, b []rune, cutoff float64) float64 {
	s.part.prepare(a)
	score := 0.0
	if len(b) > len(a) {
		total := s.bestWindow(len(a), b, cutoff)
		if total == maxScore {
			return maxScore
		}
		if total >= cutoff {
			score, cutoff = total, total
		}
	}
	for i := 1; i < len(a); i++ {
		if s.part.contains(b[i-1]) {
			score, cutoff = s.scorePart(b[:i], score, cutoff)
		}
	}
	for i := len(b) - len(a); i < len(b) && score != maxScore; i++ {
		if s.part.contains(b[i]) {
			score, cutoff = s.scorePart(b[i:], score, cutoff)
		}
	}
	return score
}

// scorePart scores one part of the longer text.
func (s *scorer) scorePart(part []rune, score, cutoff float64) (newScore, newCutoff float64) {
	if r := similarity(s.part.distance(part), s.part.size+len(part), cutoff); r > score {
		return r, r
	}
	return score, cutoff
}

// bestWindow returns the best score of the parts of b of the given size, except the last part. It
// bisects ranges of offsets. The scores of neighbours differ by at most two edits, so it skips a
// range whose ends exclude a better part. The result is negative if no part reaches the cutoff.
func (s *scorer) bestWindow(size int, b []rune, cutoff float64) float64 {
	maximum := 2 * size
	limit := int(math.Ceil(float64(maximum) * min(1, 1-cutoff/maxScore+cutoffSlack)))
	closest := math.MaxInt32
	s.distances = s.distances[:0]
	for range len(b) - size {
		s.distances = append(s.distances, -1)
	}
	at := func(i int) int {
		if s.distances[i] < 0 {
			s.distances[i] = s.part.distance(b[i : i+size])
			if s.distances[i] < limit {
				limit, closest = s.distances[i], s.distances[i]
			}
		}
		return s.distances[i]
	}
	s.pending = append(s.pending[:0], offsetRange{0, len(b) - size - 1})
	for next := 0; next < len(s.pending) && closest > 0; next++ {
		w := s.pending[next]
		first, last := at(w.first), at(w.last)
		span := w.last - w.first
		if span <= 1 {
			continue
		}
		bound := max(first, last) - min(first, last)
		if min(first, last)-(span-bound/2)/2*2 < limit {
			middle := w.first + span/2
			s.pending = append(s.pending, offsetRange{w.first, middle}, offsetRange{middle, w.last})
		}
	}
	return (1 - float64(closest)/float64(maximum)) * maxScore
}
