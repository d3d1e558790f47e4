package httpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// redacted replaces a key.
	redacted = "[key]"
	// minSecret is the length of the shortest key to redact. Shorter ones are placeholders for local
	// servers and may be any word.
	minSecret = 8
	// maxSearches is the number of keys whose searches are cached.
	maxSearches = 64
)

// searches caches the searches for the keys in use. The table of one is too large for a stack.
var searches = sync.OnceValue(func() *lru.Cache[string, *search] {
	cache, err := lru.New[string, *search](maxSearches)
	if err != nil {
		panic(err) // the size is positive
	}
	return cache
})

// Redact replaces a key in a text in all encodings in which a server may echo it: verbatim, escaped
// for JSON or a URL, in hex, and in base64, also as part of a longer encoded text. It does not
// change the text itself.
func Redact(text []byte, secret string) []byte {
	if len(secret) < minSecret || len(text) < len(secret) { // no encoding is shorter
		return text
	}
	s, ok := searches().Get(secret)
	if !ok {
		s = newSearch(encodings(secret))
		searches().Add(secret, s)
	}
	return s.redact(text)
}

// encoding is one way to write a key.
type encoding struct {
	text string
	// partialBefore and partialAfter: the base64 character before or after it also holds bits of the
	// key.
	partialBefore, partialAfter bool
}

// encodings returns the distinct encodings of a key.
func encodings(secret string) []encoding {
	var all []encoding
	add := func(text string, begins, ends bool) {
		slashes := strings.ReplaceAll(text, "/", `\/`)
		for _, variant := range []string{
			text, slashes, strings.ReplaceAll(text, "=", `\u003d`), strings.ReplaceAll(slashes, "=", `\u003d`), url.QueryEscape(text), url.PathEscape(text),
		} {
			if f := (encoding{variant, begins, ends}); !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	add(secret, false, false)
	digits := hex.EncodeToString([]byte(secret))
	add(digits, false, false)
	add(strings.ToUpper(digits), false, false)
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // bytes before it in its group of three
			encoded := alphabet.EncodeToString([]byte("\x00\x00"[:before] + secret))
			bits := 8 * (before + len(secret))
			add(encoded[(8*before+5)/6:bits/6], before > 0, bits%6 > 0)
		}
	}
	return all
}

const (
	// maxWindow bounds the part of an encoding that the search compares first.
	maxWindow = 64
	// pairs is the size of the hash table of byte pairs.
	pairs = 1 << 12
)

// search finds all encodings in one pass with the Wu-Manber algorithm. It hashes the last two bytes
// of a window and skips as far as no encoding can match. It is immutable.
type search struct {
	encodings []encoding
	window    int
	skip      [pairs]uint8
}

func newSearch(forms []encoding) *search {
	s := &search{encodings: forms, window: maxWindow}
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
	return s
}

// redact replaces every match in a text.
func (s *search) redact(text []byte) []byte {
	var out []byte
	rest := 0
	for {
		from, to := s.next(text, rest)
		if from < 0 {
			break
		}
		out = append(append(out, text[rest:from]...), redacted...)
		rest = to
	}
	if rest == 0 {
		return text
	}
	return append(out, text[rest:]...)
}

func pair(a, b byte) int { return (int(a)<<5 ^ int(b)) % pairs }

// next returns the first match at or after an index, -1 if there is none. The match includes base64
// characters that hold bits of the key.
func (s *search) next(text []byte, start int) (from, to int) {
	last := s.window - 2
	for from = start; from+last+1 < len(text); {
		if n := s.skip[pair(text[from+last], text[from+last+1])]; n > 0 {
			from += int(n)
			continue
		}
		for _, f := range s.encodings {
			if bytes.HasPrefix(text[from:], []byte(f.text)) {
				return f.extent(text, start, from)
			}
		}
		from++
	}
	return -1, 0
}

// extent returns the range of all characters that hold bits of the key. It begins at start or
// later.
func (f encoding) extent(text []byte, start, at int) (from, to int) {
	from, to = at, at+len(f.text)
	if f.partialBefore && from > start && isBase64(text[from-1]) {
		from--
	}
	if f.partialAfter && to < len(text) && isBase64(text[to]) {
		for to++; to < len(text) && text[to] == '='; {
			to++
		}
	}
	return from, to
}

// isBase64 reports whether a character belongs to a base64 alphabet.
func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("+/-_", c) >= 0
}
