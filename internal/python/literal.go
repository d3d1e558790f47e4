package python

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrLiteral is returned for text that is not a literal of the kinds that Value holds.
var ErrLiteral = errors.New("not a Python literal")

// ParseLiteral reads the Python text of a value: what Repr prints (bare nan and inf too), and the
// other spellings of the same kinds of literals, e.g. double and triple quotes, raw texts, adjacent
// texts, 1_000, 0x1F, trailing commas, comments inside brackets. Tuples, sets, bytes, f-strings and
// operators other than signs are refused, as is nesting beyond MaxDepth. The error is ErrLiteral.
func ParseLiteral(text string) (Value, error) {
	p := literalParser{s: text}
	p.blanks()
	v, ok := p.value()
	if ok {
		p.blanks()
	}
	if !ok || p.pos < len(p.s) {
		return Value{}, ErrLiteral
	}
	return v, nil
}

// literalParser reads literals at pos; depth counts the open brackets.
type literalParser struct {
	s     string
	pos   int
	depth int
}

// blanks passes spaces, and inside brackets line breaks and comments too.
func (p *literalParser) blanks() {
	for p.pos < len(p.s) {
		switch c := p.s[p.pos]; {
		case c == ' ' || c == '\t' || c == '\f':
			p.pos++
		case p.depth > 0 && (c == '\n' || c == '\r'):
			p.pos++
		case p.depth > 0 && c == '#':
			p.comment()
		default:
			return
		}
	}
}

// comment passes everything before the end of the line.
func (p *literalParser) comment() {
	if end := strings.IndexAny(p.s[p.pos:], "\r\n"); end >= 0 {
		p.pos += end
		return
	}
	p.pos = len(p.s)
}

// take passes c and the blanks after it if c is next.
func (p *literalParser) take(c byte) bool {
	if p.pos >= len(p.s) || p.s[p.pos] != c {
		return false
	}
	p.pos++
	p.blanks()
	return true
}

// open passes an opening bracket, close the closing one; between them line breaks are blanks.
func (p *literalParser) open(c byte) bool {
	if p.pos >= len(p.s) || p.s[p.pos] != c || p.depth >= MaxDepth {
		return false
	}
	p.depth++
	p.pos++
	p.blanks()
	return true
}

func (p *literalParser) close(c byte) bool {
	if p.pos >= len(p.s) || p.s[p.pos] != c {
		return false
	}
	p.depth--
	p.pos++
	p.blanks()
	return true
}

// value reads one literal and the blanks after it.
func (p *literalParser) value() (Value, bool) {
	if p.pos >= len(p.s) {
		return Value{}, false
	}
	switch c := p.s[p.pos]; {
	case c == '{':
		return p.dict()
	case c == '[':
		return p.list()
	case c == '(':
		return p.group()
	case c == '\'' || c == '"':
		return p.texts()
	case c == '-' || c == '+':
		return p.signed()
	case isDigit(c) || c == '.':
		return p.number()
	default:
		return p.name()
	}
}

func (p *literalParser) dict() (Value, bool) {
	if !p.open('{') {
		return Value{}, false
	}
	d := &Dict{}
	for !p.close('}') {
		key, ok := p.value()
		if !ok || key.kind != KindStr || !p.take(':') {
			return Value{}, false
		}
		v, ok := p.value()
		if !ok {
			return Value{}, false
		}
		d.Set(key.text, v)
		if !p.take(',') {
			return d.Value(), p.close('}')
		}
	}
	return d.Value(), true
}

func (p *literalParser) list() (Value, bool) {
	if !p.open('[') {
		return Value{}, false
	}
	var items []Value
	for !p.close(']') {
		v, ok := p.value()
		if !ok {
			return Value{}, false
		}
		items = append(items, v)
		if !p.take(',') {
			return List(items...), p.close(']')
		}
	}
	return List(items...), true
}

