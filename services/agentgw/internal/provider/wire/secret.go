package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
)

const (
	// hidden stands where a key was.
	hidden = "[key]"
	// leastSecret is the length of the shortest key that is hidden. Shorter ones are placeholders
	// for local servers, and may be any word.
	leastSecret = 8
)

// Hide takes a key out of a text, in the forms in which a server may say it again: as it is,
// escaped for JSON or for a URL, in hex, and in base64, where it may stand within what else was
// encoded. The text itself is not changed.
func Hide(text []byte, secret string) []byte {
	if len(secret) < leastSecret || len(text) < len(secret) { // no form is shorter
		return text
	}
	var s search
	s.prepare(forms(secret))
	var out []byte
	rest := 0
	for {
		from, to := s.next(text, rest)
		if from < 0 {
			break
		}
		out = append(append(out, text[rest:from]...), hidden...)
		rest = to
	}
	if rest == 0 {
		return text
	}
	return append(out, text[rest:]...)
}

// form is one way to write a key.
type form struct {
	text string
	// begins and ends say that some bits of the key are in the character before or after it.
	begins, ends bool
}

// forms returns the ways to write a key, each once.
func forms(secret string) []form {
	var all []form
	add := func(text string, begins, ends bool) {
		slashes := strings.ReplaceAll(text, "/", `\/`)
		for _, spelled := range []string{
			text, slashes, strings.ReplaceAll(text, "=", `\u003d`), strings.ReplaceAll(slashes, "=", `\u003d`), url.QueryEscape(text), url.PathEscape(text),
		} {
			if f := (form{spelled, begins, ends}); !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	add(secret, false, false)
	digits := hex.EncodeToString([]byte(secret))
	add(digits, false, false)
	add(strings.ToUpper(digits), false, false)
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // bytes that stand before it in its group of three
			encoded := alphabet.EncodeToString([]byte("\x00\x00"[:before] + secret))
			bits := 8 * (before + len(secret))
			add(encoded[(8*before+5)/6:bits/6], before > 0, bits%6 > 0)
		}
	}
	return all
}

const (
	// maxWindow bounds how much of a form is looked for before all of it is compared.
	maxWindow = 64
	// pairs is how many kinds of two bytes are told apart.
	pairs = 1 << 12
)

// search looks for all forms in one pass. Of a window it reads the last two bytes first, and moves
// on by as much as no form can have them further left (after Wu and Manber).
type search struct {
	forms  []form
	window int
	skip   [pairs]uint8
}

func (s *search) prepare(forms []form) {
	s.forms, s.window = forms, maxWindow
	for _, f := range forms {
		s.window = min(s.window, len(f.text))
	}
	for i := range s.skip {
		s.skip[i] = uint8(s.window - 1)
	}
	for _, f := range forms {
		for i := range s.window - 1 {
			at := &s.skip[pair(f.text[i], f.text[i+1])]
			*at = min(*at, uint8(s.window-2-i))
		}
	}
}

func pair(a, b byte) int { return (int(a)<<5 ^ int(b)) % pairs }

// next returns where the first form is that begins at or after an index, -1 if none does.
// Characters of base64 that hold some of its bits are a part of it.
func (s *search) next(text []byte, start int) (from, to int) {
	last := s.window - 2
	for from = start; from+last+1 < len(text); {
		if n := s.skip[pair(text[from+last], text[from+last+1])]; n > 0 {
			from += int(n)
			continue
		}
		for _, f := range s.forms {
			if bytes.HasPrefix(text[from:], []byte(f.text)) {
				return f.whole(text, start, from)
			}
		}
		from++
	}
	return -1, 0
}

// whole returns all that holds bits of a key whose form stands in a text; nothing before start
// belongs to it.
func (f form) whole(text []byte, start, at int) (from, to int) {
	from, to = at, at+len(f.text)
	if f.begins && from > start && encodes(text[from-1]) {
		from--
	}
	if f.ends && to < len(text) && encodes(text[to]) {
		for to++; to < len(text) && text[to] == '='; {
			to++
		}
	}
	return from, to
}

// encodes says whether a character belongs to base64.
func encodes(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}
