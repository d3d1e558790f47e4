package expression

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokenName tokenKind = iota + 1
	tokenNumber
	tokenText
	tokenMark // an operator or a bracket
	tokenEnd  // of a statement; its text is empty where a semicolon ends it
	tokenIndent
	tokenDedent
)

// token is one piece of source.
type token struct {
	kind tokenKind
	text string
}

// lineEnd is the text of the end of a statement that is the end of a line.
const lineEnd = "\n"

// maxTokens bounds the tokens of one source.
const maxTokens = 100_000

// scanner splits source into tokens.
type scanner struct {
	s      string
	pos    int
	open   []byte   // the brackets that are open
	blocks []string // what the lines of the blocks begin with, which is blanks
	tokens []token
}

// lineBreaks makes all ends of lines those that Python reads, within texts too.
var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// scan splits source into tokens; ok is false for source that Python would not read either.
func scan(source string) (tokens []token, ok bool) {
	if !utf8.ValidString(source) || strings.IndexByte(source, 0) >= 0 {
		return nil, false
	}
	s := scanner{s: lineBreaks.Replace(source)}
	for s.pos < len(s.s) {
		if !s.next() || len(s.tokens) > maxTokens {
			return nil, false
		}
	}
	s.end(lineEnd)
	for range s.blocks {
		s.tokens = append(s.tokens, token{kind: tokenDedent})
	}
	return s.tokens, len(s.open) == 0
}

// end ends a statement.
func (s *scanner) end(text string) { s.tokens = append(s.tokens, token{kind: tokenEnd, text: text}) }

func (s *scanner) emit(kind tokenKind, length int) bool {
	s.tokens = append(s.tokens, token{kind: kind, text: s.s[s.pos : s.pos+length]})
	s.pos += length
	return true
}

// next passes one token or blank.
func (s *scanner) next() bool {
	rest := s.s[s.pos:]
	switch c := rest[0]; {
	case c == ' ' || c == '\t' || c == '\f':
		s.pos++
		return true
	case c == '\\' && len(rest) > 1 && rest[1] == '\n':
		s.pos += 2
		return true
	case c == '#':
		comment, _, _ := strings.Cut(rest, "\n")
		s.pos += len(comment)
		return true
	case c == '\n':
		return s.lineBreak()
	case textLength(rest) != 0:
		length := textLength(rest)
		return length > 0 && s.emit(tokenText, length)
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		length := len(numberForm.FindString(rest))
		return (wordLength(rest[length:]) == 0 || followsNumber.MatchString(rest[length:])) && s.emit(tokenNumber, length)
	case wordLength(rest) != 0:
		return s.name(rest[:wordLength(rest)])
	default:
		return s.mark(rest)
	}
}

// lineBreak ends a statement, except within brackets.
func (s *scanner) lineBreak() bool {
	s.pos++
	if len(s.open) > 0 {
		return true
	}
	s.end(lineEnd)
	line, _, _ := strings.Cut(s.s[s.pos:], "\n")
	text := strings.TrimLeft(line, " \t\f")
	return text == "" || text[0] == '#' || s.indent(line[:len(line)-len(text)])
}

// indent begins or ends blocks where a line begins with these blanks.
func (s *scanner) indent(blanks string) bool {
	for len(s.blocks) > 0 && len(blanks) < len(s.blocks[len(s.blocks)-1]) {
		s.blocks = s.blocks[:len(s.blocks)-1]
		s.tokens = append(s.tokens, token{kind: tokenDedent})
	}
	before := ""
	if len(s.blocks) > 0 {
		before = s.blocks[len(s.blocks)-1]
	}
	if blanks == before {
		return true
	}
	dedented := len(s.tokens) > 0 && s.tokens[len(s.tokens)-1].kind == tokenDedent
	s.blocks = append(s.blocks, blanks)
	s.tokens = append(s.tokens, token{kind: tokenIndent})
	return !dedented && strings.HasPrefix(blanks, before) && len(s.blocks) <= maxDepth
}

// mark passes an operator or a bracket.
func (s *scanner) mark(rest string) bool {
	if rest[0] == ';' {
		s.pos++
		s.end("")
		return len(s.open) == 0
	}
	for _, length := range []int{3, 2} {
		if len(rest) >= length && longMark(rest[:length]) {
			return s.emit(tokenMark, length)
		}
	}
	switch c := rest[0]; c {
	case '(', '[', '{':
		if len(s.open) >= maxDepth {
			return false
		}
		s.open = append(s.open, c)
	case ')', ']', '}':
		if len(s.open) == 0 || !fits(s.open[len(s.open)-1], c) {
			return false
		}
		s.open = s.open[:len(s.open)-1]
	case '+', '-', '*', '/', '%', ',', ':', '=', '.', '<', '>', '&', '|', '^', '~', '@':
	default:
		return false
	}
	return s.emit(tokenMark, 1)
}

// longMark says whether this is an operator of more than one character.
func longMark(s string) bool {
	switch s {
	case "...", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", ":=":
		return true
	default:
		return augmented(s)
	}
}

// augmented says whether a mark computes and assigns.
func augmented(mark string) bool {
	switch mark {
	case "+=", "-=", "*=", "/=", "//=", "%=", "**=", ">>=", "<<=", "&=", "^=", "|=", "@=":
		return true
	default:
		return false
	}
}

func fits(open, closed byte) bool {
	return open == '(' && closed == ')' || open == '[' && closed == ']' || open == '{' && closed == '}'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// textLength returns the length of a text literal with its prefix, 0 if there is none, -1 if it does not end.
func textLength(s string) int {
	start := strings.IndexAny(s[:min(len(s), 3)], `'"`)
	if start < 0 || !textPrefix(s[:start]) {
		return 0
	}
	quote := s[start : start+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s[start:], triple) {
		quote = triple
	}
	for i := start + len(quote); i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], quote):
			return i + len(quote)
		case len(quote) == 1 && s[i] == '\n':
			return -1
		}
	}
	return -1
}

func textPrefix(s string) bool {
	switch strings.ToLower(s) {
	case "", "r", "u", "b", "br", "rb", "f", "fr", "rf":
		return true
	default:
		return false
	}
}

var (
	// numberForm is a number, but for zeros before it.
	numberForm = regexp.MustCompile(`^(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|` +
		`(?:[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9](?:_?[0-9])*)?[jJ]?)`)
	// followsNumber are the words that may stand behind a number without a blank.
	followsNumber = regexp.MustCompile(`^(?:and|else|for|i[fns]|or|not)`)
)

// wordLength returns the length of what would have to be a name.
func wordLength(s string) int {
	for i := range len(s) {
		if c := s[i]; c != '_' && c < utf8.RuneSelf && !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') {
			return i
		}
	}
	return len(s)
}

// name passes a name, in the form in which Python compares it.
func (s *scanner) name(word string) bool {
	name := norm.NFKC.String(word)
	s.tokens = append(s.tokens, token{kind: tokenName, text: name})
	s.pos += len(word)
	return identifier(word) && identifier(name)
}

func identifier(s string) bool {
	for i, r := range s {
		begins := r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)
		if !begins && (i == 0 || !unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)) {
			return false
		}
	}
	return true
}
