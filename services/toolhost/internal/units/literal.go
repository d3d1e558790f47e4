package units

import (
	"slices"
	"strings"
)

// textPrefix returns the length of the letters before the quote of a text literal; 0 if there are none.
func textPrefix(text []rune) int {
	for n := 2; n > 0; n-- {
		if len(text) > n && (text[n] == '\'' || text[n] == '"') {
			switch strings.ToLower(string(text[:n])) {
			case "b", "r", "u", "f", "br", "rb", "fr", "rf":
				return n
			}
		}
	}
	return 0
}

// tripleQuote returns the three quotes with which the text begins, or nothing.
func tripleQuote(text []rune) string {
	for _, quote := range []string{"'''", `"""`} {
		if hasPrefix(text, quote) {
			return quote
		}
	}
	return ""
}

// openQuote passes a text literal whose opening quote ends at pos and returns the position after it, or a negative number
// if it goes on in the next line.
func (t *tokenizer) openQuote(start, pos int, quote string) int {
	t.quote, t.quoteStart = quote, token{row: t.row, column: start}
	return t.closeQuote(pos)
}

// closeQuote looks for the end of the open text from pos on and returns the position after it, or a negative number if the
// line has none.
func (t *tokenizer) closeQuote(pos int) int {
	for ; pos < len(t.line); pos++ {
		switch {
		case t.line[pos] == '\\' && pos+1 < len(t.line) && t.line[pos+1] != '\n':
			pos++
		case t.line[pos] == '\\':
			pos = len(t.line) // no pattern reaches beyond the break
		case hasPrefix(t.line[pos:], t.quote):
			pos += len(t.quote)
			t.quote = ""
			return pos
		}
	}
	if len(t.quote) == 1 && !endsWithBackslash(t.line) {
		t.quote = "" // an error token
	}
	return -1
}

func endsWithBackslash(line []rune) bool {
	text := string(line)
	return strings.HasSuffix(text, "\\\n") || strings.HasSuffix(text, "\\\r\n")
}

// simpleText passes a text literal in single quotes, of which the quote is at pos, and returns the position after it. It is
// negative if the literal goes on in the next line and start if there is none.
func (t *tokenizer) simpleText(start, pos int) int {
	quote := t.line[pos]
	if quote != '\'' && quote != '"' {
		return start
	}
	for i := pos + 1; i < len(t.line); i++ {
		switch t.line[i] {
		case quote:
			return i + 1
		case '\n':
			return start
		case '\\':
			if lineBreak(t.line[i+1:]) > 0 {
				t.quote, t.quoteStart = string(quote), token{row: t.row, column: start}
				return -1
			}
			i++
		}
	}
	return start
}

// numberEnd returns the length of the number with which the text begins; 0 if there is none.
func numberEnd(text []rune) int {
	whole := digitsEnd(text, 0)
	float := floatEnd(text, whole)
	for _, end := range []int{whole, float} {
		if end > 0 && end < len(text) && (text[end] == 'j' || text[end] == 'J') {
			return end + 1
		}
	}
	if float > 0 {
		return float
	}
	return integerEnd(text, whole)
}

// digitsEnd returns the end of the digits at pos, which may have single underscores between them; pos if there are none.
func digitsEnd(text []rune, pos int) int {
	return runEnd(text, pos, isDigit)
}

// runEnd is digitsEnd for any kind of digits.
func runEnd(text []rune, pos int, isMember func(r rune) bool) int {
	if pos >= len(text) || !isMember(text[pos]) {
		return pos
	}
	for pos++; pos < len(text); pos++ {
		if isMember(text[pos]) {
			continue
		}
		if text[pos] != '_' || pos+1 >= len(text) || !isMember(text[pos+1]) {
			break
		}
	}
	return pos
}

// floatEnd returns the end of the float whose integer part ends at whole; 0 if it is none.
func floatEnd(text []rune, whole int) int {
	if whole < len(text) && text[whole] == '.' {
		end := digitsEnd(text, whole+1)
		if whole == 0 && end == 1 {
			return 0
		}
		return max(end, exponentEnd(text, end))
	}
	if whole == 0 {
		return 0
	}
	return exponentEnd(text, whole)
}

// exponentEnd returns the end of the exponent at pos; 0 if there is none.
func exponentEnd(text []rune, pos int) int {
	if pos >= len(text) || text[pos] != 'e' && text[pos] != 'E' {
		return 0
	}
	pos++
	if pos < len(text) && (text[pos] == '+' || text[pos] == '-') {
		pos++
	}
	if end := digitsEnd(text, pos); end > pos {
		return end
	}
	return 0
}

// integerEnd returns the end of the integer whose decimal digits end at whole.
func integerEnd(text []rune, whole int) int {
	if whole == 0 || text[0] != '0' {
		return whole
	}
	if len(text) > 1 {
		digits := map[rune]string{'x': "0123456789abcdefABCDEF", 'b': "01", 'o': "01234567"}[text[1]|0x20]
		start := 2
		if len(text) > 2 && text[2] == '_' {
			start = 3
		}
		if end := runEnd(text, start, func(r rune) bool { return slices.Contains([]rune(digits), r) }); end > start {
			return end
		}
	}
	return runEnd(text, 0, func(r rune) bool { return r == '0' })
}
