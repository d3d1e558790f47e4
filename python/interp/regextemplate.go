package interp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python/regex"
)

// part is a part of a replacement: a text, or the number of a group.
type part struct {
	text  string
	group int
}

// badTemplate returns the error of a replacement at a byte.
func badTemplate(template string, at int, format string, args ...any) error {
	return wrongPattern(&regex.Error{Reason: fmt.Sprintf(format, args...), Position: length(template[:at]), Pattern: template})
}

// template parses a replacement.
func (m *machine) template(p *pattern, template string) (parts []part) {
	m.chargeSteps(len(template) / 8)
	m.alloc(2 * len(template))
	var out strings.Builder
	group := func(number int) {
		m.allocItems(1)
		parts = append(parts, part{text: out.String()}, part{group: number + 1})
		out.Reset()
	}
	for at := 0; at < len(template); {
		c := template[at]
		if c != '\\' || at+1 >= len(template) {
			if c == '\\' {
				panic(badTemplate(template, at, "bad escape (end of pattern)"))
			}
			out.WriteByte(c)
			at++
			continue
		}
		next := template[at+1]
		switch plain := strings.IndexByte(`abfnrtv\`, next); {
		case plain >= 0:
			out.WriteByte("\a\b\f\n\r\t\v\\"[plain])
			at += 2
		case next == 'g':
			number, end := templateGroup(p, template, at)
			group(number)
			at = end
		case next >= '0' && next <= '9':
			r, number, end := templateNumber(p, template, at)
			if number < 0 {
				out.WriteString(string(r))
			} else {
				group(number)
			}
			at = end
		case next|0x20 >= 'a' && next|0x20 <= 'z':
			panic(badTemplate(template, at, `bad escape \%c`, next))
		default:
			out.WriteByte(c)
			at++
		}
	}
	return append(parts, part{text: out.String()})
}

// templateGroup reads \g<name>.
func templateGroup(p *pattern, template string, at int) (number, end int) {
	rest := template[at+2:]
	if !strings.HasPrefix(rest, "<") {
		panic(badTemplate(template, at+2, "missing <"))
	}
	name, _, closed := strings.Cut(rest[1:], ">")
	switch {
	case !closed && name == "":
		panic(badTemplate(template, at+3, "missing group name"))
	case !closed:
		panic(badTemplate(template, at+3, "missing >, unterminated name"))
	case name == "":
		panic(badTemplate(template, at+3, "missing group name"))
	}
	end = at + 4 + len(name)
	number, err := strconv.Atoi(name)
	if err == nil {
		if number > p.Groups || number < 0 {
			panic(badTemplate(template, at+3, "invalid group reference %d", number))
		}
		return number, end
	}
	number, ok := p.Group(name)
	if !ok {
		panic(raise("IndexError", "unknown group name '%s'", name))
	}
	return number, end
}

// templateNumber reads a reference such as \1, or an octal escape, for which number is -1.
func templateNumber(p *pattern, template string, at int) (r rune, number, end int) {
	digit := func(i int, highest byte) bool {
		return i < len(template) && template[i] >= '0' && template[i] <= highest
	}
	end = at + 2
	octal := func() (rune, int, int) {
		value, _ := strconv.ParseUint(template[at+1:end], 8, 32)
		if value > 0o377 {
			panic(badTemplate(template, at, `octal escape value %s outside of range 0-0o377`, template[at:end]))
		}
		return rune(value), -1, end
	}
	if template[at+1] == '0' {
		for end < at+4 && digit(end, '7') {
			end++
		}
		return octal()
	}
	if digit(end, '9') {
		if end++; digit(at+1, '7') && digit(at+2, '7') && digit(at+3, '7') {
			end = at + 4
			return octal()
		}
	}
	number, _ = strconv.Atoi(template[at+1 : end])
	if number > p.Groups {
		panic(badTemplate(template, at+1, "invalid group reference %d", number))
	}
	return 0, number, end
}

// expand fills in a replacement.
func (m *machine) expand(parts []part, found *match) string {
	var out strings.Builder
	for _, piece := range parts {
		text := piece.text
		if piece.group > 0 {
			text, _ = found.group(piece.group-1, "").(string)
		}
		m.alloc(2 * len(text))
		out.WriteString(text)
	}
	return out.String()
}
