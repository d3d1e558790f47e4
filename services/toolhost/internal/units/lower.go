package units

import (
	"strings"
	"unicode"
)

// lower is Python's str.lower, which knows the form of a sigma at a word's end.
func lower(s string) string {
	if !strings.ContainsAny(s, "Σİ") {
		return strings.ToLower(s)
	}
	text := []rune(s)
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == 'İ':
			out.WriteString("i̇")
		case r == 'Σ' && endsWord(text, i):
			out.WriteRune('ς')
		default:
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return out.String()
}

// endsWord says whether a letter comes before the position and none after it, marks left aside.
func endsWord(text []rune, i int) bool {
	before, after := i-1, i+1
	for before >= 0 && isMark(text[before]) {
		before--
	}
	for after < len(text) && isMark(text[after]) {
		after++
	}
	return before >= 0 && isCased(text[before]) && (after == len(text) || !isCased(text[after]))
}

func isCased(r rune) bool { return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) }

// isMark says whether a character has no say in the form of its neighbours.
func isMark(r rune) bool {
	return strings.ContainsRune("'.:·’‘^`", r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
