package usercheck

import (
	"regexp"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/numeral"
	"github.com/toolsandbox/toolsandbox/internal/spelling"
)

// words returns the words of a text.
func words(text string) []string {
	list := numeral.Tokens(text)
	plain := make([]string, len(list))
	for i, t := range list {
		plain[i] = t.Word
	}
	return plain
}

// swapPerson returns a word in a common grammatical person: the instructions' "your" is the user's
// "my".
func swapPerson(word string) string {
	switch word {
	case "you", "me", "i":
		return "i"
	case "your", "my":
		return "my"
	case "yours", "mine":
		return "mine"
	case "yourself", "myself":
		return "myself"
	case "are", "am":
		return "am"
	}
	return word
}

// sentences splits a text after each sentence and line.
func sentences(text string) []numeral.Span {
	var list []numeral.Span
	start := 0
	for _, stop := range append(sentenceEnd.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if strings.TrimSpace(text[start:stop[1]]) != "" {
			list = append(list, numeral.Span{Start: start, End: stop[1]})
		}
		start = stop[1]
	}
	return list
}

var sentenceEnd = regexp.MustCompile(`[.!?]\s|\n`)

// contextBefore returns the text shortly before a position.
func contextBefore(text string, at int) string { return endOf(text[:at]) }

// endOf returns the end of a text.
func endOf(text string) string {
	const enough = 40
	return text[max(0, len(text)-enough):]
}

// truncate returns the part of a text that is checked.
func truncate(text string) string { return spelling.Beginning(text, maxText) }
