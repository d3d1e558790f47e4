package computed

import (
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// maxScanned bounds the bytes of the view, from its end, that are searched for words.
	maxScanned = 32 << 10
	// maxWords bounds the number of distinct words.
	maxWords = 512
	// maxWord bounds the bytes of one word.
	maxWord = 100
)

// wordsOf returns the distinct words, names, numbers and ids of the view, newest message first,
// after a few constant ones.
func wordsOf(view []*worldv1.Message) []string {
	words := []string{"", "home", "friend", "Hello", "+12453344098", "USD", "Grand Canyon"}
	seen := make(map[string]bool, maxWords)
	for _, word := range words {
		seen[word] = true
	}
	remaining := maxScanned
	for i := len(view) - 1; i >= 0 && remaining > 0; i-- {
		text := messagetext.Content(view[i])
		text = text[:min(len(text), remaining)]
		remaining -= len(text)
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

// separates reports whether r separates words. Ids, phone numbers and decimals stay whole.
func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+-.:_'", r)
}
