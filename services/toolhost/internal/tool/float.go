package tool

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// toFloat implements Python's float(v).
func toFloat(v python.Value) (python.Value, error) {
	if number, ok := v.Number(); ok {
		return python.Float(number), nil
	}
	switch v.Kind() {
	case python.KindInt:
		return python.Value{}, raise("OverflowError", "int too large to convert to float")
	case python.KindStr:
		text, _ := v.AsStr()
		number, ok := parseFloat(text)
		if !ok {
			return python.Value{}, raise("ValueError", "could not convert string to float: "+python.Repr(v))
		}
		return python.Float(number), nil
	default:
		return python.Value{}, raise("TypeError", "float() argument must be a string or a number, not '"+v.TypeName()+"'")
	}
}

// parseFloat parses a number in Python's syntax: with surrounding white space, digits of any script
// and single underscores between digits, without hexadecimal digits.
func parseFloat(text string) (number float64, ok bool) {
	text = strings.Map(asciiDigit, strings.TrimFunc(text, isSpace))
	var plain strings.Builder
	for i := range len(text) {
		if text[i] != '_' {
			plain.WriteByte(text[i])
			continue
		}
		if i == 0 || i == len(text)-1 || !isDigit(text[i-1]) || !isDigit(text[i+1]) {
			return 0, false
		}
	}
	if strings.ContainsAny(plain.String(), "xX") {
		return 0, false
	}
	number, err := strconv.ParseFloat(plain.String(), 64)
	if err != nil && number == 0 { // too large numbers become infinite
		return 0, false
	}
	return number, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isSpace reports whether Python's str.strip removes a character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }

// asciiDigit converts a decimal digit of any script to ASCII.
func asciiDigit(r rune) rune {
	if r < unicode.MaxASCII || !unicode.Is(unicode.Nd, r) {
		return r
	}
	for _, span := range unicode.Nd.R16 {
		if rune(span.Lo) <= r && r <= rune(span.Hi) {
			return '0' + (r-rune(span.Lo))%10
		}
	}
	for _, span := range unicode.Nd.R32 {
		if rune(span.Lo) <= r && r <= rune(span.Hi) {
			return '0' + (r-rune(span.Lo))%10
		}
	}
	return r
}