func (p *literalParser) group() (Value, bool) {
	if !p.open('(') {
		return Value{}, false
	}
	v, ok := p.value()
	return v, ok && p.close(')')
}

// signed reads a number with its signs.
func (p *literalParser) signed() (Value, bool) {
	minus := false
	for p.pos < len(p.s) && (p.s[p.pos] == '-' || p.s[p.pos] == '+') {
		minus = minus != (p.s[p.pos] == '-')
		p.pos++
		p.blanks()
	}
	v, ok := p.value()
	if !ok || v.kind != KindInt && v.kind != KindFloat {
		return Value{}, false
	}
	if minus {
		v = negated(v)
	}
	return v, true
}

func negated(v Value) Value {
	if v.kind == KindFloat {
		return Float(-math.Float64frombits(v.num))
	}
	if v.text == "" && int64(v.num) != math.MinInt64 {
		return Int(-int64(v.num))
	}
	i, _ := v.AsBigInt()
	return BigInt(i.Neg(i))
}

// word passes an identifier and returns it, without the blanks after it; it is empty if none is
// next.
func (p *literalParser) word() string {
	start := p.pos
	for p.pos < len(p.s) {
		r, size := utf8.DecodeRuneInString(p.s[p.pos:])
		if !identifierRune(r, p.pos == start) {
			break
		}
		p.pos += size
	}
	return p.s[start:p.pos]
}

func (p *literalParser) name() (Value, bool) {
	start := p.pos
	word := p.word()
	if p.pos < len(p.s) && (p.s[p.pos] == '\'' || p.s[p.pos] == '"') {
		p.pos = start
		return p.texts()
	}
	p.blanks()
	switch word {
	case "None":
		return None(), true
	case "True":
		return Bool(true), true
	case "False":
		return Bool(false), true
	case nanName:
		return Float(math.NaN()), true
	case infName:
		return Float(math.Inf(1)), true
	default:
		return Value{}, false
	}
}

// number reads an int or float without sign.
func (p *literalParser) number() (Value, bool) {
	start := p.pos
	for p.pos < len(p.s) {
		c := p.s[p.pos]
		exponentSign := (c == '+' || c == '-') && (p.s[p.pos-1]|0x20) == 'e' && !hasBasePrefix(p.s[start:p.pos])
		if !isDigit(c) && c != '.' && c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && !exponentSign {
			break
		}
		p.pos++
	}
	text := p.s[start:p.pos]
	p.blanks()
	if !underscoresFit(text) {
		return Value{}, false
	}
	return numberOf(strings.ReplaceAll(text, "_", ""))
}

func hasBasePrefix(s string) bool {
	return len(s) > 1 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0
}

// underscoresFit says whether every underscore stands between two digits (or after a base prefix).
func underscoresFit(s string) bool {
	based := hasBasePrefix(s)
	between := func(c byte) bool { return isDigit(c) || based && c|0x20 >= 'a' && c|0x20 <= 'f' }
	for i := range len(s) {
		if s[i] != '_' {
			continue
		}
		if i == 0 || i == len(s)-1 || !between(s[i+1]) || !between(s[i-1]) && (!based || i != 2) {
			return false
		}
	}
	return true
}

// numberOf converts a number's text without sign and underscores.
func numberOf(s string) (Value, bool) {
	if hasBasePrefix(s) {
		if len(s) > maxIntDigits {
			return Value{}, false
		}
		i, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return Value{}, false
		}
		return BigInt(i), true
	}
	if strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0 {
		if len(s) > maxIntDigits || len(s) > 1 && s[0] == '0' && strings.Trim(s, "0") != "" {
			return Value{}, false
		}
		if s[0] == '0' {
			return Int(0), true
		}
		return decimalInt(s), true
	}
	if strings.IndexFunc(s, func(r rune) bool { return r >= 'A' && r != 'e' && r != 'E' }) >= 0 {
		return Value{}, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return Value{}, false
	}
	return Float(f), true
}
