package units

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// tokenKind is what a token is to the grammar; all that it passes over is other.
type tokenKind uint8

const (
	tokenOther tokenKind = iota
	tokenOperator
	tokenNumber
	tokenName
	tokenEnd
)

// token is one token of Python's tokenizer.
type token struct {
	kind   tokenKind
	text   string
	row    int // from 1
	column int // from 0
	line   string
}

// String returns an operator's token as Python prints it.
func (t token) String() string {
	place := func(column int) string { return "(" + strconv.Itoa(t.row) + ", " + strconv.Itoa(column) + ")" }
	return "TokenInfo(type=54 (OP), string=" + python.Repr(python.Str(t.text)) +
		", start=" + place(t.column) + ", end=" + place(t.column+len([]rune(t.text))) +
		", line=" + python.Repr(python.Str(t.line)) + ")"
}

// operators are Python's operators and delimiters, the longer ones before their beginnings.
var operators = [...]string{
	"~", "}", "|=", "|", "{", "^=", "^", "]", "[", "@=", "@", ">>=", ">>", ">=", ">", "==", "=", "<=", "<<=", "<<", "<", ";",
	":=", ":", "/=", "//=", "//", "/", "...", ".", "->", "-=", "-", ",", "+=", "+", "*=", "**=", "**", "*", ")", "(", "&=", "&",
	"%=", "%", "!=",
}

// tokenizer splits a text into Python's tokens, line by line.
type tokenizer struct {
	tokens  []token
	row     int
	line    []rune
	depth   int // of open brackets
	indents []int
	resumed bool // the line goes on after a backslash

	quote      string // that ends the text literal which is open
	quoteStart token
}

// tokenize returns the tokens of a text, the end marker last. The error is Python's for a bracket or a text that stays open
// or for an indentation that fits no other line.
func tokenize(text string) ([]token, error) {
	t := &tokenizer{indents: []int{0}}
	for _, line := range strings.SplitAfter(strings.TrimPrefix(text, "\ufeff"), "\n") {
		if line == "" {
			continue
		}
		t.row++
		t.line = []rune(line)
		if err := t.scanLine(); err != nil {
			return nil, err
		}
	}
	switch {
	case t.quote != "":
		return nil, tokenError("EOF in multi-line string", t.quoteStart.row, t.quoteStart.column)
	case t.depth != 0 || t.resumed:
		return nil, tokenError("EOF in multi-line statement", t.row+1, 0)
	}
	return append(t.tokens, token{kind: tokenEnd}), nil
}

func tokenError(what string, row, column int) error {
	return raise("tokenize.TokenError", "('"+what+"', ("+strconv.Itoa(row)+", "+strconv.Itoa(column)+"))")
}

func (t *tokenizer) scanLine() error {
	pos := 0
	switch {
	case t.quote != "":
		if pos = t.closeQuote(0); pos < 0 {
			return nil
		}
	case t.depth == 0 && !t.resumed:
		var err error
		if pos, err = t.indentation(); pos < 0 || err != nil {
			return err
		}
	}
	t.resumed = false
	for pos < len(t.line) && pos >= 0 {
		pos = t.scanToken(pos)
	}
	return nil
}

// indentation measures the line's. The position is negative for a line with nothing to scan.
func (t *tokenizer) indentation() (pos int, err error) {
	column := 0
measure:
	for ; pos < len(t.line); pos++ {
		switch t.line[pos] {
		case ' ':
			column++
		case '\t':
			column = (column/8 + 1) * 8
		case '\f':
			column = 0
		default:
			break measure
		}
	}
	if pos == len(t.line) || strings.ContainsRune("#\r\n", t.line[pos]) {
		return -1, nil
	}
	if column > t.indents[len(t.indents)-1] {
		t.indents = append(t.indents, column)
	}
	for column < t.indents[len(t.indents)-1] {
		if !slices.Contains(t.indents, column) {
			return 0, raise("IndentationError", "unindent does not match any outer indentation level (<tokenize>, line "+strconv.Itoa(t.row)+")")
		}
		t.indents = t.indents[:len(t.indents)-1]
	}
	return pos, nil
}

// scanToken reads the token at pos and the blanks before it and returns the position after it, negative if the line's rest
// belongs to an open text.
func (t *tokenizer) scanToken(pos int) int {
	start := pos
	for start < len(t.line) && strings.ContainsRune(" \f\t", t.line[start]) {
		start++
	}
	if start == len(t.line) {
		return start
	}
	rest := t.line[start:]
	if hasPrefix(rest, "\\\n") || hasPrefix(rest, "\\\r\n") {
		t.resumed = true
		return len(t.line)
	}
	if rest[0] == '#' {
		return t.commentEnd(start)
	}
	prefix := textPrefix(rest)
	if quote := tripleQuote(rest[prefix:]); quote != "" {
		return t.openQuote(start, start+prefix+len(quote), quote)
	}
	if n := numberEnd(rest); n > 0 {
		return t.add(tokenNumber, start, n)
	}
	if n := lineBreak(rest); n > 0 {
		return start + n
	}
	if n := operatorEnd(rest); n > 0 {
		if strings.ContainsRune("([{", rest[0]) {
			t.depth++
		} else if strings.ContainsRune(")]}", rest[0]) {
			t.depth--
		}
		return t.add(tokenOperator, start, n)
	}
	if end := t.simpleText(start, start+prefix); end != start {
		return end
	}
	n := 0
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	switch {
	case n == 0:
		return pos + 1 // an error token
	case isIdentifierStart(rest[0]):
		return t.add(tokenName, start, n)
	default:
		return t.add(tokenOperator, start, n)
	}
}

// isIdentifierStart says whether a word character may begin a Python name.
func isIdentifierStart(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

func (t *tokenizer) add(kind tokenKind, start, length int) (end int) {
	t.tokens = append(t.tokens, token{
		kind: kind, text: string(t.line[start : start+length]), row: t.row, column: start, line: string(t.line),
	})
	return start + length
}

func (t *tokenizer) commentEnd(pos int) int {
	for pos < len(t.line) && t.line[pos] != '\r' && t.line[pos] != '\n' {
		pos++
	}
	return pos
}

func hasPrefix(text []rune, prefix string) bool {
	p := []rune(prefix)
	return len(text) >= len(p) && slices.Equal(text[:len(p)], p)
}

func lineBreak(text []rune) int {
	switch {
	case hasPrefix(text, "\n"):
		return 1
	case hasPrefix(text, "\r\n"):
		return 2
	default:
		return 0
	}
}

func operatorEnd(text []rune) int {
	for _, operator := range operators {
		if hasPrefix(text, operator) {
			return len(operator)
		}
	}
	return 0
}
