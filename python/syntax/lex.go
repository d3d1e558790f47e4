package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

type kind uint8

const (
	kindEnd kind = iota
	kindNewline
	kindIndent
	kindDedent
	kindName
	kindNumber
	kindText   // a string literal
	kindFormat // an f-string
	kindMark   // an operator or a bracket
)

// token is a token of Python: its text as it stands in the source, and where.
type token struct {
	kind kind
	text string
	at   int
}

// indentation is the width of the blanks before a line, where a tab goes on to the next multiple of
// 8, and their number.
type indentation struct{ width, count int }

// lexer splits source into tokens, one at a time. What is wrong it raises as a panic with an
// *Error, which Parse recovers.
type lexer struct {
	s    string
	pos  int
	open []token // brackets
	// brackets is how many may be open.
	brackets     int
	indents      []indentation
	dedents      int  // still to be told
	inLine       bool // within a logical line
	joined       bool // line breaks are spaces
	expectIndent bool // the last line opens a block
}

func (l *lexer) fail(at int, format string, args ...any) {
	panic(errorAt(l.s, at, syntaxError, fmt.Sprintf(format, args...)))
}

// next returns the next token.
func (l *lexer) next() token {
	for {
		if l.dedents > 0 {
			l.dedents--
			return token{kind: kindDedent, at: l.pos}
		}
		if !l.inLine {
			if t, ok := l.lineStart(); ok {
				return t
			}
			continue
		}
		if t, ok := l.token(); ok {
			return t
		}
	}
}

// lineStart passes blank lines and compares the indentation of the next one with the open blocks.
func (l *lexer) lineStart() (token, bool) {
	start, found := l.pos, indentation{}
	for l.pos < len(l.s) && strings.IndexByte(" \t\f", l.s[l.pos]) >= 0 {
		found.count++
		switch l.s[l.pos] {
		case ' ':
			found.width++
		case '\t':
			found.width = (found.width/8 + 1) * 8
		default:
			found = indentation{}
		}
		l.pos++
	}
	rest := strings.TrimPrefix(l.s[l.pos:], "\r")
	switch {
	case rest == "":
		l.pos = len(l.s)
		if l.expectIndent {
			panic(unexpectedEnd(l.s))
		}
		if len(l.indents) > 0 {
			l.indents = l.indents[:len(l.indents)-1]
			return token{kind: kindDedent, at: len(l.s)}, true
		}
		return token{kind: kindEnd, at: len(l.s)}, true
	case rest[0] == '\n' || rest[0] == '#':
		if end := strings.IndexByte(l.s[l.pos:], '\n'); end >= 0 {
			l.pos += end + 1
		} else {
			l.pos = len(l.s)
		}
		return token{}, false
	}
	l.inLine = true
	return l.indent(found, start)
}

// block returns the indentation of the innermost block.
func (l *lexer) block() indentation {
	if len(l.indents) == 0 {
		return indentation{}
	}
	return l.indents[len(l.indents)-1]
}

// indent compares the indentation of a line that begins at start with the open blocks.
func (l *lexer) indent(found indentation, start int) (token, bool) {
	const mixed = "inconsistent use of tabs and spaces in indentation"
	top := l.block()
	switch {
	case found.width == top.width && found.count != top.count, found.width > top.width && found.count <= top.count:
		panic(errorAt(l.s, start, tabError, mixed))
	case l.expectIndent && found.width <= top.width:
		panic(errorAt(l.s, l.pos, indentationError, "expected an indented block"))
	case l.expectIndent:
		if len(l.indents) >= limit.IndentDepth {
			panic(errorAt(l.s, start, indentationError, "too many levels of indentation"))
		}
		l.expectIndent = false
		l.indents = append(l.indents, found)
		return token{kind: kindIndent, at: l.pos}, true
	case found.width > top.width:
		panic(errorAt(l.s, start, indentationError, "unexpected indent"))
	}
	for len(l.indents) > 0 && found.width < l.block().width {
		l.indents = l.indents[:len(l.indents)-1]
		l.dedents++
	}
	switch top = l.block(); {
	case found.width != top.width:
		panic(errorAt(l.s, l.pos, indentationError, "unindent does not match any outer indentation level"))
	case found.count != top.count:
		panic(errorAt(l.s, start, tabError, mixed))
	}
	return token{}, false
}

