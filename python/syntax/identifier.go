package syntax

import (
	"unicode"
	"unicode/utf8"
)

// identifierRune reports whether a code point may stand in a Python name; only some may be its
// first.
func identifierRune(r rune, first bool) bool {
	switch {
	case r < utf8.RuneSelf:
		return r == '_' || r|0x20 >= 'a' && r|0x20 <= 'z' || !first && r >= '0' && r <= '9'
	case unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start):
		return r != utf8.RuneError
	default:
		return !first && unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
	}
}

// IsIdentifier reports whether s is a Python name that is no keyword.
func IsIdentifier(s string) bool {
	for i, r := range s {
		if !identifierRune(r, i == 0) {
			return false
		}
	}
	return s != "" && !IsKeyword(s)
}

// IsKeyword reports whether a word is one of Python's own: a keyword, or True, False or None.
func IsKeyword(s string) bool {
	switch s {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
		"elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
		"not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "__peg_parser__":
		return true
	default:
		return false
	}
}
