package source

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	kindName kind = iota
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

// line is a logical line: one or more simple statements, or the head of a block.
type line struct {
	indent int
	tokens []token
}

// opensBlock says whether an indented block must follow.
func (l line) opensBlock() bool {
	last := l.tokens[len(l.tokens)-1]
	if last.kind != kindMark || last.text != ":" {
		return false
	}
	switch l.tokens[0].text {
	case "if", "elif", "else", "for", "while", "def", "try", "except", "finally", "with", "class", "async":
		return true
	default:
		return false
	}
}

// lexer splits source into logical lines.
type lexer struct {
	s       string
	pos     int
	open    []token // brackets
	indents []int
	lines   []line
	tokens  []token
}

// lex splits source into logical lines. The error is a *SyntaxError.
func lex(source string) ([]line, error) {
	if strings.IndexByte(source, 0) >= 0 {
		return nil, &SyntaxError{"ValueError: source code string cannot contain null bytes\n"}
	}
	l := &lexer{s: source, indents: []int{0}}
	for l.pos < len(l.s) {
		if err := l.logicalLine(); err != nil {
			return nil, err
		}
	}
	if n := len(l.lines); n > 0 && l.lines[n-1].opensBlock() {
		return nil, incomplete(source)
	}
	return l.lines, nil
}

func (l *lexer) wrong(at int, format string, args ...any) error {
	return wrong(l.s, at, syntaxError, fmt.Sprintf(format, args...))
}

// logicalLine reads one logical line; empty lines and comments leave nothing.
func (l *lexer) logicalLine() error {
	start, width := l.pos, 0
blanks:
	for ; l.pos < len(l.s); l.pos++ {
		switch l.s[l.pos] {
		case ' ':
			width++
		case '\t':
			width = (width/8 + 1) * 8
		case '\f':
			width = 0
		default:
			break blanks
		}
	}
	first := l.pos
	l.tokens = nil
	for more := true; more; {
		var err error
		if more, err = l.next(); err != nil {
			return err
		}
	}
	if len(l.tokens) == 0 {
		return nil
	}
	if err := l.indent(width, start, first); err != nil {
		return err
	}
	l.lines = append(l.lines, line{indent: len(l.indents) - 1, tokens: l.tokens})
	return nil
}

// indent compares the indentation of a line, which begins at start and has its first token at first, with the open blocks.
func (l *lexer) indent(width, start, first int) error {
	top := l.indents[len(l.indents)-1]
	opens := len(l.lines) > 0 && l.lines[len(l.lines)-1].opensBlock()
	switch {
	case opens && width <= top:
		return wrong(l.s, first, indentationError, "expected an indented block")
	case opens:
		if len(l.indents) > maxIndents {
			return wrong(l.s, start, indentationError, "too many levels of indentation")
		}
		l.indents = append(l.indents, width)
		return nil
	case width > top:
		return wrong(l.s, start, indentationError, "unexpected indent")
	}
	for width < l.indents[len(l.indents)-1] {
		l.indents = l.indents[:len(l.indents)-1]
	}
	if width != l.indents[len(l.indents)-1] {
		return wrong(l.s, first, indentationError, "unindent does not match any outer indentation level")
	}
	return nil
}

// next reads one token, or the end of the logical line: more is false then.
func (l *lexer) next() (more bool, err error) {
	if l.pos >= len(l.s) {
		if len(l.open) > 0 {
			return false, incomplete(l.s)
		}
		return false, nil
	}
	c := l.s[l.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\f' || c == '\r':
		l.pos++
		return true, nil
	case c == '\n':
		l.pos++
		return len(l.open) > 0, nil
	case c == '#':
		if end := strings.IndexByte(l.s[l.pos:], '\n'); end >= 0 {
			l.pos += end
		} else {
			l.pos = len(l.s)
		}
		return true, nil
	case c == '\\':
		rest := strings.TrimPrefix(l.s[l.pos+1:], "\r")
		if strings.TrimPrefix(rest, "\n") == "" {
			return false, incomplete(l.s)
		}
		if rest[0] != '\n' {
			return false, l.wrong(l.pos+1, "unexpected character after line continuation character")
		}
		l.pos = len(l.s) - len(rest) + 1
		return true, nil
	case c >= '0' && c <= '9' || c == '.' && l.pos+1 < len(l.s) && l.s[l.pos+1] >= '0' && l.s[l.pos+1] <= '9':
		l.number()
		return true, nil
	}
	if prefix := textPrefix(l.s[l.pos:]); prefix >= 0 {
		return true, l.text(prefix)
	}
	return true, l.nameOrMark()
}