// token reads one token of a logical line; ok is false for what is none.
func (l *lexer) token() (token, bool) {
	if l.pos >= len(l.s) {
		if len(l.open) > 0 {
			panic(unexpectedEnd(l.s))
		}
		l.inLine = false
		return token{kind: kindNewline, at: len(l.s)}, true
	}
	c := l.s[l.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\f' || c == '\r':
		l.pos++
		return token{}, false
	case c == '\n':
		l.pos++
		if len(l.open) > 0 || l.joined {
			return token{}, false
		}
		l.inLine = false
		return token{kind: kindNewline, at: l.pos - 1}, true
	case c == '#':
		if end := strings.IndexAny(l.s[l.pos:], "\r\n"); end >= 0 {
			l.pos += end
		} else {
			l.pos = len(l.s)
		}
		return token{}, false
	case c == '\\':
		l.continuation()
		return token{}, false
	case c >= '0' && c <= '9' || c == '.' && l.pos+1 < len(l.s) && l.s[l.pos+1] >= '0' && l.s[l.pos+1] <= '9':
		return l.number(), true
	}
	if prefix := textPrefix(l.s[l.pos:]); prefix >= 0 {
		return l.text(prefix), true
	}
	return l.nameOrMark(), true
}

func (l *lexer) continuation() {
	rest := strings.TrimPrefix(l.s[l.pos+1:], "\r")
	if strings.TrimPrefix(rest, "\n") == "" {
		panic(unexpectedEnd(l.s))
	}
	if rest[0] != '\n' {
		l.fail(l.pos+1, "unexpected character after line continuation character")
	}
	l.pos = len(l.s) - len(rest) + 1
}

// textPrefix returns the length of the prefix of the string literal that is next, -1 if none is.
func textPrefix(s string) int {
	if s[0] == '\'' || s[0] == '"' {
		return 0
	}
	for i := 1; i < min(len(s), 3) && s[0] >= 'A'; i++ {
		if s[i] == '\'' || s[i] == '"' {
			switch strings.ToLower(s[:i]) {
			case "r", "u", "f", "b", "rf", "fr", "rb", "br":
				return i
			default:
				return -1
			}
		}
	}
	return -1
}

// number reads a number: with a base, or with a fraction and an exponent.
func (l *lexer) number() token {
	start := l.pos
	digits := func(more string) {
		for l.pos < len(l.s) && (l.s[l.pos] >= '0' && l.s[l.pos] <= '9' || strings.IndexByte(more, l.s[l.pos]|0x20) >= 0 || l.s[l.pos] == '_') {
			l.pos++
		}
	}
	if l.s[start] == '0' && start+1 < len(l.s) && strings.IndexByte("xob", l.s[start+1]|0x20) >= 0 {
		l.pos += 2
		if digits(""); l.s[start+1]|0x20 == 'x' {
			digits("abcdef")
		}
		return token{kindNumber, l.s[start:l.pos], start}
	}
	digits("")
	if l.pos < len(l.s) && l.s[l.pos] == '.' {
		l.pos++
		digits("")
	}
	if rest := l.s[l.pos:]; rest != "" && rest[0]|0x20 == 'e' {
		if after := strings.TrimLeft(rest[1:], "+-"); len(rest)-len(after) <= 2 && after != "" && after[0] >= '0' && after[0] <= '9' {
			l.pos += len(rest) - len(after)
			digits("")
		}
	}
	if rest := l.s[l.pos:]; rest != "" && rest[0]|0x20 == 'j' {
		l.fail(start, "complex numbers cannot be executed here")
	}
	text := l.s[start:l.pos]
	if text[0] == '0' && strings.Trim(text, "0_") != "" && strings.Trim(text, "0123456789_") == "" {
		l.fail(l.pos-1, "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers")
	}
	return token{kindNumber, text, start}
}

