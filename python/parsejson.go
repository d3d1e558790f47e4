package python

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

const expectingValue = "Expecting value"

// DecodeError is what json.loads raises for text that is not JSON.
type DecodeError struct {
	Reason string
	Offset int // characters before the place
	Line   int // from 1
	Column int // characters, from 1
}

// Error returns the text of Python's JSONDecodeError.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("%s: line %d column %d (char %d)", e.Reason, e.Line, e.Column, e.Offset)
}

// ParseJSON returns json.loads(text). It accepts what Python does beyond JSON: NaN, Infinity,
// -Infinity, ints of up to 4300 digits, lone surrogate escapes. Bytes that are not UTF-8 count as
// U+FFFD. The error is a *DecodeError for text that is not JSON and an *Exception for what Python
// raises otherwise: nesting beyond limit.DataDepth, more digits. A str shares the memory of text
// where text is a string.
func ParseJSON[T string | []byte](text T) (Value, error) {
	p := jsonParser{s: string(text)}
	if !utf8.ValidString(p.s) {
		p.s = cleanText(p.s)
	}
	if strings.HasPrefix(p.s, "\ufeff") {
		return Value{}, p.fail("Unexpected UTF-8 BOM (decode using utf-8-sig)", 0)
	}
	p.space()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	p.space()
	if p.pos < len(p.s) {
		return Value{}, p.fail("Extra data", p.pos)
	}
	return v, nil
}

// cleanText replaces each byte that belongs neither to a code point nor to a lone surrogate by
// U+FFFD.
func cleanText(s string) string {
	dst := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, size := DecodeRune(s[i:])
		dst = AppendRune(dst, r)
		i += size
	}
	return string(dst)
}

type jsonParser struct {
	s   string
	pos int // bytes
}

