package python

import "strings"

// texts reads one or more adjacent string literals.
func (p *literalParser) texts() (Value, bool) {
	text, ok := p.quoted()
	if !ok {
		return Value{}, false
	}
	p.blanks()
	if !p.atText() {
		return Str(text), true
	}
	built := []byte(text)
	for p.atText() {
		if text, ok = p.quoted(); !ok {
			return Value{}, false
		}
		built = append(built, text...)
		p.blanks()
	}
	return Str(string(built)), true
}

// atText says whether a string literal is next: a quote, or a prefix letter and a quote.
func (p *literalParser) atText() bool {
	rest := p.s[p.pos:]
	if len(rest) > 1 && strings.IndexByte("rRuU", rest[0]) >= 0 {
		rest = rest[1:]
	}
	return rest != "" && (rest[0] == '\'' || rest[0] == '"')
}

// quoted reads one string literal, with prefix r or u and in one or three quotes.
func (p *literalParser) quoted() (string, bool) {
	if !p.atText() {
		return "", false
	}
	raw := p.s[p.pos]|0x20 == 'r'
	if p.s[p.pos] != '\'' && p.s[p.pos] != '"' {
		p.pos++
	}
	quote := p.s[p.pos : p.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.s[p.pos:], triple) {
		quote = triple
	}
	p.pos += len(quote)
	return p.untilQuote(quote, raw)
}

// untilQuote reads a text up to and including its closing quote.
func (p *literalParser) untilQuote(quote string, raw bool) (string, bool) {
	start := p.pos
	var built []byte
	for p.pos < len(p.s) {
		switch c := p.s[p.pos]; {
		case c == quote[0] && strings.HasPrefix(p.s[p.pos:], quote):
			piece := p.s[start:p.pos]
			p.pos += len(quote)
			if built == nil {
				return piece, true
			}
			return string(append(built, piece...)), true
		case c == 0 || (c == '\n' || c == '\r') && len(quote) == 1:
			return "", false
		case c == '\r':
			built = append(append(built, p.s[start:p.pos]...), '\n')
			p.pos++
			if p.pos < len(p.s) && p.s[p.pos] == '\n' {
				p.pos++
			}
			start = p.pos
		case c == '\\' && raw:
			p.pos += 2
		case c == '\\':
			built = append(built, p.s[start:p.pos]...)
			var ok bool
			if built, ok = p.escape(built); !ok {
				return "", false
			}
			start = p.pos
		default:
			p.pos++
		}
	}
	return "", false
}

// escape reads the escape sequence at the backslash that is next and appends what it stands for.
func (p *literalParser) escape(dst []byte) ([]byte, bool) {
	if p.pos+1 >= len(p.s) {
		return dst, false
	}
	c := p.s[p.pos+1]
	p.pos += 2
	if i := strings.IndexByte(`\'"abfnrtv`, c); i >= 0 {
		return append(dst, "\\'\"\a\b\f\n\r\t\v"[i]), true
	}
	switch {
	case c == '\n':
		return dst, true
	case c == '\r':
		if p.pos < len(p.s) && p.s[p.pos] == '\n' {
			p.pos++
		}
		return dst, true
	case c == 'x':
		return p.hexEscape(dst, 2)
	case c == 'u':
		return p.hexEscape(dst, 4)
	case c == 'U':
		return p.hexEscape(dst, 8)
	case c >= '0' && c <= '7':
		r := rune(c - '0')
		for n := 1; n < 3 && p.pos < len(p.s) && p.s[p.pos] >= '0' && p.s[p.pos] <= '7'; n++ {
			r = r<<3 | rune(p.s[p.pos]-'0')
			p.pos++
		}
		return appendRune(dst, r), true
	case c == 'N' || c == 0:
		return dst, false
	default:
		p.pos--
		return append(dst, '\\'), true
	}
}

func (p *literalParser) hexEscape(dst []byte, width int) ([]byte, bool) {
	if p.pos+width > len(p.s) || width == 8 && p.s[p.pos:p.pos+2] != "00" {
		return dst, false
	}
	r, ok := hexRune(p.s[p.pos : p.pos+width])
	if !ok || r > 0x10FFFF {
		return dst, false
	}
	p.pos += width
	return appendRune(dst, r), true
}
