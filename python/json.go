package python

import (
	"math"
	"unicode/utf8"
)

// JSONFormat configures json.dumps. The zero value is the format of JSON.
type JSONFormat struct {
	ASCII     bool // escape every character beyond printable ASCII
	Multiline bool // each item on its own line, indented by Indent per level
	Indent    string
	MaxBytes  int // stop soon after so many bytes; 0 is no limit
}

// Append appends the JSON text of v to dst: ", " and ": " as separators, NaN and Infinity for
// numbers that JSON has no text for. Lone surrogates are escaped, unlike Python's, so that the
// result is always valid UTF-8; it reads back as the same value.
func (f JSONFormat) Append(dst []byte, v Value) []byte {
	return (&printer{json: true, JSONFormat: f}).value(dst, v, 0)
}

// JSON returns json.dumps(v, ensure_ascii=False), as JSONFormat.Append writes it.
func JSON(v Value) string { return string(AppendJSON(nil, v)) }

// ASCIIJSON returns json.dumps(v).
func ASCIIJSON(v Value) string { return string(JSONFormat{ASCII: true}.Append(nil, v)) }

// AppendJSON appends JSON(v) to dst.
func AppendJSON(dst []byte, v Value) []byte { return JSONFormat{}.Append(dst, v) }

func appendJSONFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	default:
		return appendFloat(dst, f)
	}
}

func appendJSONText(dst []byte, s string, ascii bool) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := DecodeRune(s[i:])
			dst = appendJSONRune(dst, r, ascii)
			i += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c < ' ' || c == 0x7f && ascii:
			dst = appendHex(append(dst, `\u`...), rune(c), 4)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// appendJSONRune appends a code point beyond ASCII.
func appendJSONRune(dst []byte, r rune, ascii bool) []byte {
	switch {
	case isHigh(r) || isLow(r) || ascii && r < 0x10000:
		return appendHex(append(dst, `\u`...), r, 4)
	case ascii:
		r -= 0x10000
		dst = appendHex(append(dst, `\u`...), surrogateFirst|r>>10, 4)
		return appendHex(append(dst, `\u`...), highLast+1|r&0x3FF, 4)
	default:
		return utf8.AppendRune(dst, r)
	}
}
