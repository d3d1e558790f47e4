package python

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// IsSpace reports whether Python takes a character for white space.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

// Strip is str.strip.
func Strip(text string) string { return strings.TrimFunc(text, IsSpace) }

// DigitValue returns the value of a decimal digit of any script. The ten digits of each script are
// consecutive.
func DigitValue(r rune) (value byte, ok bool) {
	for _, span := range unicode.Nd.R16 {
		if r >= rune(span.Lo) && r <= rune(span.Hi) {
			return byte((r - rune(span.Lo)) % 10), true
		}
	}
	for _, span := range unicode.Nd.R32 {
		if r >= rune(span.Lo) && r <= rune(span.Hi) {
			return byte((r - rune(span.Lo)) % 10), true
		}
	}
	return 0, false
}

// ASCIIDigits returns a number in text without white space at its ends and with ASCII digits.
func ASCIIDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= unicode.MaxASCII {
			return r
		}
		if value, isDigit := DigitValue(r); isDigit {
			return '0' + rune(value)
		}
		return r
	}, Strip(text))
}

// JoinDigits returns a number without its underscores. ok is false unless each stands between two
// digits of the base, which is at most 36.
func JoinDigits(number string, base int) (digits string, ok bool) {
	digit := func(i int) bool {
		return i >= 0 && i < len(number) && strings.IndexByte("0123456789abcdefghijklmnopqrstuvwxyz"[:base], lower(number[i])) >= 0
	}
	for i := range len(number) {
		if number[i] == '_' && (!digit(i-1) || !digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(number, "_", ""), true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	return c
}

// ParseFloat is float of a str. ok is false where Python raises ValueError.
func ParseFloat(text string) (f float64, ok bool) {
	digits, ok := JoinDigits(ASCIIDigits(text), 10)
	bare := strings.ToLower(strings.TrimLeft(digits, "+-"))
	named := bare == "inf" || bare == "infinity" || bare == "nan"
	if !ok || !named && (bare == "" || strings.Trim(bare, "0123456789.e+-") != "") {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if bare == "nan" && len(digits) == len(bare)+1 {
		return math.NaN(), true
	}
	return f, err == nil || math.IsInf(f, 0)
}

// Truth is bool(v).
func (v Value) Truth() bool {
	switch v := v.v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []Value:
		return len(v) > 0
	case *Dict:
		return v.Len() > 0
	default:
		return !Value{v: v}.Equal(Int(0))
	}
}