// fail makes the error for a place given in bytes.
func (p *jsonParser) fail(reason string, at int) error {
	before := p.s[:min(at, len(p.s))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return &DecodeError{
		Reason: reason,
		Offset: RuneCount(before),
		Line:   strings.Count(before, "\n") + 1,
		Column: RuneCount(line) + 1,
	}
}

func (p *jsonParser) space() {
	for p.pos < len(p.s) {
		switch p.s[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// at reports whether the next byte is c.
func (p *jsonParser) at(c byte) bool { return p.pos < len(p.s) && p.s[p.pos] == c }

func (p *jsonParser) word(text string, v Value) (Value, error) {
	if !strings.HasPrefix(p.s[p.pos:], text) {
		return p.number()
	}
	p.pos += len(text)
	return v, nil
}

func (p *jsonParser) value(depth int) (Value, error) {
	if p.pos >= len(p.s) {
		return Value{}, p.fail(expectingValue, p.pos)
	}
	switch p.s[p.pos] {
	case '"':
		s, err := p.text()
		return Str(s), err
	case '{':
		if depth >= limit.DataDepth {
			return Value{}, tooDeep("object")
		}
		return p.object(depth)
	case '[':
		if depth >= limit.DataDepth {
			return Value{}, tooDeep("array")
		}
		return p.array(depth)
	case 'n':
		return p.word("null", None())
	case 't':
		return p.word("true", Bool(true))
	case 'f':
		return p.word("false", Bool(false))
	case 'N':
		return p.word("NaN", Float(math.NaN()))
	case 'I':
		return p.word("Infinity", Float(math.Inf(1)))
	case '-':
		return p.word("-Infinity", Float(math.Inf(-1)))
	default:
		return p.number()
	}
}

func (p *jsonParser) object(depth int) (Value, error) {
	p.pos++
	d := &Dict{}
	p.space()
	if p.at('}') {
		p.pos++
		return d.Value(), nil
	}
	for {
		if !p.at('"') {
			return Value{}, p.fail("Expecting property name enclosed in double quotes", p.pos)
		}
		key, err := p.text()
		if err != nil {
			return Value{}, err
		}
		p.space()
		if !p.at(':') {
			return Value{}, p.fail("Expecting ':' delimiter", p.pos)
		}
		p.pos++
		p.space()
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		d.Set(key, v)
		done, err := p.next('}')
		if done || err != nil {
			return d.Value(), err
		}
	}
}

func (p *jsonParser) array(depth int) (Value, error) {
	p.pos++
	p.space()
	if p.at(']') {
		p.pos++
		return List(), nil
	}
	var items []Value
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		items = append(items, v)
		done, err := p.next(']')
		if done || err != nil {
			return List(items...), err
		}
	}
}

// next passes a comma and the space around it, or the closing bracket, which ends the container.
func (p *jsonParser) next(closing byte) (done bool, err error) {
	p.space()
	if p.at(closing) {
		p.pos++
		return true, nil
	}
	if !p.at(',') {
		return false, p.fail("Expecting ',' delimiter", p.pos)
	}
	p.pos++
	p.space()
	return false, nil
}

func (p *jsonParser) digits(i int) int {
	for i < len(p.s) && isDigit(p.s[i]) {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads an int or a float; text that starts no number is no value at all.
func (p *jsonParser) number() (Value, error) {
	start, i := p.pos, p.pos
	if p.s[i] == '-' {
		i++
	}
	switch whole := i; {
	case i >= len(p.s) || !isDigit(p.s[i]):
		return Value{}, p.fail(expectingValue, start)
	case p.s[i] == '0':
		i++
	default:
		i = p.digits(i)
		if i-whole > limit.IntDigits && !p.hasFraction(i) {
			return Value{}, tooManyDigits(i - whole)
		}
	}
	end := p.fraction(i)
	p.pos = end
	if end == i {
		if p.s[start:end] == "-0" {
			return Int(0), nil
		}
		return intOf(p.s[start:end]), nil
	}
	f, err := strconv.ParseFloat(p.s[start:end], 64)
	if err != nil && f == 0 {
		return Value{}, p.fail(expectingValue, start)
	}
	return Float(f), nil
}

// intOf returns the int with the given digits.
func intOf(digits string) Value {
	if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return Int(i)
	}
	i, _ := new(big.Int).SetString(digits, 10)
	return BigInt(i)
}

// hasFraction reports whether a fraction or exponent follows at i.
func (p *jsonParser) hasFraction(i int) bool { return p.fraction(i) > i }

// fraction returns the end of the fraction and exponent that start at i, or i.
func (p *jsonParser) fraction(i int) int {
	if i+1 < len(p.s) && p.s[i] == '.' && isDigit(p.s[i+1]) {
		i = p.digits(i + 1)
	}
	if i+1 < len(p.s) && (p.s[i] == 'e' || p.s[i] == 'E') {
		j := i + 1
		if p.s[j] == '+' || p.s[j] == '-' {
			j++
		}
		if end := p.digits(j); end > j {
			return end
		}
	}
	return i
}

func tooDeep(container string) error {
	return &Exception{Type: "RecursionError", Text: "maximum recursion depth exceeded while decoding a JSON " + container +
		" from a unicode string"}
}

func tooManyDigits(n int) error {
	return &Exception{Type: "ValueError", Text: fmt.Sprintf(
		"Exceeds the limit (%d) for integer string conversion: value has %d digits", limit.IntDigits, n)}
}

// text reads a string whose opening quote is next.
func (p *jsonParser) text() (string, error) {
	begin := p.pos
	p.pos++
	start := p.pos
	var built []byte
	for p.pos < len(p.s) {
		switch c := p.s[p.pos]; {
		case c == '"':
			piece := p.s[start:p.pos]
			p.pos++
			if built == nil {
				return piece, nil
			}
			return string(append(built, piece...)), nil
		case c < ' ':
			return "", p.fail("Invalid control character at", p.pos)
		case c != '\\':
			p.pos++
		default:
			built = append(built, p.s[start:p.pos]...)
			r, err := p.escape(begin)
			if err != nil {
				return "", err
			}
			built = AppendRune(built, r)
			start = p.pos
		}
	}
	return "", p.fail("Unterminated string starting at", begin)
}

// escape reads the escape sequence at the backslash that is next; begin is the place of the
// string's quote.
func (p *jsonParser) escape(begin int) (rune, error) {
	at := p.pos
	if at+1 >= len(p.s) {
		return 0, p.fail("Unterminated string starting at", begin)
	}
	p.pos += 2
	switch p.s[at+1] {
	case '"', '\\', '/':
		return rune(p.s[at+1]), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return p.unicode(at + 1)
	default:
		return 0, p.fail(`Invalid \escape`, at)
	}
}

// unicode reads the four digits after the u at the given place, and the second half of a surrogate
// pair if one follows.
func (p *jsonParser) unicode(at int) (rune, error) {
	r, ok := p.hex(at + 1)
	if !ok {
		return 0, p.fail(`Invalid \uXXXX escape`, at)
	}
	p.pos = at + 5
	if !isHigh(r) || p.pos+6 >= len(p.s) || p.s[p.pos] != '\\' || p.s[p.pos+1] != 'u' {
		return r, nil
	}
	second, ok := p.hex(p.pos + 2)
	if !ok {
		return 0, p.fail(`Invalid \uXXXX escape`, p.pos+1)
	}
	if isLow(second) {
		p.pos += 6
		return 0x10000 + (r-surrogateFirst)<<10 + (second - highLast - 1), nil
	}
	return r, nil
}

// hex reads four hexadecimal digits that are not the end of the text.
func (p *jsonParser) hex(at int) (r rune, ok bool) {
	if at+4 >= len(p.s) {
		return 0, false
	}
	n, err := strconv.ParseUint(p.s[at:at+4], 16, 32)
	return rune(n), err == nil
}
