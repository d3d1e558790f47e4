package usercheck

import (
	"regexp"
	"strings"
	"unicode"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// token is a word of a text, in lower case and without a possessive.
type token struct {
	span
	word string
}

// wordForm is letters and digits; what follows an apostrophe belongs to it.
var wordForm = regexp.MustCompile(`[\p{L}\p{N}]+(?:['’][\p{L}]+)?`)

// tokens returns the words of a text and where they stand.
func tokens(text string) []token {
	spans := wordForm.FindAllStringIndex(text, -1)
	list := make([]token, len(spans))
	for i, at := range spans {
		list[i] = token{span{at[0], at[1]}, bare(strings.ToLower(text[at[0]:at[1]]))}
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

// bare cuts a possessive.
func bare(word string) string { return strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s") }

// turned is a word as both sides would say it: what is yours to the one who gives the instructions
// is mine to the user.
func turned(word string) string {
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

// sentences cuts a text after each sentence and line.
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

// before returns what stands shortly before a place in a text.
func before(text string, at int) string { return tail(text[:at]) }

// tail returns the end of a text.
func tail(text string) string {
	const enough = 40
	return text[max(0, len(text)-enough):]
}

// folded returns a word in lower case with plain letters: zurich for zürich.
func folded(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) {
		return word
	}
	return strings.ReplaceAll(strings.Map(plainLetter, word), "ß", "ss")
}

// transcribed is folded for those who write zuerich.
func transcribed(word string) string {
	return folded(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa", "ø", "oe", "æ", "ae").Replace(word))
}

// plainLetter takes the mark off a letter.
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

// head returns the part of a text that is looked at.
func head(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

// clip shortens an evidence to whole runes.
func clip(text string) string {
	if len(text) <= maxEvidence {
		return text
	}
	return strings.ToValidUTF8(text[:maxEvidence], "") + "…"
}
