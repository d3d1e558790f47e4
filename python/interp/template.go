package interp

import (
	"strconv"
	"strings"
)

// template is the state of str.format.
type template struct {
	*arguments
	out             strings.Builder
	next            int // index of the next field without a name
	automatic, used bool
}

func strFormat(a *arguments) any {
	text, _ := a.self.(string)
	t := template{arguments: a}
	t.fill(text, 0)
	return t.out.String()
}

func (t *template) put(text string) {
	t.out.WriteString(text)
	t.alloc(len(text))
}

func (t *template) fill(text string, level int) {
	for rest := text; rest != ""; {
		n := strings.IndexAny(rest, "{}")
		if n < 0 {
			n = len(rest)
		}
		t.put(rest[:n])
		if rest = rest[n:]; rest == "" {
			break
		}
		t.step()
		if level == 0 && (strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}")) {
			t.put(rest[:1])
			rest = rest[2:]
			continue
		}
		if rest[0] == '}' {
			panic(raise("ValueError", "Single '}' encountered in format string"))
		}
		end := closingBrace(rest)
		switch {
		case rest == "{":
			panic(raise("ValueError", "Single '{' encountered in format string"))
		case end < 0:
			panic(raise("ValueError", "expected '}' before end of string"))
		}
		t.put(t.field(rest[1:end], level))
		rest = rest[end+1:]
	}
}

// closingBrace returns the index of the brace that closes the first field.
func closingBrace(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// field formats one field: name, !conversion, :specification.
func (t *template) field(field string, level int) string {
	if level > 1 {
		panic(raise("ValueError", "Max string recursion exceeded"))
	}
	at := strings.IndexAny(field, ":!")
	if bracket := strings.IndexByte(field, '['); bracket >= 0 && at > bracket {
		if end := strings.IndexByte(field, ']'); end >= 0 {
			if at = strings.IndexAny(field[end:], ":!"); at >= 0 {
				at += end
			}
		}
	}
	if at < 0 {
		at = len(field)
	}
	name, rest := field[:at], field[at:]
	conversion := byte(0)
	if strings.HasPrefix(rest, "!") {
		if len(rest) < 2 {
			panic(raise("ValueError", "unmatched '{' in format spec"))
		}
		if conversion = rest[1]; strings.IndexByte("rsa", conversion) < 0 {
			panic(raise("ValueError", "Unknown conversion specifier '%c'", conversion))
		}
		if rest = rest[2:]; rest != "" && rest[0] != ':' {
			panic(raise("ValueError", "expected ':' after conversion specifier"))
		}
	}
	v := t.value(name)
	v = t.convert(v, conversion)
	format := strings.TrimPrefix(rest, ":")
	if strings.ContainsAny(format, "{}") {
		inner := template{arguments: t.arguments, next: t.next, automatic: t.automatic, used: t.used}
		inner.fill(format, level+1)
		t.next, t.automatic, t.used = inner.next, inner.automatic, inner.used
		format = inner.out.String()
	}
	return t.format(v, format)
}

// value returns the value of a field name: an argument, with attributes and subscripts.
func (t *template) value(name string) any {
	n := strings.IndexAny(name, ".[")
	if n < 0 {
		n = len(name)
	}
	v := t.argument(name[:n])
	for rest := name[n:]; rest != ""; {
		if rest[0] == '.' {
			n := strings.IndexAny(rest[1:], ".[") + 1
			if n == 0 {
				n = len(rest)
			}
			var missing error
			if v, missing = t.attribute(v, rest[1:n]); missing != nil {
				panic(missing)
			}
			rest = rest[n:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			panic(raise("ValueError", "Missing ']' in format string"))
		}
		var key any = rest[1:end]
		if i, numbered := fieldNumber(rest[1:end]); numbered {
			key = i
		}
		v = t.item(v, key)
		rest = rest[end+1:]
	}
	return v
}

// fieldNumber returns the number that a name of a field or a subscript is, without a sign.
func fieldNumber(name string) (i int, ok bool) {
	n, err := strconv.ParseUint(name, 10, 32)
	return int(n), err == nil
}

func (t *template) argument(name string) any {
	i, numbered := fieldNumber(name)
	if name == "" || numbered {
		if t.used && t.automatic != (name == "") {
			if t.automatic {
				panic(raise("ValueError", "cannot switch from automatic field numbering to manual field specification"))
			}
			panic(raise("ValueError", "cannot switch from manual field specification to automatic field numbering"))
		}
		t.used, t.automatic = true, name == ""
	}
	if name == "" {
		i, numbered = t.next, true
		t.next++
	}
	if numbered {
		if i >= len(t.positional) {
			panic(raise("IndexError", "Replacement index %d out of range for positional args tuple", i))
		}
		return t.positional[i]
	}
	for _, k := range t.named {
		if k.name == name {
			return k.value
		}
	}
	panic(raiseValue("KeyError", name))
}

// formatPercent returns text % values.
func (m *machine) formatPercent(text string, values any) any {
	args := []any{values}
	if several, ok := values.(*tuple); ok {
		args = several.items
	}
	mapping := false
	switch values.(type) {
	case *dict, *list, *rangeValue:
		mapping = true
	}
	var out strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "%")
		m.alloc(len(before))
		m.step()
		out.WriteString(before)
		if !found {
			break
		}
		c := conversion{machine: m, args: args, rest: after}
		if strings.HasPrefix(after, "(") {
			if !mapping {
				panic(raise("TypeError", "format requires a mapping"))
			}
			name, behind, closed := strings.Cut(after[1:], ")")
			if !closed {
				panic(raise("ValueError", "incomplete format key"))
			}
			v := m.item(values, name)
			c.args, c.rest = []any{v}, behind
			args = nil
		}
		piece := c.read(len(text) - len(rest) + len(before))
		m.alloc(len(piece))
		out.WriteString(piece)
		if rest = c.rest; args != nil {
			args = c.args
		}
	}
	if len(args) > 0 && !mapping {
		panic(raise("TypeError", "not all arguments converted during string formatting"))
	}
	return out.String()
}

