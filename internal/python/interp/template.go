package interp

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// template is a text that str.format fills in.
type template struct {
	*arguments
	out             strings.Builder
	next            int // of the fields without a name
	automatic, used bool
}

func strFormat(a *arguments) (any, error) {
	text, _ := a.self.(string)
	t := template{arguments: a}
	if err := t.fill(text, 0); err != nil {
		return nil, err
	}
	return t.out.String(), nil
}

func (t *template) put(text string) error {
	t.out.WriteString(text)
	return t.alloc(len(text))
}

func (t *template) fill(text string, level int) error {
	for rest := text; rest != ""; {
		n := strings.IndexAny(rest, "{}")
		if n < 0 {
			n = len(rest)
		}
		if err := t.put(rest[:n]); err != nil {
			return err
		}
		if rest = rest[n:]; rest == "" {
			break
		}
		if err := t.step(); err != nil {
			return err
		}
		if level == 0 && (strings.HasPrefix(rest, "{{") || strings.HasPrefix(rest, "}}")) {
			if err := t.put(rest[:1]); err != nil {
				return err
			}
			rest = rest[2:]
			continue
		}
		if rest[0] == '}' {
			return raise("ValueError", "Single '}' encountered in format string")
		}
		end := closingBrace(rest)
		switch {
		case rest == "{":
			return raise("ValueError", "Single '{' encountered in format string")
		case end < 0:
			return raise("ValueError", "expected '}' before end of string")
		}
		piece, err := t.field(rest[1:end], level)
		if err != nil {
			return err
		}
		if err := t.put(piece); err != nil {
			return err
		}
		rest = rest[end+1:]
	}
	return nil
}

// closingBrace returns where the field ends that a text begins with.
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
func (t *template) field(field string, level int) (string, error) {
	if level > 1 {
		return "", raise("ValueError", "Max string recursion exceeded")
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
			return "", raise("ValueError", "unmatched '{' in format spec")
		}
		if conversion = rest[1]; strings.IndexByte("rsa", conversion) < 0 {
			return "", raise("ValueError", "Unknown conversion specifier '%c'", conversion)
		}
		if rest = rest[2:]; rest != "" && rest[0] != ':' {
			return "", raise("ValueError", "expected ':' after conversion specifier")
		}
	}
	v, err := t.value(name)
	if err != nil {
		return "", err
	}
	if v, err = t.convert(v, conversion); err != nil {
		return "", err
	}
	format := strings.TrimPrefix(rest, ":")
	if strings.ContainsAny(format, "{}") {
		inner := template{arguments: t.arguments, next: t.next, automatic: t.automatic, used: t.used}
		if err := inner.fill(format, level+1); err != nil {
			return "", err
		}
		t.next, t.automatic, t.used = inner.next, inner.automatic, inner.used
		format = inner.out.String()
	}
	return t.format(v, format)
}

