package interp

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// printer writes repr texts.
type printer struct {
	*machine
	out  []byte
	path []any // enclosing containers
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
	case object:
		text := v.str(m)
		m.alloc(len(text))
		return text
	default:
		return m.repr(v)
	}
}

// decimal returns the decimal digits of an int.
func decimal(i *big.Int) string {
	if i.BitLen() > limit.IntBits+64 {
		panic(tooLarge())
	}
	text := i.String()
	if len(strings.TrimPrefix(text, "-")) > limit.IntDigits {
		panic(raise("ValueError", "Exceeds the limit (%d) for integer string conversion", limit.IntDigits))
	}
	return text
}

func (p *printer) value(v any) {
	p.chargeSteps(1)
	if len(p.out) > limit.Memory-p.memory {
		p.alloc(len(p.out))
	}
	switch v := v.(type) {
	case nil, bool, int, float64:
		p.out = python.AppendRepr(p.out, python.ValueOf(v))
	case *big.Int:
		p.chargeSteps(v.BitLen() / 64)
		p.out = append(p.out, decimal(v)...)
	case string:
		if len(v) > limit.Memory-p.memory-len(p.out) {
			p.alloc(limit.Memory + 1)
		}
		p.out = python.AppendRepr(p.out, python.ValueOf(v))
	case *list:
		p.sequence(v, "[", v.items, "]")
	case *tuple:
		if len(v.items) == 1 {
			p.sequence(v, "(", v.items, ",)")
		} else {
			p.sequence(v, "(", v.items, ")")
		}
	case *dict:
		entries := v.all()
		p.container(v, "{", len(entries), "}", func(i int) {
			p.value(entries[i].key)
			p.out = append(p.out, ": "...)
			p.value(entries[i].value)
		})
	case *set:
		p.set(v)
	case *exception:
		p.sequence(v, v.class.short()+"(", v.args, ")")
	case *view:
		p.sequence(v, typeName(v)+"([", p.collect(nil, v), "])")
	case object:
		p.out = append(p.out, v.repr(p.machine)...)
	default:
		p.out = append(p.out, opaque(v)...)
	}
}

// opaque returns the text of a value that contains no other values.
func opaque(v any) string {
	switch v := v.(type) {
	case *class:
		if v.enum != nil {
			return "<enum '" + v.name + "'>"
		}
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
	case *rangeValue:
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

func (p *printer) sequence(v any, open string, items []any, closing string) {
	p.container(v, open, len(items), closing, func(i int) { p.value(items[i]) })
}

// container prints n items, or "..." inside itself.
func (p *printer) container(v any, open string, n int, closing string, item func(i int)) {
	p.out = append(p.out, open...)
	if slices.Contains(p.path, v) {
		p.out = append(append(p.out, "..."...), strings.TrimPrefix(closing, ",")...)
		return
	}
	if p.path = append(p.path, v); len(p.path) > limit.ValueDepth {
		panic(raise("RecursionError", "maximum recursion depth exceeded while getting the repr of an object"))
	}
	for i := range n {
		if i > 0 {
			p.out = append(p.out, ", "...)
		}
		item(i)
	}
	p.out = append(p.out, closing...)
	p.path = p.path[:len(p.path)-1]
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

// convert applies the conversion !r, !s or !a of a field.
func (m *machine) convert(v any, conversion byte) any {
	switch conversion {
	case 'r':
		return m.repr(v)
	case 'a':
		text := m.repr(v)
		m.alloc(4 * len(text))
		return python.ASCII(text)
	case 's':
		return m.str(v)
	default:
		return v
	}
}
