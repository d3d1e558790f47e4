package python

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	nanName = "nan"
	infName = "inf"

	surrogateFirst = 0xD800
	surrogateLast  = 0xDFFF
	highLast       = 0xDBFF
)

// Repr returns repr(v).
func Repr(v Value) string { return string(AppendRepr(nil, v)) }

// Text returns str(v): a str as it is, any other value as Repr prints it.
func Text(v Value) string {
	if s, ok := v.v.(string); ok {
		return s
	}
	return Repr(v)
}

// AppendRepr appends repr(v) to dst.
func AppendRepr(dst []byte, v Value) []byte { return (&printer{}).value(dst, v, 0) }

// printer prints values, for Python or as JSON.
type printer struct {
	json bool
	JSONFormat
}

func (p *printer) value(dst []byte, v Value, depth int) []byte {
	if p.MaxBytes > 0 && len(dst) > p.MaxBytes {
		return dst
	}
	switch v := v.v.(type) {
	case nil:
		return p.word(dst, "None", "null")
	case bool:
		if v {
			return p.word(dst, "True", "true")
		}
		return p.word(dst, "False", "false")
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case *big.Int:
		return v.Append(dst, 10)
	case float64:
		if p.json {
			return appendJSONFloat(dst, v)
		}
		return appendFloat(dst, v)
	case string:
		return p.text(dst, v)
	case []Value:
		dst = append(dst, '[')
		for i := range v {
			dst = p.value(p.separate(dst, i, depth+1), v[i], depth+1)
		}
		return append(p.end(dst, len(v), depth), ']')
	case *Dict:
		dst = append(dst, '{')
		for i, item := range v.Items() {
			dst = append(p.text(p.separate(dst, i, depth+1), item.Key), ": "...)
			dst = p.value(dst, item.Value, depth+1)
		}
		return append(p.end(dst, v.Len(), depth), '}')
	default:
		return dst
	}
}

func (p *printer) word(dst []byte, python, json string) []byte {
	if p.json {
		return append(dst, json...)
	}
	return append(dst, python...)
}

func (p *printer) text(dst []byte, s string) []byte {
	if p.json {
		return appendJSONText(dst, s, p.ASCII)
	}
	return appendReprText(dst, s)
}

// separate appends what stands before an item.
func (p *printer) separate(dst []byte, i, depth int) []byte {
	switch {
	case p.Multiline && i > 0:
		return p.newline(append(dst, ','), depth)
	case p.Multiline:
		return p.newline(dst, depth)
	case i > 0:
		return append(dst, ", "...)
	default:
		return dst
	}
}

// end appends what stands behind the last of n items.
func (p *printer) end(dst []byte, n, depth int) []byte {
	if p.Multiline && n > 0 {
		return p.newline(dst, depth)
	}
	return dst
}

func (p *printer) newline(dst []byte, depth int) []byte {
	dst = append(dst, '\n')
	for range depth {
		dst = append(dst, p.Indent...)
	}
	return dst
}

// FormatFloat returns repr(f): the shortest digits that read back as f, with an exponent below 1e-4
// and from 1e16.
func FormatFloat(f float64) string { return string(appendFloat(nil, f)) }

func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, nanName...)
	case math.IsInf(f, 1):
		return append(dst, infName...)
	case math.IsInf(f, -1):
		return append(append(dst, '-'), infName...)
	}
	if size := math.Abs(f); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// appendReprText appends the quoted text, in single quotes unless it has one and no double quote.
func appendReprText(dst []byte, s string) []byte {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	dst = append(dst, quote)
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := DecodeRune(s[i:])
			if Printable(r) {
				dst = utf8.AppendRune(dst, r)
			} else {
				dst = appendEscape(dst, r)
			}
			i += size
			continue
		}
		i++
		switch {
		case c == quote || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < ' ' || c == 0x7f:
			dst = appendEscape(dst, rune(c))
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, quote)
}

func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r < 0x100:
		return appendHex(append(dst, `\x`...), r, 2)
	case r < 0x10000:
		return appendHex(append(dst, `\u`...), r, 4)
	default:
		return appendHex(append(dst, `\U`...), r, 8)
	}
}

func appendHex(dst []byte, r rune, width int) []byte {
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[r>>shift&0xf])
	}
	return dst
}

// ASCII returns a text in which every character beyond ASCII is escaped as ascii() does.
func ASCII(s string) string {
	var dst []byte
	for s != "" {
		r, size := DecodeRune(s)
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
		} else {
			dst = appendEscape(dst, r)
		}
		s = s[size:]
	}
	return string(dst)
}

// DecodeRune is utf8.DecodeRuneInString for WTF-8: lone surrogates come out as themselves.
func DecodeRune(s string) (r rune, size int) {
	r, size = utf8.DecodeRuneInString(s)
	if r != utf8.RuneError || size > 1 || len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return r, size
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
}

// AppendRune is utf8.AppendRune for WTF-8.
func AppendRune(dst []byte, r rune) []byte {
	if r < surrogateFirst || r > surrogateLast {
		return utf8.AppendRune(dst, r)
	}
	return append(dst, 0xED, 0x80|byte(r>>6&0x3F), 0x80|byte(r&0x3F))
}

// RuneCount returns the number of code points of a text.
func RuneCount(s string) int {
	n := 0
	for i := 0; i < len(s); n++ {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := DecodeRune(s[i:])
		i += size
	}
	return n
}

func isHigh(r rune) bool { return r >= surrogateFirst && r <= highLast }

func isLow(r rune) bool { return r > highLast && r <= surrogateLast }