// value returns what a field names: an argument, with attributes and subscripts behind it.
func (t *template) value(name string) (any, error) {
	n := strings.IndexAny(name, ".[")
	if n < 0 {
		n = len(name)
	}
	v, err := t.argument(name[:n])
	for rest := name[n:]; err == nil && rest != ""; {
		if rest[0] == '.' {
			n := strings.IndexAny(rest[1:], ".[") + 1
			if n == 0 {
				n = len(rest)
			}
			v, err = t.attribute(v, rest[1:n])
			rest = rest[n:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			return nil, raise("ValueError", "Missing ']' in format string")
		}
		var key any = rest[1:end]
		if i, failure := strconv.Atoi(rest[1:end]); failure == nil && i >= 0 {
			key = i
		}
		v, err = t.item(v, key)
		rest = rest[end+1:]
	}
	return v, err
}

func (t *template) argument(name string) (any, error) {
	i, err := strconv.Atoi(name)
	numbered := err == nil && i >= 0
	if name == "" || numbered {
		if t.used && t.automatic != (name == "") {
			if t.automatic {
				return nil, raise("ValueError", "cannot switch from automatic field numbering to manual field specification")
			}
			return nil, raise("ValueError", "cannot switch from manual field specification to automatic field numbering")
		}
		t.used, t.automatic = true, name == ""
	}
	if name == "" {
		i, numbered = t.next, true
		t.next++
	}
	if numbered {
		if i >= len(t.positional) {
			return nil, raise("IndexError", "Replacement index %d out of range for positional args tuple", i)
		}
		return t.positional[i], nil
	}
	for _, k := range t.named {
		if k.name == name {
			return k.value, nil
		}
	}
	return nil, raiseValue("KeyError", name)
}

// percent is text % values.
func (m *machine) percent(text string, values any) (any, error) {
	args := []any{values}
	if several, ok := values.(*tuple); ok {
		args = several.items
	}
	mapping, _ := values.(*dict)
	var out strings.Builder
	for rest := text; ; {
		before, after, found := strings.Cut(rest, "%")
		if err := m.alloc(len(before)); err != nil {
			return nil, err
		}
		if err := m.step(); err != nil {
			return nil, err
		}
		out.WriteString(before)
		if !found {
			break
		}
		c := conversion{machine: m, args: args, rest: after}
		if strings.HasPrefix(after, "(") {
			switch values.(type) {
			case *dict, *list, *span:
			default:
				return nil, raise("TypeError", "format requires a mapping")
			}
			name, behind, closed := strings.Cut(after[1:], ")")
			if !closed {
				return nil, raise("ValueError", "incomplete format key")
			}
			v, err := m.item(values, name)
			if err != nil {
				return nil, err
			}
			c.args, c.rest = []any{v}, behind
			args = nil
		}
		piece, err := c.read(len(text) - len(rest) + len(before))
		if err != nil {
			return nil, err
		}
		if err := m.alloc(len(piece)); err != nil {
			return nil, err
		}
		out.WriteString(piece)
		if rest = c.rest; args != nil {
			args = c.args
		}
	}
	if len(args) > 0 && mapping == nil {
		return nil, raise("TypeError", "not all arguments converted during string formatting")
	}
	return out.String(), nil
}

// conversion is a conversion of a % format behind its percent sign.
type conversion struct {
	*machine
	args []any
	rest string
}

func (c *conversion) take() (any, error) {
	if len(c.args) == 0 {
		return nil, raise("TypeError", "not enough arguments for format string")
	}
	v := c.args[0]
	c.args = c.args[1:]
	return v, nil
}

// number reads a width or precision.
func (c *conversion) number() (int, error) {
	if strings.HasPrefix(c.rest, "*") {
		c.rest = c.rest[1:]
		v, err := c.take()
		if err != nil {
			return 0, err
		}
		n, _, ok := integer(v)
		if !ok {
			return 0, raise("TypeError", "* wants int")
		}
		return n, nil
	}
	n := len(c.rest) - len(strings.TrimLeft(c.rest, "0123456789"))
	if n == 0 {
		return 0, nil
	}
	value, err := strconv.Atoi(c.rest[:n])
	c.rest = c.rest[n:]
	if err != nil {
		return 0, raise("ValueError", "width too big")
	}
	return value, nil
}

// read reads and executes the conversion. at is where its percent sign is.
func (c *conversion) read(at int) (string, error) {
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
	var err error
	if s.width, err = c.number(); err != nil {
		return "", err
	}
	if s.width < 0 {
		s.align, s.width = '<', max(-s.width, 0)
	}
	if strings.HasPrefix(c.rest, ".") {
		c.rest = c.rest[1:]
		if s.precision, err = c.number(); err != nil {
			return "", err
		}
		s.precision = max(0, s.precision)
	}
	if c.rest == "" {
		return "", raise("ValueError", "incomplete format")
	}
	verb := c.rest[0]
	c.rest = c.rest[width(c.rest):]
	if verb == '%' {
		return "%", nil
	}
	if strings.IndexByte("srdiuxXofFeEgGca", verb) < 0 {
		return "", raise("ValueError", "unsupported format character '%c' (0x%x) at index %d", verb, verb, at+start-len(c.rest))
	}
	v, err := c.take()
	if err != nil {
		return "", err
	}
	return c.apply(s, verb, v)
}

func (c *conversion) apply(s spec, verb byte, v any) (string, error) {
	switch verb {
	case 's', 'r', 'a':
		converted, err := c.convert(v, verb)
		if err != nil {
			return "", err
		}
		text, _ := converted.(string)
		if s.precision >= 0 && s.precision < len(text) {
			text = text[:offset(text, s.precision)]
		}
		return c.padded(text, " ", s.align, s.width)
	case 'c':
		text, ok := v.(string)
		if i, isInt := whole(v); isInt {
			var err error
			if text, err = characterOf(i); err != nil {
				return "", raise("OverflowError", "%s", "%c arg not in range(0x110000)")
			}
		} else if !ok || length(text) != 1 {
			return "", raise("TypeError", "%s", "%c requires int or char")
		}
		return c.padded(text, " ", s.align, s.width)
	}
	if s.zero && s.align == '>' {
		s.fill, s.align = "0", '='
	}
	s.zero = false
	s.verb = verb
	switch verb {
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return c.whole(s, verb, v)
	default:
		if !isNumber(v) {
			return "", raise("TypeError", "must be real number, not %s", typeName(v))
		}
		f, err := float(v)
		if err != nil {
			return "", err
		}
		return c.formatFloat(s, f)
	}
}

// whole is a conversion of an int.
func (c *conversion) whole(s spec, verb byte, v any) (string, error) {
	f, isFloat := v.(float64)
	decimal := verb == 'd' || verb == 'i' || verb == 'u'
	if !isNumber(v) || isFloat && !decimal {
		what := "a number is required"
		if !decimal {
			what = "an integer is required"
		}
		return "", raise("TypeError", "%%%c format: %s, not %s", verb, what, typeName(v))
	}
	if isFloat {
		var err error
		if v, err = truncate(f); err != nil {
			return "", err
		}
	}
	if decimal {
		s.verb = 'd'
	}
	if i, _ := whole(v); s.precision > 0 {
		digits := new(big.Int).Abs(i).String()
		if missing := s.precision - len(digits); missing > 0 {
			if err := c.alloc(missing); err != nil {
				return "", err
			}
			sign := ""
			if i.Sign() < 0 {
				sign = "-"
			}
			return c.signed(s, sign, strings.Repeat("0", missing)+digits, 3)
		}
	}
	s.precision = -1
	return c.formatInt(s, v)
}

// shortest returns repr(f).
func shortest(f float64) string { return python.FormatFloat(f) }
