package expression

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/runenames"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// number reads a number.
func number(text string) (object, bool) {
	if digits, imaginary := strings.CutSuffix(strings.ToLower(text), "j"); imaginary {
		f, err := strconv.ParseFloat(strings.ReplaceAll(digits, "_", ""), 64)
		return object{kind: kindComplex, imag: f}, err == nil || f != 0
	}
	value, err := python.ParseLiteral(text)
	return fromPython(value), err == nil
}

// word reads a constant that has a name.
func word(name string) object {
	if name == "None" {
		return object{}
	}
	return truth(name == "True")
}

// texts reads adjacent text literals.
func (p *parser) texts() *node {
	n := &node{kind: nodeConstant}
	if strings.HasPrefix(p.next().text, "u") {
		n.text = "u"
	}
	joined := pieces{node: &node{kind: nodeJoined}}
	formats, bytes, count := false, 0, 0
	for ; p.at(tokenText); count++ {
		source := p.next().text
		p.pos++
		start := strings.IndexAny(source, `'"`)
		prefix, quotes := strings.ToLower(source[:start]), 1
		if body := source[start:]; len(body) >= 6 && strings.HasPrefix(body, strings.Repeat(body[:1], 3)) {
			quotes = 3
		}
		body := source[start+quotes : len(source)-quotes]
		raw := strings.Contains(prefix, "r")
		switch {
		case strings.Contains(prefix, "b"):
			bytes++
			p.literal(&joined, body, raw, true)
		case strings.Contains(prefix, "f"):
			formats = true
			f := format{parser: p, body: body, raw: raw}
			if f.read(&joined, 0); f.pos < len(body) {
				p.fail()
			}
		default:
			p.literal(&joined, body, raw, false)
		}
	}
	switch {
	case bytes > 0 && bytes < count:
		return p.fail()
	case formats:
		joined.flush()
		return joined.node
	case bytes > 0:
		n.text, n.value = "", object{kind: kindBytes, text: joined.text.String()}
	default:
		n.value = object{kind: kindText, text: joined.text.String()}
	}
	return n
}

// literal adds what a literal stands for.
func (p *parser) literal(to *pieces, body string, raw, bytes bool) {
	if bytes && strings.ContainsFunc(body, func(r rune) bool { return r >= utf8.RuneSelf }) {
		p.fail()
	}
	for !raw {
		plain, escape, ok := strings.Cut(body, `\`)
		to.text.WriteString(plain)
		if !ok {
			return
		}
		length := to.escape(escape, bytes)
		if length < 0 {
			p.fail()
			return
		}
		body = escape[length:]
	}
	to.text.WriteString(body)
}

// pieces are the parts of a text while it is read.
type pieces struct {
	node *node
	text strings.Builder
}

// flush makes a constant of the text since the last part.
func (s *pieces) flush() {
	if s.text.Len() > 0 {
		s.node.add(&node{kind: nodeConstant, value: object{kind: kindText, text: s.text.String()}})
		s.text.Reset()
	}
}

// wrong is the length of an escape that is none. It stays below zero with that of the letter before it.
const wrong = -2

// escape adds what stands behind a backslash, and returns its length.
func (s *pieces) escape(source string, bytes bool) int {
	if source == "" { // a brace follows
		s.text.WriteByte('\\')
		return 0
	}
	if i := strings.IndexByte("\n\\'\"abfnrtv", source[0]); i >= 0 {
		if i > 0 {
			s.text.WriteByte("\n\\'\"\a\b\f\n\r\t\v"[i])
		}
		return 1
	}
	switch c := source[0]; {
	case c >= '0' && c <= '7':
		length := 1
		for length < 3 && length < len(source) && source[length] >= '0' && source[length] <= '7' {
			length++
		}
		return s.code(source[:length], 8, bytes)
	case c == 'x':
		return 1 + s.hex(source[1:], 2, bytes)
	case c == 'u' && !bytes:
		return 1 + s.hex(source[1:], 4, false)
	case c == 'U' && !bytes:
		return 1 + s.hex(source[1:], 8, false)
	case c == 'N' && !bytes:
		name, ok := strings.CutPrefix(source, "N{")
		name, _, ended := strings.Cut(name, "}")
		r, known := named()[strings.ToUpper(name)]
		if !ok || !ended || !known {
			return wrong
		}
		s.text.WriteRune(r)
		return len("N{}") + len(name)
	default:
		s.text.WriteByte('\\')
		return 0
	}
}

// hex adds the character of so many digits. It returns wrong where they are none.
func (s *pieces) hex(source string, digits int, bytes bool) int {
	if len(source) < digits || strings.Trim(source[:digits], "0123456789abcdefABCDEF") != "" {
		return wrong
	}
	return s.code(source[:digits], 16, bytes)
}

func (s *pieces) code(digits string, base int, bytes bool) int {
	r, err := strconv.ParseUint(digits, base, 32)
	switch {
	case err != nil || r > utf8.MaxRune:
		return wrong
	case bytes:
		s.text.WriteByte(byte(r))
	default:
		s.text.WriteString(runeText(rune(r)))
	}
	return len(digits)
}

// runeText writes a character, a surrogate too.
func runeText(r rune) string {
	if r >= 0xD800 && r <= 0xDFFF {
		return string([]byte{0xE0 | byte(r>>12), 0x80 | byte(r>>6&0x3F), 0x80 | byte(r&0x3F)})
	}
	return string(r)
}

// named are the characters that have a name of their own, which excludes ideographs.
var named = sync.OnceValue(func() map[string]rune {
	runes := make(map[string]rune)
	for r := range rune(utf8.MaxRune) {
		if name := runenames.Name(r); name != "" && name[0] != '<' {
			runes[name] = r
		}
	}
	return runes
})
