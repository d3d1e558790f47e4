// Package fuzzy scores the similarity of texts with the results of rapidfuzz 3.9. It has WRatio,
// the scorers that WRatio uses, default processing, and a search for the best matches.
//
// Scores are 0 to 100. All functions are pure. A Text is safe for concurrent use.
package fuzzy

import "slices"

// Text is a text prepared for scoring. It needs about eight times the memory of the text.
type Text struct {
	whole  []rune
	words  [][]rune // sorted
	sorted []rune   // the sorted words, joined by single spaces
}

// Prepare returns the text after default processing. It replaces characters that are neither
// letters nor digits by spaces, converts to lower case and trims both ends.
func Prepare(text string) *Text {
	t := &Text{}
	t.fill(text)
	return t
}

// Process returns a text after default processing.
func Process(text string) string { return string(Prepare(text).whole) }

// fill sets t to a text and reuses t's memory.
func (t *Text) fill(text string) {
	t.whole, t.words, t.sorted = t.whole[:0], t.words[:0], t.sorted[:0]
	for _, r := range text {
		if r = processRune(r); r != ' ' || len(t.whole) > 0 {
			t.whole = append(t.whole, r)
		}
	}
	for len(t.whole) > 0 && t.whole[len(t.whole)-1] == ' ' {
		t.whole = t.whole[:len(t.whole)-1]
	}
	start := 0
	for i := 0; i <= len(t.whole); i++ {
		if i < len(t.whole) && t.whole[i] != ' ' {
			continue
		}
		if i > start {
			t.words = append(t.words, t.whole[start:i])
		}
		start = i + 1
	}
	slices.SortFunc(t.words, slices.Compare[[]rune])
	t.sorted = join(t.sorted, t.words)
}

// join appends the words, separated by spaces, to an empty dst.
func join(dst []rune, words [][]rune) []rune {
	for i, word := range words {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, word...)
	}
	return dst
}
