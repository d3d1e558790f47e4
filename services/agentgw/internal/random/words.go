package random

import (
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// maxScanned bounds the bytes of the view that are searched for words, from its end.
	maxScanned = 32 << 10
	// maxWords bounds how many different words are kept.
	maxWords = 512
	// maxWord bounds one word.
	maxWord = 100
)

// wordsOf returns words, names, numbers and ids that the view holds, each once, newest message
// first, after a few that are always there.
func wordsOf(view []*worldv1.Message) []string {
	words := []string{"", "home", "friend", "Hello", "+12453344098", "USD", "Grand Canyon"}
	seen := make(map[string]bool, maxWords)
	for _, word := range words {
		seen[word] = true
	}
	left := maxScanned
	for i := len(view) - 1; i >= 0 && left > 0; i-- {
		text := sandbox.Content(view[i])
		text = text[:min(len(text), left)]
		left -= len(text)
		for word := range strings.FieldsFuncSeq(text, separates) {
			word = strings.Trim(word, ".-:'")
			if word == "" || len(word) > maxWord || seen[word] {
				continue
			}
			if len(words) == maxWords {
				return words
			}
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// separates says whether r stands between words: ids, phone numbers and decimals stay whole.
func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-.:_'", r)
}
