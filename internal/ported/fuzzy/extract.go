package fuzzy

import (
	"cmp"
	"slices"
)

// Match is a choice that Extract returns.
type Match struct {
	Index int
	Score float64 // 0 to 100
}

// Extract returns the choices whose WRatio with the query is at least cutoff, both after default
// processing. The best is first, equal ones are in the order of choices, and there are at most
// limit. choice returns text i of n. ok is false for a null, which never matches.
func Extract(query string, n int, choice func(i int) (text string, ok bool), cutoff float64, limit int) []Match {
	target := Prepare(query)
	var (
		s       scorer
		text    Text
		matches []Match
	)
	for i := range n {
		raw, ok := choice(i)
		if !ok {
			continue
		}
		text.fill(raw)
		if score := s.weighted(target, &text, cutoff); score >= cutoff {
			matches = append(matches, Match{Index: i, Score: score})
		}
	}
	slices.SortStableFunc(matches, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return matches[:min(len(matches), max(limit, 0))]
}
