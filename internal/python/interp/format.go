package interp

import (
	"math"
	"math/big"
	"strconv"
	"strings"
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
	zero      bool
}

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
	digits := func(into *int) bool {
		n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		value, err := strconv.Atoi(rest[:n])
		rest = rest[n:]
		*into = value
		return n > 0 && err == nil && value <= math.MaxInt32
	}
	s.sign = take("+- ")
	s.alternate = take("#") != 0
	if take("0") != 0 && s.align == 0 {
		s.fill, s.align, s.zero = "0", '=', true
	}
	if rest != "" && rest[0] >= '0' && rest[0] <= '9' && !digits(&s.width) {
		return s, raise("ValueError", "Too many decimal digits in format string")
	}
	if c := take(",_"); c != 0 {
		s.grouping = string(c)
		if other := take(",_"); other == c {
			return s, raise("ValueError", "Cannot specify '%c' with '%c'.", c, c)
		} else if other != 0 {
			return s, raise("ValueError", "Cannot specify both ',' and '_'.")
		}
	}
	if take(".") != 0 && !digits(&s.precision) {
		return s, raise("ValueError", "Format specifier missing precision")
	}
	if rest != "" && len(rest) == width(rest) {
		s.verb, rest = rest[0], ""
	}
	if rest != "" {
		return s, raise("ValueError", "Invalid format specifier")
	}
	return s, nil
}

func unknownCode(verb byte, v any) error {
	return raise("ValueError", "Unknown format code '%c' for object of type '%s'", verb, typeName(v))
}

// format returns format(v, text).
func (m *machine) format(v any, text string) (string, error) {
	if text == "" {
		return m.str(v)
	}
	if !isNumber(v) {
		return m.formatText(v, text)
	}
	s, err := parseSpec(text)
	if err != nil {
		return "", err
	}
	f, isFloat := v.(float64)
	switch {
	case !isFloat && strings.IndexByte("\x00dxXbocn", s.verb) >= 0:
		return m.formatInt(s, v)
	case strings.IndexByte("\x00fFeEgG%n", s.verb) < 0:
		return "", unknownCode(s.verb, v)
	case !isFloat:
		if f, err = float(v); err != nil {
			return "", err
		}
	}
	return m.formatFloat(s, f)
}

// formatText formats a text, and what has no format of its own.
func (m *machine) formatText(v any, format string) (string, error) {
	text, ok := v.(string)
	if !ok {
		return "", raise("TypeError", "unsupported format string passed to %s.__format__", typeName(v))
	}
	s, err := parseSpec(format)
	switch {
	case err != nil:
		return "", err
	case s.grouping != "" && (s.verb == 0 || s.verb == 's'):
		return "", raise("ValueError", "Cannot specify '%s' with 's'.", s.grouping)
	case s.verb != 0 && s.verb != 's':
		return "", unknownCode(s.verb, v)
	case s.sign != 0:
		return "", raise("ValueError", "Sign not allowed in string format specifier")
	case s.alternate:
		return "", raise("ValueError", "Alternate form (#) not allowed in string format specifier")
	case s.align == '=' && !s.zero: // as in Python 3.10 and later, "05" pads a text behind it
		return "", raise("ValueError", "'=' alignment not allowed in string format specifier")
	}
	if s.precision >= 0 && s.precision < len(text) {
		text = text[:offset(text, s.precision)]
	}
	if s.align == 0 || s.zero {
		s.align = '<'
	}
	return m.padded(text, s.fill, s.align, s.width)
}

