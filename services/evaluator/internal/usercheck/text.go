package usercheck

import (
	"regexp"
	"strings"
	"unicode"
)

// span is a byte range of a text.
type span struct{ start, end int }

// token is a word of a text, in lower case and without possessive ending.
type token struct {
	span
	word string
}

// wordForm matches letters and digits, with an apostrophe and what follows it.
var wordForm = regexp.MustCompile(`[\p{L}\p{N}]+(?:['’][\p{L}]+)?`)

// tokens returns the words of a text with their positions.
func tokens(text string) []token {
	spans := wordForm.FindAllStringIndex(text, -1)
	list := make([]token, len(spans))
	for i, at := range spans {
		list[i] = token{span{at[0], at[1]}, trimPossessive(strings.ToLower(text[at[0]:at[1]]))}
	}
	return list
}

// words returns the words of a text.
func words(text string) []string {
	list := tokens(text)
	plain := make([]string, len(list))
	for i, t := range list {
		plain[i] = t.word
	}
	return plain
}

// trimPossessive removes a possessive ending.
func trimPossessive(word string) string {
	return strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
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
func sentences(text string) []span {
	var list []span
	start := 0
	for _, stop := range append(sentenceEnd.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if strings.TrimSpace(text[start:stop[1]]) != "" {
			list = append(list, span{start, stop[1]})
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

// foldMarks returns a word in lower case without diacritics: zurich for zürich.
func foldMarks(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) {
		return word
	}
	return strings.ReplaceAll(strings.Map(plainLetter, word), "ß", "ss")
}

// foldUmlauts is foldMarks with transcribed umlauts: zuerich.
func foldUmlauts(word string) string {
	return foldMarks(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa", "ø", "oe", "æ", "ae").Replace(word))
}

// plainLetter removes the diacritic of a letter.
func plainLetter(letter rune) rune {
	if letter <= unicode.MaxASCII {
		return letter
	}
	for _, marked := range []string{
		"aáàâãäåāăą", "cçćč", "dďđ", "eéèêëēėęě", "gğ",
		"iíìîïīįı", "lł", "nñńň", "oóòôõöøōő", "rř",
		"sśšşș", "tťţț", "uúùûüūůűų", "yýÿ", "zźžż",
	} {
		if strings.ContainsRune(marked, letter) {
			return rune(marked[0])
		}
	}
	return letter
}

// truncate returns the part of a text that is checked.
func truncate(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

// clip truncates evidence at a rune boundary.
func clip(text string) string {
	if len(text) <= maxEvidence {
		return text
	}
	return strings.ToValidUTF8(text[:maxEvidence], "") + "…"
}
