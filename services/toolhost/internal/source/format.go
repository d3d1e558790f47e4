package source

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// spec is a format specification: [[fill]align][sign][#][0][width][,][.precision][type].
type spec struct {
	fill      string
	align     byte
	sign      byte
	alternate bool
	width     int
	grouping  string
	precision int // -1: none
	verb      byte
}

// maxWidth is the largest width or precision.
const maxWidth = 1000

// parseSpec reads a format specification.
func parseSpec(text string) (spec, error) {
	s, rest := spec{fill: " ", precision: -1}, text
	if rest != "" {
		if n := width(rest); n < len(rest) && strings.IndexByte("<>^=", rest[n]) >= 0 {
			s.fill, s.align, rest = rest[:n], rest[n], rest[n+1:]
		} else if strings.IndexByte("<>^=", rest[0]) >= 0 {
			s.align, rest = rest[0], rest[1:]
		}
	}
	take := func(set string) byte {
		if rest == "" || strings.IndexByte(set, rest[0]) < 0 {
			return 0
		}
		c := rest[0]
		rest = rest[1:]
		return c
	}
	digits := func() (int, bool) {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		value, err := strconv.Atoi(rest[:n])
		rest = rest[n:]
		return value, err == nil && value <= maxWidth
	}
	s.sign = take("+- ")
	s.alternate = take("#") != 0
	if take("0") != 0 && s.align == 0 {
		s.fill, s.align = "0", '='
	}
	ok := true
	if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		s.width, ok = digits()
	}
	if c := take(",_"); c != 0 {
		s.grouping = string(c)
	}
	if ok && take(".") != 0 {
		s.precision, ok = digits()
	}
	s.verb = take("sdfFeEgG%xXbon")
	if !ok || rest != "" {
		return s, raise("ValueError", "Invalid format specifier")
	}
	return s, nil
}

// formatted returns format(x, text).
func (r *run) formatted(x starlark.Value, text string) (string, error) {
	if text == "" {
		return r.str(x)
	}
	s, err := parseSpec(text)
	if err != nil {
		return "", err
	}
	i, f, isFloat, isNumber := number(x)
	switch {
	case !isNumber:
		return r.formatPlain(s, x)
	case !isFloat && strings.IndexByte("\x00dxXbon", s.verb) >= 0:
		return r.formatInt(s, i)
	case strings.IndexByte("\x00fFeEgG%n", s.verb) < 0:
		return "", raisef("ValueError", "Unknown format code '%c' for object of type '%s'", s.verb, typeName(x))
	case !isFloat:
		if f, err = toFloat(i); err != nil {
			return "", err
		}
	}
	return r.formatFloat(s, f)
}

// formatPlain formats a text, and what has no format of its own.
func (r *run) formatPlain(s spec, x starlark.Value) (string, error) {
	_, isText := x.(starlark.String)
	if !isText {
		return "", raisef("TypeError", "unsupported format string passed to %s.__format__", typeName(x))
	}
	if s.verb != 0 && s.verb != 's' {
		return "", raisef("ValueError", "Unknown format code '%c' for object of type '%s'", s.verb, typeName(x))
	}
	text, err := r.str(x)
	if err != nil {
		return "", err
	}
	if s.precision >= 0 && length(text) > s.precision {
		end := 0
		for range s.precision {
			end += width(text[end:])
		}
		text = text[:end]
	}
	if s.align == 0 || s.align == '=' {
		s.align = '<'
	}
	return r.padded(text, s.fill, s.align, s.width)
}

func (r *run) formatInt(s spec, i starlark.Int) (string, error) {
	if s.precision >= 0 {
		return "", raise("ValueError", "Precision not allowed in integer format specifier")
	}
	base, prefix := 10, ""
	switch s.verb {
	case 'x', 'X':
		base, prefix = 16, "0x"
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	}
	text := i.BigInt().Text(base)
	if base == 10 {
		var err error
		if text, err = decimal(i); err != nil {
			return "", err
		}
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if s.alternate {
		sign += prefix
	}
	if s.verb == 'X' {
		sign, text = strings.ToUpper(sign), strings.ToUpper(text)
	}
	return r.signed(s, sign, text)
}

func (r *run) formatFloat(s spec, f float64) (string, error) {
	precision, percent := s.precision, ""
	if s.verb == '%' {
		f, percent, s.verb = f*100, "%", 'f'
	}
	if precision < 0 && s.verb != 0 && s.verb != 'n' {
		precision = 6
	}
	var text string
	switch s.verb {
	case 0, 'n':
		if precision < 0 {
			var err error
			if text, err = r.repr(starlark.Float(f)); err != nil {
				return "", err
			}
			break
		}
		text = strconv.FormatFloat(f, 'g', max(1, precision), 64)
		if !strings.ContainsAny(text, ".enN") {
			text += ".0"
		}
	case 'g', 'G':
		text = strconv.FormatFloat(f, 'g', max(1, precision), 64)
	default:
		text = strconv.FormatFloat(f, s.verb|0x20, precision, 64)
	}
	text = strings.NewReplacer("+Inf", "inf", "-Inf", "-inf", "NaN", "nan").Replace(text)
	if s.verb == 'E' || s.verb == 'G' || s.verb == 'F' {
		text = strings.ToUpper(text)
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	return r.signed(s, sign, text+percent)
}

// signed puts a number together: sign, groups of digits, padding.
func (r *run) signed(s spec, sign, text string) (string, error) {
	if s.grouping != "" {
		text = grouped(text, s.grouping)
	}
	if !strings.HasPrefix(sign, "-") && (s.sign == '+' || s.sign == ' ') {
		sign = string(s.sign) + sign
	}
	if s.align == '=' {
		padded, err := r.padded(text, s.fill, '>', s.width-length(sign))
		return sign + padded, err
	}
	if s.align == 0 {
		s.align = '>'
	}
	return r.padded(sign+text, s.fill, s.align, s.width)
}

// grouped puts a separator between groups of three digits of the whole part.
func grouped(text, separator string) string {
	end := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		end = len(text)
	}
	var out strings.Builder
	for i := range end {
		if i > 0 && (end-i)%3 == 0 {
			out.WriteString(separator)
		}
		out.WriteByte(text[i])
	}
	return out.String() + text[end:]
}

// field formats a field of an f-string: value, conversion, specification.
func (r *run) field(a arguments) (starlark.Value, error) {
	text, err := r.converted(a.positional[0], a.word(1), a.word(2))
	return starlark.String(text), err
}

func (r *run) converted(x starlark.Value, conversion, format string) (text string, err error) {
	switch conversion {
	case "r", "a":
		text, err = r.repr(x)
		x = starlark.String(text)
	case "s":
		text, err = r.str(x)
		x = starlark.String(text)
	}
	if err != nil {
		return "", err
	}
	return r.formatted(x, format)
}

func (r *run) formatOf(a arguments) (starlark.Value, error) {
	args, err := a.bind(1, "value", "format_spec")
	if err != nil {
		return nil, err
	}
	format, err := a.text(args[1])
	if err != nil {
		return nil, err
	}
	text, err := r.formatted(args[0], format)
	return starlark.String(text), err
}