// conversion is a conversion of a % format after its percent sign.
type conversion struct {
	*machine
	args []any
	rest string
}

func (c *conversion) take() any {
	if len(c.args) == 0 {
		panic(raise("TypeError", "not enough arguments for format string"))
	}
	v := c.args[0]
	c.args = c.args[1:]
	return v
}

// number reads a width or precision.
func (c *conversion) number() int {
	if strings.HasPrefix(c.rest, "*") {
		c.rest = c.rest[1:]
		v := c.take()
		n, _, ok := integer(v)
		if !ok {
			panic(raise("TypeError", "* wants int"))
		}
		return n
	}
	n := len(c.rest) - len(strings.TrimLeft(c.rest, "0123456789"))
	if n == 0 {
		return 0
	}
	value, err := strconv.Atoi(c.rest[:n])
	c.rest = c.rest[n:]
	if err != nil {
		panic(raise("ValueError", "width too big"))
	}
	return value
}

// read parses and applies the conversion. at is the index of its percent sign.
func (c *conversion) read(at int) string {
	start := len(c.rest)
	s := spec{fill: " ", align: '>', precision: -1}
	for c.rest != "" && strings.IndexByte("-+ #0", c.rest[0]) >= 0 {
		switch flag := c.rest[0]; flag {
		case '-':
			s.align = '<'
		case '#':
			s.alternate = true
		case '0':
			s.zero = true
		default:
			if s.sign != '+' {
				s.sign = flag
			}
		}
		c.rest = c.rest[1:]
	}
	s.width = c.number()
	if s.width < 0 {
		s.align, s.width = '<', max(-s.width, 0)
	}
	if strings.HasPrefix(c.rest, ".") {
		c.rest = c.rest[1:]
		s.precision = c.number()
		s.precision = max(0, s.precision)
	}
	if c.rest == "" {
		panic(raise("ValueError", "incomplete format"))
	}
	verb := c.rest[0]
	c.rest = c.rest[runeWidth(c.rest):]
	if verb == '%' {
		return "%"
	}
	if strings.IndexByte("srdiuxXofFeEgGca", verb) < 0 {
		panic(raise("ValueError", "unsupported format character '%c' (0x%x) at index %d", verb, verb, at+start-len(c.rest)))
	}
	return c.apply(s, verb, c.take())
}

func (c *conversion) apply(s spec, verb byte, v any) string {
	switch verb {
	case 's', 'r', 'a':
		converted := c.convert(v, verb)
		text, _ := converted.(string)
		if s.precision >= 0 && s.precision < len(text) {
			text = c.prefix(text, s.precision)
		}
		return c.pad(text, " ", s.align, s.width)
	case 'c':
		text, ok := v.(string)
		if i, isInt := toBigInt(v); isInt {
			if text, ok = chr(i); !ok {
				panic(raise("OverflowError", "%s", "%c arg not in range(0x110000)"))
			}
		} else if !ok || c.length(text) != 1 {
			panic(raise("TypeError", "%s", "%c requires int or char"))
		}
		return c.pad(text, " ", s.align, s.width)
	}
	if s.zero && s.align == '>' {
		s.fill, s.align = "0", '='
	}
	s.zero = false
	s.verb = verb
	switch verb {
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return c.integer(s, verb, v)
	default:
		if !isNumber(v) {
			panic(raise("TypeError", "must be real number, not %s", typeName(v)))
		}
		return c.formatFloat(s, float(v))
	}
}

// integer applies a conversion of an int.
func (c *conversion) integer(s spec, verb byte, v any) string {
	f, isFloat := v.(float64)
	decimal := verb == 'd' || verb == 'i' || verb == 'u'
	if !isNumber(v) || isFloat && !decimal {
		what := "a number is required"
		if !decimal {
			what = "an integer is required"
		}
		panic(raise("TypeError", "%%%c format: %s, not %s", verb, what, typeName(v)))
	}
	if isFloat {
		v = truncate(f)
	}
	if decimal {
		s.verb = 'd'
	}
	minimum := s.precision
	s.precision = -1
	return c.formatDigits(s, v, minimum)
}
