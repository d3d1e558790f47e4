package results

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNesting bounds how deep arguments nest.
const maxNesting = 200

// callArguments returns the arguments of a call message as JSON text. A message that is not written the way calls are
// gives its source instead.
func callArguments(source string) string {
	line, _, _ := strings.Cut(source, "\n")
	_, text, ok := strings.Cut(line, "_parameters = ")
	if !ok {
		return source
	}
	p := literal{rest: text}
	if !p.value(0) || p.rest != "" {
		return source
	}
	return p.out.String()
}

// literal rewrites a Python literal as the JSON text that Python's json module writes for it.
type literal struct {
	rest string
	out  strings.Builder
}

// take skips a prefix.
func (p *literal) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// value rewrites one value. Literals are written by repr: no comments, single spaces.
func (p *literal) value(depth int) bool {
	if depth > maxNesting || p.rest == "" {
		return false
	}
	for _, word := range [...][2]string{
		{"None", "null"}, {"True", "true"}, {"False", "false"}, {"nan", "NaN"}, {"inf", "Infinity"}, {"-inf", "-Infinity"},
	} {
		if p.take(word[0]) {
			p.out.WriteString(word[1])
			return true
		}
	}
	switch p.rest[0] {
	case '{':
		return p.list("{", "}", depth, true)
	case '[':
		return p.list("[", "]", depth, false)
	case '\'', '"':
		text, ok := p.text()
		p.out.WriteString(quote(text))
		return ok
	default:
		return p.number()
	}
}

// list rewrites a dictionary or a list.
func (p *literal) list(open, end string, depth int, keyed bool) bool {
	p.take(open)
	p.out.WriteString(open)
	for first := true; ; first = false {
		if p.take(end) {
			p.out.WriteString(end)
			return true
		}
		if !first {
			if !p.take(", ") {
				return false
			}
			p.out.WriteString(", ")
		}
		if keyed {
			if !p.value(depth + 1) {
				return false
			}
			if !p.take(": ") {
				return false
			}
			p.out.WriteString(": ")
		}
		if !p.value(depth + 1) {
			return false
		}
	}
}

// number copies a number; repr spells numbers as JSON does.
func (p *literal) number() bool {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !strings.ContainsRune("+-.0123456789e", r) })
	if end < 0 {
		end = len(p.rest)
	}
	spelling := p.rest[:end]
	if strings.Trim(spelling, "-0123456789") != "" {
		if _, err := strconv.ParseFloat(spelling, 64); err != nil {
			return false
		}
	}
	p.out.WriteString(spelling)
	p.rest = p.rest[end:]
	return end > 0
}

// text reads a quoted text with repr's escapes.
func (p *literal) text() (string, bool) {
	end := p.rest[0]
	p.rest = p.rest[1:]
	var out strings.Builder
	for p.rest != "" {
		r, size := utf8.DecodeRuneInString(p.rest)
		switch {
		case p.rest[0] == end:
			p.rest = p.rest[1:]
			return out.String(), true
		case r == '\\':
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			out.WriteRune(r)
		default:
			out.WriteString(p.rest[:size])
			p.rest = p.rest[size:]
		}
	}
	return "", false
}

// escape reads one escape sequence.
func (p *literal) escape() (rune, bool) {
	if len(p.rest) < 2 {
		return 0, false
	}
	kind := p.rest[1]
	p.rest = p.rest[2:]
	digits := 0
	switch kind {
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case '\\', '\'', '"':
		return rune(kind), true
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	}
	if digits == 0 || len(p.rest) < digits {
		return 0, false
	}
	code, err := strconv.ParseUint(p.rest[:digits], 16, 32)
	p.rest = p.rest[digits:]
	return rune(code), err == nil && code <= utf8.MaxRune
}

// quote writes a JSON string with no escapes beyond what JSON demands.
func quote(text string) string {
	raw, err := compact(text)
	if err != nil { // a string always encodes
		return `""`
	}
	return string(raw)
}
