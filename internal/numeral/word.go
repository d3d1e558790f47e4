package numeral

import (
	"regexp"
	"strings"
	"unicode"
)

// Span is a byte range of a text.
type Span struct{ Start, End int }

// Token is a word of a text, in lower case and without possessive ending.
type Token struct {
	Span
	Word string
}

// wordForm matches letters and digits, with an apostrophe and what follows it.
var wordForm = regexp.MustCompile(`[\p{L}\p{N}]+(?:['’][\p{L}]+)?`)

// Tokens returns the words of a text with their positions.
func Tokens(text string) []Token {
	spans := wordForm.FindAllStringIndex(text, -1)
	list := make([]Token, len(spans))
	for i, at := range spans {
		list[i] = Token{Span{at[0], at[1]}, TrimPossessive(strings.ToLower(text[at[0]:at[1]]))}
	}
	return list
}

// TrimPossessive removes a possessive ending.
func TrimPossessive(word string) string {
	return strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
}

// Digits returns the digits of a text: 4930123 for +49 30 123.
func Digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

// FoldMarks returns a word in lower case without diacritics: zurich for zürich.
func FoldMarks(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) {
		return word
	}
	return strings.ReplaceAll(strings.Map(plainLetter, word), "ß", "ss")
}

// FoldUmlauts is FoldMarks with transcribed umlauts: zuerich.
func FoldUmlauts(word string) string {
	return FoldMarks(strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa", "ø", "oe", "æ", "ae").Replace(word))
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
