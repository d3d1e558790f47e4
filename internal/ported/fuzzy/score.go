package fuzzy

import "slices"

const (
	maxScore = 100.0

	// cutoffSlack is added when a similarity cutoff is converted to a distance cutoff.
	cutoffSlack = 0.00001

	tokenScale         = 0.95 // weight of scores that ignore the order of words
	partialScale       = 0.9  // weight of partial scores below longLengthRatio
	longPartialScale   = 0.6  // weight of partial scores from longLengthRatio
	partialLengthRatio = 1.5  // ratio of lengths from which WRatio uses partial scores
	longLengthRatio    = 8.0
)

// PartialRatio returns the best share of the shorter text and a part of the longer one that their
// longest common subsequence covers.
func PartialRatio(a, b *Text) float64 { return new(scorer).partialRatio(a.whole, b.whole, 0) }

// WRatio returns the best of the other scores, each with its weight. It is 0 if a text is empty.
func WRatio(a, b *Text) float64 { return new(scorer).weighted(a, b, 0) }

// scorer holds memory that scoring reuses.
type scorer struct {
	pattern, part pattern

	shared, onlyA, onlyB [][]rune // words of both texts, or of one
	joinedA, joinedB     []rune   // onlyA and onlyB joined by spaces
	sharedSize           int      // size of the shared words joined by spaces

	distances []int
	pending   []offsetRange
}

// similarity converts a distance between texts of a total length to a score, 0 below the cutoff.
func similarity(distance, total int, cutoff float64) float64 {
	score := 1.0
	if total > 0 {
		score = 1 - float64(distance)/float64(total)
	}
	if score < cutoff/maxScore {
		return 0
	}
	return score * maxScore
}

// setSimilarity is similarity with the rounding that word sets need.
func setSimilarity(distance, total int, cutoff float64) float64 {
	score := maxScore
	if total > 0 {
		score = maxScore - maxScore*float64(distance)/float64(total)
	}
	if score < cutoff {
		return 0
	}
	return score
}

func (s *scorer) distance(a, b []rune) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	s.pattern.prepare(a)
	return s.pattern.distance(b)
}

func (s *scorer) ratio(a, b []rune, cutoff float64) float64 {
	return similarity(s.distance(a, b), len(a)+len(b), cutoff)
}

// splitWords divides the distinct words into those of both texts and those of one.
func (s *scorer) splitWords(a, b *Text) {
	s.shared, s.onlyA, s.onlyB = s.shared[:0], s.onlyA[:0], s.onlyB[:0]
	i, j := 0, 0
	for i < len(a.words) || j < len(b.words) {
		switch order := compareNext(a.words, b.words, i, j); {
		case order < 0:
			s.onlyA = append(s.onlyA, a.words[i])
			i = skipEqual(a.words, i)
		case order > 0:
			s.onlyB = append(s.onlyB, b.words[j])
			j = skipEqual(b.words, j)
		default:
			s.shared = append(s.shared, a.words[i])
			i, j = skipEqual(a.words, i), skipEqual(b.words, j)
		}
	}
	s.joinedA, s.joinedB = join(s.joinedA[:0], s.onlyA), join(s.joinedB[:0], s.onlyB)
	s.sharedSize = max(0, len(s.shared)-1)
	for _, word := range s.shared {
		s.sharedSize += len(word)
	}
}

// compareNext compares the next words of both lists. The end of a list is greater than any word.
func compareNext(a, b [][]rune, i, j int) int {
	switch {
	case i == len(a):
		return 1
	case j == len(b):
		return -1
	default:
		return slices.Compare(a[i], b[j])
	}
}

// skipEqual returns the index of the first word after i that differs from it.
func skipEqual(words [][]rune, i int) int {
	next := i + 1
	for next < len(words) && slices.Equal(words[i], words[next]) {
		next++
	}
	return next
}

// setRatio compares the word sets of splitWords. score is the best score so far.
func (s *scorer) setRatio(score, cutoff float64) float64 {
	if len(s.shared) > 0 && (len(s.onlyA) == 0 || len(s.onlyB) == 0) {
		return maxScore
	}
	space := min(1, s.sharedSize)
	restA, restB := space+len(s.joinedA), space+len(s.joinedB)
	sizeA, sizeB := s.sharedSize+restA, s.sharedSize+restB
	score = max(score, setSimilarity(s.distance(s.joinedA, s.joinedB), sizeA+sizeB, cutoff))
	if s.sharedSize == 0 {
		return score
	}
	return max(score,
		setSimilarity(restA, s.sharedSize+sizeA, cutoff),
		setSimilarity(restB, s.sharedSize+sizeB, cutoff))
}

func (s *scorer) tokenRatio(a, b *Text, cutoff float64) float64 {
	if cutoff > maxScore {
		return 0
	}
	s.splitWords(a, b)
	if len(s.shared) > 0 && (len(s.onlyA) == 0 || len(s.onlyB) == 0) {
		return maxScore
	}
	return s.setRatio(s.ratio(a.sorted, b.sorted, cutoff), cutoff)
}

func (s *scorer) partialTokenRatio(a, b *Text, cutoff float64) float64 {
	if cutoff > maxScore {
		return 0
	}
	if s.splitWords(a, b); len(s.shared) > 0 {
		return maxScore
	}
	score := s.partialRatio(a.sorted, b.sorted, cutoff)
	if len(a.words) == len(s.onlyA) && len(b.words) == len(s.onlyB) {
		return score
	}
	return max(score, s.partialRatio(s.joinedA, s.joinedB, max(cutoff, score)))
}

// weighted is WRatio. A score below the cutoff may be too low.
func (s *scorer) weighted(a, b *Text, cutoff float64) float64 {
	if cutoff > maxScore || len(a.whole) == 0 || len(b.whole) == 0 {
		return 0
	}
	lengths := float64(max(len(a.whole), len(b.whole))) / float64(min(len(a.whole), len(b.whole)))
	score := s.ratio(a.whole, b.whole, cutoff)
	if lengths < partialLengthRatio {
		return max(score, s.tokenRatio(a, b, max(cutoff, score)/tokenScale)*tokenScale)
	}
	scale := partialScale
	if lengths >= longLengthRatio {
		scale = longPartialScale
	}
	cutoff = max(cutoff, score) / scale
	score = max(score, s.partialRatio(a.whole, b.whole, cutoff)*scale)
	cutoff = max(cutoff, score) / tokenScale
	return max(score, s.partialTokenRatio(a, b, cutoff)*tokenScale*scale)
}
