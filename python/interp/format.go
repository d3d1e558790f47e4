package interp

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// spec is a format specification: [[fill]align][sign][z][#][0][width][,][.precision][type].
type spec struct {
	fill  string
	align byte
	sign  byte
	// unsignedZero takes the sign of a float that is rounded to 0.
	unsignedZero bool
	alternate    bool
	width        int
	grouping     string
	precision    int // -1: none
	verb         byte
	zero         bool // the alignment is that of a 0 before the width
}

// parseSpec reads a format specification.
func parseSpec(text string) spec {
	s, rest, filled := spec{fill: " ", precision: -1}, text, false
	if rest != "" {
		if n := runeWidth(rest); n < len(rest) && strings.IndexByte("<>^=", rest[n]) >= 0 {
			s.fill, s.align, rest, filled = rest[:n], rest[n], rest[n+1:], true
		} else if strings.IndexByte("<>^=", rest[0]) >= 0 {
			s.align, rest = rest[0], rest[1:]
		}
	}
	acceptOne := func(set string) byte {
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
	s.sign = acceptOne("+- ")
	s.unsignedZero = acceptOne("z") != 0
	s.alternate = acceptOne("#") != 0
	if !filled && acceptOne("0") != 0 {
		if s.fill = "0"; s.align == 0 {
			s.align, s.zero = '=', true
		}
	}
	if rest != "" && rest[0] >= '0' && rest[0] <= '9' && !digits(&s.width) {
		panic(raise("ValueError", "Too many decimal digits in format string"))
	}
	if c := acceptOne(",_"); c != 0 {
		s.grouping = string(c)
		if other := acceptOne(",_"); other == c {
			panic(raise("ValueError", "Cannot specify '%c' with '%c'.", c, c))
		} else if other != 0 {
			panic(raise("ValueError", "Cannot specify both ',' and '_'."))
		}
	}
	if acceptOne(".") != 0 && !digits(&s.precision) {
		panic(raise("ValueError", "Format specifier missing precision"))
	}
	if rest != "" && len(rest) == runeWidth(rest) {
		s.verb, rest = rest[0], ""
	}
	switch {
	case rest != "":
		panic(raise("ValueError", "Invalid format specifier"))
	case s.grouping != "" && s.verb != 0 && strings.IndexByte("deEfFgG%boxX", s.verb) < 0, s.grouping == "," && strings.IndexByte("boxX", s.verb) >= 0:
		panic(raise("ValueError", "Cannot specify '%s' with '%c'.", s.grouping, s.verb))
	}
	return s
}

func unknownCode(verb byte, v any) error {
	return raise("ValueError", "Unknown format code '%c' for object of type '%s'", verb, typeName(v))
}

// format returns format(v, text).
func (m *machine) format(v any, text string) string {
	if text == "" {
		return m.str(v)
	}
	switch of := v.(type) {
	case *member:
		v = of.formatted(m)
	case formattable:
		return of.format(m, text)
	}
	if !isNumber(v) {
		return m.formatText(v, text)
	}
	s := parseSpec(text)
	f, isFloat := v.(float64)
	switch {
	case !isFloat && strings.IndexByte("\x00dxXbocn", s.verb) >= 0:
		return m.formatInt(s, v)
	case strings.IndexByte("\x00fFeEgG%n", s.verb) < 0:
		panic(unknownCode(s.verb, v))
	case !isFloat:
		f = float(v)
	}
	return m.formatFloat(s, f)
}

// formatText formats a string. It also formats values of types without a format of their own.
func (m *machine) formatText(v any, format string) string {
	text := requireString(v, "unsupported format string passed to %s.__format__")
	s := parseSpec(format)
	switch {
	case s.grouping != "" && s.verb == 0:
		panic(raise("ValueError", "Cannot specify '%s' with 's'.", s.grouping))
	case s.verb != 0 && s.verb != 's':
		panic(unknownCode(s.verb, v))
	case s.sign != 0:
		panic(raise("ValueError", "Sign not allowed in string format specifier"))
	case s.unsignedZero:
		panic(raise("ValueError", "Negative zero coercion (z) not allowed in string format specifier"))
	case s.alternate:
		panic(raise("ValueError", "Alternate form (#) not allowed in string format specifier"))
	case s.align == '=' && !s.zero: // "05" pads strings on the right, as since Python 3.10
		panic(raise("ValueError", "'=' alignment not allowed in string format specifier"))
	}
	if s.precision >= 0 && s.precision < len(text) {
		text = m.prefix(text, s.precision)
	}
	if s.align == 0 || s.zero {
		s.align = '<'
	}
	return m.pad(text, s.fill, s.align, s.width)
}

func (m *machine) formatInt(s spec, v any) string {
	switch {
	case s.precision >= 0:
		panic(raise("ValueError", "Precision not allowed in integer format specifier"))
	case s.unsignedZero:
		panic(raise("ValueError", "Negative zero coercion (z) not allowed in integer format specifier"))
	case s.verb == 'c' && s.sign != 0:
		panic(raise("ValueError", "Sign not allowed with integer format specifier 'c'"))
	case s.verb == 'c' && s.alternate:
		panic(raise("ValueError", "Alternate form (#) not allowed with integer format specifier 'c'"))
	}
	return m.formatDigits(s, v, 0)
}

// formatDigits formats an int with at least a number of digits.
func (m *machine) formatDigits(s spec, v any, minimum int) string {
	i, _ := toBigInt(v)
	m.chargeSteps(i.BitLen() / 16)
	m.alloc(i.BitLen())
	base, prefix := 10, ""
	switch s.verb {
	case 'x', 'X':
		base, prefix = 16, "0x"
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'c':
		c, ok := chr(i)
		if !ok {
			panic(raise("OverflowError", "%s", "%c arg not in range(0x110000)"))
		}
		return m.pad(c, s.fill, s.align, s.width)
	}
	text := i.Text(base)
	if base == 10 {
		text = decimal(i)
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	text = m.pad(text, "0", '>', minimum)
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
	return m.padNumber(s, sign, text, group)
}

func (m *machine) formatFloat(s spec, f float64) string {
	precision, percent := s.precision, ""
	if s.verb == '%' {
		f, percent, s.verb = f*100, "%", 'f'
	}
	if precision < 0 && s.verb != 0 {
		precision = 6
	}
	m.alloc(precision + 400)
	m.chargeSteps(precision / 16)
	text := floatText(s, f, precision)
	text = strings.NewReplacer("+Inf", "inf", "-Inf", "-inf", "NaN", "nan").Replace(text)
	if s.verb == 'E' || s.verb == 'G' || s.verb == 'F' {
		text = strings.ToUpper(text)
	}
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	if mantissa, _, _ := strings.Cut(strings.ToLower(text), "e"); s.unsignedZero && !strings.ContainsAny(mantissa, "123456789i") { // inf is none
		sign = ""
	}
	return m.padNumber(s, sign, text+percent, 3)
}

func floatText(s spec, f float64, precision int) string {
	switch s.verb {
	case 0:
		if precision < 0 {
			return python.FormatFloat(f)
		}
		text := formatGeneral(f, max(1, precision), s.alternate)
		if mantissa, exponent, found := strings.Cut(text, "e"); !found && !strings.ContainsAny(text, ".nN") {
			if len(strings.TrimPrefix(text, "-")) >= max(1, precision) { // no room for ".0": an exponent
				return strconv.FormatFloat(f, 'e', len(strings.TrimPrefix(text, "-"))-1, 64)
			}
			return text + ".0"
		} else if found && exponent != "" {
			return mantissa + "e" + exponent
		}
		return text
	case 'g', 'G', 'n':
		return formatGeneral(f, max(1, precision), s.alternate)
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

// formatGeneral formats a float with a number of significant digits. It strips zeros at the end
// unless keepZeros is set.
func formatGeneral(f float64, precision int, keepZeros bool) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
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
	switch point := strings.Contains(mantissa, "."); {
	case point && !keepZeros:
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	case !point && keepZeros:
		mantissa += "."
	}
	return mantissa + exponent
}

// padNumber adds the sign, the separators of digit groups and the padding.
func (m *machine) padNumber(s spec, sign, text string, group int) string {
	if !strings.HasPrefix(sign, "-") && (s.sign == '+' || s.sign == ' ') {
		sign = string(s.sign) + sign
	}
	if s.grouping != "" {
		zeros := 0
		if s.fill == "0" && s.align == '=' {
			zeros = s.width - len(sign)
		}
		m.alloc(max(0, zeros) + 2*len(text))
		text = groupDigits(text, s.grouping, group, zeros)
	}
	if s.align == '=' {
		padded := m.pad(text, s.fill, '>', s.width-length(sign))
		return sign + padded
	}
	if s.align == 0 {
		s.align = '>'
	}
	return m.pad(sign+text, s.fill, s.align, s.width)
}

// groupDigits separates groups of digits of the integer part. It adds zeros in front up to a width.
func groupDigits(text, separator string, group, width int) string {
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

// pad pads a text to a width.
func (m *machine) pad(text, fill string, align byte, width int) string {
	n := width - m.length(text)
	if n <= 0 {
		return text
	}
	m.allocTimes(n, len(fill))
	m.alloc(len(text))
	switch align {
	case '<':
		return text + strings.Repeat(fill, n)
	case '^':
		return strings.Repeat(fill, n/2) + text + strings.Repeat(fill, n-n/2)
	default:
		return strings.Repeat(fill, n) + text
	}
}

// chr returns the character of a code point. ok is false outside Unicode's range.
func chr(i *big.Int) (string, bool) {
	if !i.IsInt64() || i.Int64() < 0 || i.Int64() > 0x10FFFF {
		return "", false
	}
	return string(python.AppendRune(nil, rune(i.Int64()))), true
}
