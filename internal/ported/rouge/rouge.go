// Package rouge computes the ROUGE-L F-measure of a prediction and a target text, which is based on
// the longest common subsequence of stemmed tokens.
//
// A text is tokenized and stemmed once for many comparisons. The bit-parallel algorithm handles 64
// target tokens per machine word. A bit is set while its position does not end a longer common
// subsequence. One addition with carry processes one token of the prediction.
package rouge

import (
	"math/bits"
	"unicode/utf8"
)

// Tokens is a text as an ordered list of stems. It is read-only after Tokenize.
type Tokens []string

// Tokenize converts text to lower case, splits it at everything but ASCII letters and digits, and
// stems tokens of more than three characters.
func Tokenize(text string) Tokens {
	var tokens Tokens
	tokenize(text, func(token []byte) { tokens = append(tokens, string(token)) })
	return tokens
}

// tokenize calls yield with each token of a text, which is valid until the next one.
func tokenize(text string, yield func(token []byte)) {
	word := make([]byte, 0, 32)
	flush := func() {
		if len(word) > 3 {
			word = stem(word)
		}
		if len(word) > 0 {
			yield(word)
		}
		word = word[:0]
	}
	for i := 0; i < len(text); {
		letter, size := text[i], 1
		split := false
		if letter >= utf8.RuneSelf {
			letter, size, split = foldNonASCII(text[i:])
		}
		i += size
		switch {
		case letter >= 'a' && letter <= 'z' || letter >= '0' && letter <= '9':
			word = append(word, letter)
		case letter >= 'A' && letter <= 'Z':
			word = append(word, letter+('a'-'A'))
		default:
			flush()
		}
		if split {
			flush()
		}
	}
	flush()
}

// foldNonASCII returns the contribution of the first character of text, which is not ASCII, to a
// token. The two characters whose lower case begins with an ASCII letter yield that letter, and the
// dotted capital I also splits the token. All others yield a space.
func foldNonASCII(text string) (letter byte, size int, split bool) {
	char, size := utf8.DecodeRuneInString(text)
	switch char {
	case '\u0130':
		return 'i', size, true
	case '\u212A':
		return 'k', size, false
	}
	return ' ', size, false
}

// Target is a tokenized text to compare predictions with. It is read-only and safe for concurrent
// use.
type Target struct {
	length int
	words  int
	// slot is a token's position in masks, in units of words.
	slot  map[string]int32
	masks []uint64
}

// NewTarget prepares text as a target.
func NewTarget(text string) *Target {
	tokens := Tokenize(text)
	target := &Target{length: len(tokens), words: (len(tokens) + 63) / 64, slot: make(map[string]int32, len(tokens))}
	for i, token := range tokens {
		start, ok := target.slot[token]
		if !ok {
			start = int32(len(target.masks))
			target.slot[token] = start
			target.masks = append(target.masks, make([]uint64, target.words)...)
		}
		target.masks[int(start)+i/64] |= 1 << (i % 64)
	}
	return target
}

// fMeasure returns the F-measure of a prediction by its length and the length of the longest common
// subsequence. It is 0 if either text has no token.
func (t *Target) fMeasure(common, length int) float64 {
	if common == 0 {
		return 0
	}
	precision := float64(common) / float64(length)
	recall := float64(common) / float64(t.length)
	return 2 * precision * recall / (precision + recall)
}

// commonLength returns the length of the longest common subsequence.
func (t *Target) commonLength(prediction Tokens) int {
	slots := make([]int32, 0, len(prediction))
	for _, token := range prediction {
		if at, ok := t.slot[token]; ok {
			slots = append(slots, at)
		}
	}
	return t.commonSlots(slots)
}

// commonSlots is commonLength for the slots of those tokens that are in the target.
func (t *Target) commonSlots(prediction []int32) int {
	switch {
	case len(prediction) == 0:
		return 0
	case t.words > 1:
		return t.commonSlotsLong(prediction)
	}
	row := ^uint64(0)
	for _, at := range prediction {
		matched := row & t.masks[at]
		row = (row + matched) | (row &^ matched)
	}
	return bits.OnesCount64(^row & (^uint64(0) >> (64 - t.length)))
}

// stackWords is the number of 64-bit words on the stack of a comparison: 1024 tokens.
const stackWords = 16

// commonSlotsLong is commonSlots for targets of more than 64 tokens.
func (t *Target) commonSlotsLong(prediction []int32) int {
	var space [stackWords]uint64
	row := space[:]
	if t.words > stackWords {
		row = make([]uint64, t.words)
	}
	row = row[:t.words]
	for i := range row {
		row[i] = ^uint64(0)
	}
	for _, at := range prediction {
		carry := uint64(0)
		for i, mask := range t.masks[at : int(at)+t.words] {
			matched := row[i] & mask
			var sum uint64
			sum, carry = bits.Add64(row[i], matched, carry)
			row[i] = sum | (row[i] &^ matched)
		}
	}
	last := t.words - 1
	count := bits.OnesCount64(^row[last] & (^uint64(0) >> (64*t.words - t.length)))
	for _, word := range row[:last] {
		count += bits.OnesCount64(^word)
	}
	return count
}
