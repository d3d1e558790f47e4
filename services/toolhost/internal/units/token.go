package units

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTokens bounds an expression, and with it the stack that its tree takes. The original's bound
// is that of its stack.
const maxTokens = 1800

// tokenKind is what a token is to the grammar. The values are the groups of tokenForm.
type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenSpace
	tokenOperator
	tokenOpen
	tokenClose
	tokenNumber
	tokenName
)

// tokenForm matches one token, or, without a group, what is passed over: a comment, a quotation, a
// sign that stands for no operation on units, a word that begins with a foreign digit. What it does
// not match is passed over too.
var tokenForm = regexp.MustCompile(`#[^\r\n]*|'[^'\n]*'|"[^"\n]*"|->|(?:\*\*?|//?|[-+])=` +
	`|( +)` +
	`|(\*\*|//|[-+*/])` +
	`|(\()|(\))` +
	`|((?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)` +
	`|([\p{L}\p{Nl}_\[\]][\p{L}\p{N}_\[\]]*)` +
	`|\p{N}[\p{L}\p{N}_]*`)

// powerWords are powers in words, with what replaces them.
var powerWords = [...]struct {
	form        *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`([A-Za-z_]\w*) squared`), "${1}**2"},
	{regexp.MustCompile(`([A-Za-z_]\w*) cubed`), "${1}**3"},
	{regexp.MustCompile(`cubic ([A-Za-z_]\w*)`), "${1}**3"},
	{regexp.MustCompile(`(?:square|sq) ([A-Za-z_]\w*)`), "${1}**2"},
}

var (
	// signs are other ways to write what the grammar knows.
	signs = strings.NewReplacer(",", "", " per ", "/", "°", "degree", "^", "**", "·", "*")
	// superscript matches a power in superscripts. fromSuperscript converts one to normal digits.
	superscript     = regexp.MustCompile(`⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+`)
	fromSuperscript = strings.NewReplacer(
		"⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁻", "-")
)

type token struct {
	kind tokenKind
	text string
}

// tokenize returns the tokens of an expression whose white space is single blanks, the end last.
// The error is Python's for a bracket that stays open or for an expression that is too long.
func tokenize(text string) ([]token, error) {
	text = signs.Replace(text)
	for _, word := range powerWords {
		text = word.form.ReplaceAllString(text, word.replacement)
	}
	text = superscript.ReplaceAllStringFunc(text, func(power string) string { return "**(" + fromSuperscript.Replace(power) + ")" })
	var tokens []token
	depth := 0
	for _, at := range tokenForm.FindAllStringSubmatchIndex(text, -1) {
		kind, found := kindOf(at), text[at[0]:at[1]]
		switch kind {
		case tokenEnd:
			continue
		case tokenSpace:
			if !isProduct(text[:at[0]], text[at[1]:]) {
				continue
			}
			kind, found = tokenOperator, "*"
		case tokenOpen:
			depth++
		case tokenClose:
			depth--
		case tokenOperator, tokenNumber, tokenName:
		}
		if tokens = append(tokens, token{kind, found}); len(tokens) > maxTokens {
			return nil, raise("RecursionError", "maximum recursion depth exceeded")
		}
	}
	if depth != 0 {
		return nil, raise("tokenize.TokenError", "('EOF in multi-line statement', (2, 0))")
	}
	return append(tokens, token{kind: tokenEnd}), nil
}

// kindOf returns the group of tokenForm that has matched, tokenEnd if none has.
func kindOf(match []int) tokenKind {
	for kind := tokenSpace; kind <= tokenName; kind++ {
		if match[2*kind] >= 0 {
			return kind
		}
	}
	return tokenEnd
}

// isProduct reports whether a space between two parts of an expression means their product.
func isProduct(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return (isWord(last) || last == '.' || last == ')') && (isWord(first) || first == '(')
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