func (m *machine) formatInt(s spec, v any) (string, error) {
	if s.precision >= 0 {
		return "", raise("ValueError", "Precision not allowed in integer format specifier")
	}
	i, _ := whole(v)
	if err := m.spend(i.BitLen() / 16); err != nil {
		return "", err
	}
	if err := m.alloc(i.BitLen()); err != nil {
		return "", err
	}
	base, prefix := 10, ""
	switch s.verb {
	case 'x', 'X':
		base, prefix = 16, "0x"
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'c':
		c, err := characterOf(i)
		if err != nil {
			return "", raise("OverflowError", "%s", "%c arg not in range(0x110000)")
		}
		if s.align == 0 {
			s.align = '<'
		}
		return m.padded(c, s.fill, s.align, s.width)
	}
	text := i.Text(base)
	if base == 10 {
		var err error
		if text, err = decimal(i); err != nil {
			return "", err
		}
	} else if s.grouping == "," {
		return "", raise("ValueError", "Cannot specify ',' with '%c'.", s.verb)
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
	group := 3
	if base != 10 {
		group = 4
	}
	return m.signed(s, sign, text, group)
}

func (m *machine) formatFloat(s spec, f float64) (string, error) {
	precision, percent := s.precision, ""
	if s.verb == '%' {
		f, percent, s.verb = f*100, "%", 'f'
	}
	if precision < 0 && s.verb != 0 {
		precision = 6
	}
	if err := m.alloc(precision + 400); err != nil {
		return "", err
	}
	if err := m.spend(precision / 16); err != nil {
		return "", err
	}
	text := floatText(s, f, precision)
	text = strings.NewReplacer("+Inf", "inf", "-Inf", "-inf", "NaN", "nan").Replace(text)
	if s.verb == 'E' || s.verb == 'G' || s.verb == 'F' {
		text = strings.ToUpper(text)
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	return m.signed(s, sign, text+percent, 3)
}

func floatText(s spec, f float64, precision int) string {
	switch s.verb {
	case 0:
		if precision < 0 {
			return shortest(f)
		}
		text := general(f, max(1, precision), s.alternate)
		if mantissa, exponent, found := strings.Cut(text, "e"); !found && !strings.ContainsAny(text, ".nN") {
			if len(strings.TrimPrefix(text, "-")) >= max(1, precision) && precision > 0 { // no room for ".0": an exponent
				return strconv.FormatFloat(f, 'e', len(strings.TrimPrefix(text, "-"))-1, 64)
			}
			return text + ".0"
		} else if found && exponent != "" {
			return mantissa + "e" + exponent
		}
		return text
	case 'g', 'G', 'n':
		return general(f, max(1, precision), s.alternate)
	default:
		text := strconv.FormatFloat(f, s.verb|0x20, precision, 64)
		if s.alternate && precision == 0 && !strings.Contains(text, ".") && !math.IsInf(f, 0) && !math.IsNaN(f) {
			if at := strings.IndexByte(text, 'e'); at >= 0 {
				return text[:at] + "." + text[at:]
			}
			return text + "."
		}
		return text
	}
}

// general returns a float with so many significant digits, without zeros at the end unless they are
// kept.
func general(f float64, precision int, keep bool) string {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	text := strconv.FormatFloat(f, 'e', precision-1, 64)
	mantissa, exponent, _ := strings.Cut(text, "e")
	power, err := strconv.Atoi(exponent)
	if err != nil {
		return text
	}
	if power >= -4 && power < precision {
		mantissa, exponent = strconv.FormatFloat(f, 'f', precision-1-power, 64), ""
	} else {
		exponent = "e" + exponent
	}
	if !keep && strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + exponent
}

// signed puts a number together: sign, groups of digits, padding.
func (m *machine) signed(s spec, sign, text string, group int) (string, error) {
	if !strings.HasPrefix(sign, "-") && (s.sign == '+' || s.sign == ' ') {
		sign = string(s.sign) + sign
	}
	if s.grouping != "" {
		zeros := 0
		if s.zero {
			zeros = s.width - len(sign)
		}
		if err := m.alloc(max(0, zeros) + 2*len(text)); err != nil {
			return "", err
		}
		text = grouped(text, s.grouping, group, zeros)
	}
	if s.align == '=' {
		padded, err := m.padded(text, s.fill, '>', s.width-length(sign))
		return sign + padded, err
	}
	if s.align == 0 {
		s.align = '>'
	}
	return m.padded(sign+text, s.fill, s.align, s.width)
}

// grouped puts a separator between groups of digits of the whole part, with zeros before them up to
// a width.
func grouped(text, separator string, group, width int) string {
	end := strings.IndexFunc(text, func(c rune) bool { return (c < '0' || c > '9') && (group == 3 || c < 'A' || c > 'f') })
	if end < 0 {
		end = len(text)
	}
	digits, rest := text[:end], text[end:]
	if digits == "" {
		return text
	}
	for len(digits)+(len(digits)-1)/group+len(rest) < width {
		missing := width - len(rest) - len(digits) - (len(digits)-1)/group
		digits = strings.Repeat("0", max(1, missing*group/(group+1))) + digits
	}
	var out strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%group == 0 {
			out.WriteString(separator)
		}
		out.WriteByte(digits[i])
	}
	return out.String() + rest
}

// padded fills a text up to a width.
func (m *machine) padded(text, fill string, align byte, width int) (string, error) {
	n := width - length(text)
	if n <= 0 {
		return text, nil
	}
	if err := m.allocTimes(n, len(fill)); err != nil {
		return "", err
	}
	if err := m.alloc(len(text)); err != nil {
		return "", err
	}
	switch align {
	case '<':
		return text + strings.Repeat(fill, n), nil
	case '^':
		return strings.Repeat(fill, n/2) + text + strings.Repeat(fill, n-n/2), nil
	default:
		return strings.Repeat(fill, n) + text, nil
	}
}

// characterOf returns chr(i).
func characterOf(i *big.Int) (string, error) {
	if !i.IsInt64() || i.Int64() < 0 || i.Int64() > 0x10FFFF {
		return "", raise("ValueError", "chr() arg not in range(0x110000)")
	}
	r := rune(i.Int64())
	if r >= 0xD800 && r <= 0xDFFF {
		return string([]byte{0xED, 0x80 | byte(r>>6&0x3F), 0x80 | byte(r&0x3F)}), nil
	}
	return string(r), nil
}
