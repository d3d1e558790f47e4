package source

import (
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// Texts are WTF-8, as in package python: a lone surrogate is three bytes and one code point.

// length returns the number of code points of a text; a lone surrogate, three bytes in our texts, is one.
func length(s string) int {
	n := 0
	for i := 0; i < len(s); n++ {
		i += width(s[i:])
	}
	return n
}

// width returns how many bytes the first code point has.
func width(s string) int {
	if len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80 {
		return 3
	}
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// characters splits a text into its code points.
func (r *run) characters(s string) ([]starlark.Value, error) {
	n := length(s)
	if err := r.allocItems(n); err != nil {
		return nil, err
	}
	items := make([]starlark.Value, 0, n)
	for len(s) > 0 {
		size := width(s)
		items = append(items, starlark.String(s[:size]))
		s = s[size:]
	}
	return items, nil
}
