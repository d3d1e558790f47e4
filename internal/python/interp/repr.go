package interp

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/limit"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
)

// printer writes repr texts.
type printer struct {
	*machine
	out   []byte
	path  []any // the containers around
	depth int
}

// repr returns repr(v).
func (m *machine) repr(v any) string {
	p := printer{machine: m}
	p.value(v)
	m.alloc(len(p.out))
	return string(p.out)
}

// str returns str(v).
func (m *machine) str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case *exception:
		return m.exceptionText(v)
	default:
		return m.repr(v)
	}
}

// decimal returns the digits of an int.
func decimal(i *big.Int) string {
	if i.BitLen() > limit.Bits+64 {
		panic(tooLarge())
	}
	text := i.String()
	if len(strings.TrimPrefix(text, "-")) > limit.Digits {
		panic(raise("ValueError", "Exceeds the limit (%d) for integer string conversion", limit.Digits))
	}
	return text
}

func (p *printer) value(v any) {
	p.spend(1)
	if len(p.out) > limit.Memory-p.memory {
		p.alloc(len(p.out))
		return
	}
	switch v := v.(type) {
	case nil:
		p.out = append(p.out, "None"...)
	case bool:
		p.out = python.AppendRepr(p.out, python.Bool(v))
	case int:
		p.out = strconv.AppendInt(p.out, int64(v), 10)
	case *big.Int:
		p.spend(v.BitLen() / 64)
		text := decimal(v)
		p.out = append(p.out, text...)
	case float64:
		p.out = python.AppendRepr(p.out, python.Float(v))
	case string:
		if len(v) > limit.Memory-p.memory-len(p.out) {
			p.alloc(limit.Memory + 1)
			return
		}
		p.out = python.AppendRepr(p.out, python.Str(v))
	case *list:
		p.sequence(v, "[", v.items, "]")
	case *tuple:
		if len(v.items) == 1 {
			p.sequence(v, "(", v.items, ",)")
			return
		}
		p.sequence(v, "(", v.items, ")")
	case *dict:
		p.dict(v)
	case *set:
		p.set(v)
	case *exception:
		p.sequence(v, v.class.short()+"(", v.args, ")")
	case *view:
		items := p.collect(nil, v)
		p.sequence(v, typeName(v)+"([", items, "])")
	default:
		p.out = append(p.out, opaque(v)...)
	}
}

// opaque returns the text of a value that holds no others.
func opaque(v any) string {
	switch v := v.(type) {
	case *class:
		return "<class '" + v.name + "'>"
	case *builtin:
		if v.self != nil {
			return "<built-in method " + v.name + " of " + typeName(v.self) + " object at 0x7F0000000000>"
		}
		return "<built-in function " + v.name + ">"
	case *tool:
		return "<function " + v.name + " at 0x7F0000000000>"
	case *function:
		return "<function " + v.code.Name + " at 0x7F0000000000>"
	case *module:
		return "<module '" + v.name + "'>"
	case *span:
		text := "range(" + strconv.Itoa(v.start) + ", " + strconv.Itoa(v.stop)
		if v.step != 1 {
			text += ", " + strconv.Itoa(v.step)
		}
		return text + ")"
	case syntax.EllipsisType:
		return "Ellipsis"
	default:
		return "<" + typeName(v) + " object at 0x7F0000000000>"
	}
}

// enter says whether a container is already being printed, and goes into it otherwise.
func (p *printer) enter(v any) (inside bool) {
	if slices.Contains(p.path, v) {
		return true
	}
	p.path = append(p.path, v)
	if p.depth++; p.depth > limit.Depth {
		panic(raise("RecursionError", "maximum recursion depth exceeded while getting the repr of an object"))
	}
	return false
}

func (p *printer) leave() {
	p.path = p.path[:len(p.path)-1]
	p.depth--
}

func (p *printer) sequence(v any, open string, items []any, closing string) {
	if p.enter(v) {
		p.out = append(append(append(p.out, open...), "..."...), strings.TrimPrefix(closing, ",")...)
		return
	}
	p.out = append(p.out, open...)
	for i, item := range items {
		if i > 0 {
			p.out = append(p.out, ", "...)
		}
		p.value(item)
	}
	p.out = append(p.out, closing...)
	p.leave()
}

func (p *printer) dict(v *dict) {
	if p.enter(v) {
		p.out = append(p.out, "{...}"...)
		return
	}
	p.out = append(p.out, '{')
	for i, e := range v.all() {
		if i > 0 {
			p.out = append(p.out, ", "...)
		}
		p.value(e.key)
		p.out = append(p.out, ": "...)
		p.value(e.value)
	}
	p.out = append(p.out, '}')
	p.leave()
}

func (p *printer) set(v *set) {
	open, closing := "{", "}"
	switch {
	case v.frozen && v.live == 0:
		open, closing = "frozenset(", ")"
	case v.frozen:
		open, closing = "frozenset({", "})"
	case v.live == 0:
		open, closing = "set(", ")"
	}
	p.sequence(v, open, v.keys(), closing)
}

// convert is the conversion of a field: !r, !s or !a.
func (m *machine) convert(v any, conversion byte) any {
	switch conversion {
	case 'r':
		return m.repr(v)
	case 'a':
		return m.ascii(m.repr(v))
	case 's':
		return m.str(v)
	default:
		return v
	}
}

// ascii escapes what is not ASCII in a repr text.
func (m *machine) ascii(text string) any {
	m.alloc(4 * len(text))
	var out strings.Builder
	for text != "" {
		n := width(text)
		if n == 1 {
			out.WriteByte(text[0])
		} else {
			r := character(text[:n])
			switch hex := strconv.FormatInt(int64(r), 16); {
			case r < 0x100:
				out.WriteString(`\x` + strings.Repeat("0", 2-len(hex)) + hex)
			case r < 0x10000:
				out.WriteString(`\u` + strings.Repeat("0", 4-len(hex)) + hex)
			default:
				out.WriteString(`\U` + strings.Repeat("0", 8-len(hex)) + hex)
			}
		}
		text = text[n:]
	}
	return out.String()
}

// character returns the code point of a character.
func character(c string) rune {
	if len(c) == 3 && c[0] == 0xED && c[1] >= 0xA0 {
		return 0xD000 | rune(c[1]&0x3F)<<6 | rune(c[2]&0x3F)
	}
	for _, r := range c {
		return r
	}
	return 0
}