// textPrefix returns the length of the prefix of the string literal that is next, -1 if none is.
func textPrefix(s string) int {
	for i := range min(len(s), 3) {
		if s[i] == '\'' || s[i] == '"' {
			switch strings.ToLower(s[:i]) {
			case "", "r", "u", "f", "b", "rf", "fr", "rb", "br":
				return i
			default:
				return -1
			}
		}
	}
	return -1
}

// number passes what belongs to a number, right or wrong.
func (l *lexer) number() {
	start := l.pos
	based := l.s[start] == '0' && start+1 < len(l.s) && strings.IndexByte("xXoObB", l.s[start+1]) >= 0
	for ; l.pos < len(l.s); l.pos++ {
		c := l.s[l.pos]
		sign := (c == '+' || c == '-') && l.pos > start && l.s[l.pos-1]|0x20 == 'e' && !based
		if c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !sign {
			break
		}
	}
	l.tokens = append(l.tokens, token{kindNumber, l.s[start:l.pos], start})
}

// text passes a string literal.
func (l *lexer) text(prefix int) error {
	start := l.pos
	l.pos += prefix
	quote := l.s[l.pos : l.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(l.s[l.pos:], triple) {
		quote = triple
	}
	l.pos += len(quote)
	for ; l.pos < len(l.s); l.pos++ {
		switch c := l.s[l.pos]; {
		case c == '\\':
			l.pos++
		case c == '\n' && len(quote) == 1:
			return l.wrong(l.pos, "EOL while scanning string literal")
		case strings.HasPrefix(l.s[l.pos:], quote):
			l.pos += len(quote)
			k := kindText
			switch lower := strings.ToLower(l.s[start : start+prefix]); {
			case strings.Contains(lower, "b"):
				return l.wrong(start, "bytes cannot be executed here")
			case strings.Contains(lower, "f"):
				k = kindFormat
			}
			l.tokens = append(l.tokens, token{k, l.s[start:l.pos], start})
			return nil
		}
	}
	l.pos = len(l.s)
	if len(quote) == 3 {
		return incomplete(l.s)
	}
	return l.wrong(len(l.s), "EOL while scanning string literal")
}

func (l *lexer) nameOrMark() error {
	start := l.pos
	for i, r := range l.s[start:] {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			break
		}
		l.pos = start + i + utf8.RuneLen(r)
	}
	if l.pos > start {
		l.tokens = append(l.tokens, token{kindName, l.s[start:l.pos], start})
		return nil
	}
	for _, mark := range [...]string{
		"**=", "//=", ">>=", "<<=", "...", "!=", "==", "<=", ">=", "->", ":=", "**", "//", "<<", ">>",
		"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=",
		"+", "-", "*", "/", "%", "@", "&", "|", "^", "~", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=",
	} {
		if strings.HasPrefix(l.s[start:], mark) {
			l.pos += len(mark)
			l.tokens = append(l.tokens, token{kindMark, mark, start})
			return l.bracket(l.tokens[len(l.tokens)-1])
		}
	}
	r, size := utf8.DecodeRuneInString(l.s[start:])
	switch {
	case r < utf8.RuneSelf || r == utf8.RuneError && size == 1:
		return l.wrong(start, invalidSyntax)
	case unicode.IsPrint(r):
		return l.wrong(start, "invalid character '%c' (U+%04X)", r, r)
	default:
		return l.wrong(start, "invalid non-printable character U+%04X", r)
	}
}

// bracket keeps account of the open brackets.
func (l *lexer) bracket(t token) error {
	switch t.text {
	case "(", "[", "{":
		if l.open = append(l.open, t); len(l.open) > maxBrackets {
			return l.wrong(t.at, "too many nested parentheses")
		}
	case ")", "]", "}":
		if len(l.open) == 0 {
			return l.wrong(t.at, "unmatched '%s'", t.text)
		}
		opening := l.open[len(l.open)-1].text
		if opening+t.text != "()" && opening+t.text != "[]" && opening+t.text != "{}" {
			return l.wrong(t.at, "closing parenthesis '%s' does not match opening parenthesis '%s'", t.text, opening)
		}
		l.open = l.open[:len(l.open)-1]
	}
	return nil
}