// text passes a string literal.
func (l *lexer) text(prefix int) token {
	start := l.pos
	l.pos += prefix
	quote := l.s[l.pos : l.pos+1]
	if rest := l.s[l.pos:]; len(rest) > 2 && rest[1] == rest[0] && rest[2] == rest[0] {
		quote = rest[:3]
	}
	for l.pos += len(quote); l.pos < len(l.s); l.pos++ {
		switch c := l.s[l.pos]; {
		case c != quote[0] && c != '\\' && c != '\n':
		case c == '\\':
			l.pos++
			if strings.HasPrefix(l.s[l.pos:], "\r\n") {
				l.pos++
			}
		case c == '\n' && len(quote) == 1:
			l.fail(l.pos, "EOL while scanning string literal")
		case c == quote[0] && strings.HasPrefix(l.s[l.pos:], quote):
			l.pos += len(quote)
			k := kindText
			switch kind := l.s[start : start+prefix]; {
			case strings.ContainsAny(kind, "bB"):
				l.fail(start, "bytes cannot be executed here")
			case strings.ContainsAny(kind, "fF"):
				k = kindFormat
			}
			return token{k, l.s[start:l.pos], start}
		}
	}
	l.pos = len(l.s)
	if len(quote) == 3 {
		panic(unexpectedEnd(l.s))
	}
	l.fail(len(l.s), "EOL while scanning string literal")
	return token{}
}

func (l *lexer) nameOrMark() token {
	start := l.pos
	for i, r := range l.s[start:] {
		if !identifierRune(r, i == 0) {
			break
		}
		l.pos = start + i + utf8.RuneLen(r)
	}
	if l.pos > start {
		return token{kindName, l.s[start:l.pos], start}
	}
	if n := markLength(l.s[start:]); n > 0 {
		l.pos += n
		t := token{kindMark, l.s[start:l.pos], start}
		l.bracket(t)
		return t
	}
	r, size := utf8.DecodeRuneInString(l.s[start:])
	switch {
	case r < utf8.RuneSelf || r == utf8.RuneError && size == 1:
		l.fail(start, invalidSyntax)
	case unicode.IsPrint(r):
		l.fail(start, "invalid character '%c' (U+%04X)", r, r)
	}
	l.fail(start, "invalid non-printable character U+%04X", r)
	return token{}
}

// markLength returns the length of the operator or bracket that s begins with, 0 if it begins with
// none.
func markLength(s string) int {
	if len(s) > 1 && strings.IndexByte("=*/<>.", s[1]) >= 0 {
		for _, mark := range [...]string{
			"**=", "//=", ">>=", "<<=", "...", "!=", "==", "<=", ">=", "->", ":=", "**", "//", "<<", ">>",
			"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=",
		} {
			if strings.HasPrefix(s, mark) {
				return len(mark)
			}
		}
	}
	if strings.IndexByte("()[]{},:.;=+-*/%@&|^~<>", s[0]) >= 0 {
		return 1
	}
	return 0
}

// bracket keeps account of the open brackets.
func (l *lexer) bracket(t token) {
	switch t.text {
	case "(", "[", "{":
		if l.open = append(l.open, t); len(l.open) > l.brackets {
			l.fail(t.at, "too many nested parentheses")
		}
	case ")", "]", "}":
		if len(l.open) == 0 {
			l.fail(t.at, "unmatched '%s'", t.text)
		}
		opening := l.open[len(l.open)-1].text
		if opening+t.text != "()" && opening+t.text != "[]" && opening+t.text != "{}" {
			l.fail(t.at, "closing parenthesis '%s' does not match opening parenthesis '%s'", t.text, opening)
		}
		l.open = l.open[:len(l.open)-1]
	}
}
