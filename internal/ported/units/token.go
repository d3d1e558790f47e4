package units

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTokens is the maximum size of an expression. It limits the depth of the tree. The original's
// limit is its stack size.
const maxTokens = 1800

// tokenKind is the kind of a token. The values are the groups of tokenPattern.
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

// tokenPattern matches one token. A match without a group is skipped: a comment, a quotation, an
// operator without a meaning for units, or a word that starts with a foreign digit. Text without a
// match is skipped too.
var tokenPattern = regexp.MustCompile(`#[^\r\n]*|'[^'\n]*'|"[^"\n]*"|->|(?:\*\*?|//?|[-+])=` +
	`|( +)` +
	`|(\*\*|//|[-+*/])` +
	`|(\()|(\))` +
	`|((?:[0-9]+(?:_[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)` +
	`|([\p{L}\p{Nl}_\[\]][\p{L}\p{N}_\[\]]*)` +
	`|\p{N}[\p{L}\p{N}_]*`)

// powerWords are words for powers with their replacements.
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
	// alternativeSymbols replaces alternative symbols of the grammar.
	alternativeSymbols = strings.NewReplacer(",", "", " per ", "/", "°", "degree", "^", "**", "·", "*")
	// superscript matches a power in superscript digits. fromSuperscript converts it to normal digits.
	superscript     = regexp.MustCompile(`⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+`)
	fromSuperscript = strings.NewReplacer(
		"⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁻", "-")
)

type token struct {
	kind tokenKind
	text string
}

// tokenize returns the tokens of an expression. Its white space must be single spaces. The last
// token is tokenEnd. The error is Python's for an open bracket or an expression that is too long.
func tokenize(text string) ([]token, error) {
	text = alternativeSymbols.Replace(text)
	for _, word := range powerWords {
		text = word.form.ReplaceAllString(text, word.replacement)
	}
	text = superscript.ReplaceAllStringFunc(text, func(power string) string { return "**(" + fromSuperscript.Replace(power) + ")" })
	var tokens []token
	depth := 0
	for _, at := range tokenPattern.FindAllStringSubmatchIndex(text, -1) {
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

// kindOf returns the group of tokenPattern that matched, tokenEnd if none did.
func kindOf(match []int) tokenKind {
	for kind := tokenSpace; kind <= tokenName; kind++ {
		if match[2*kind] >= 0 {
			return kind
		}
	}
	return tokenEnd
}

// isProduct reports whether a space between two parts of an expression means multiplication.
func isProduct(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(after)
	return (isWord(last) || last == '.' || last == ')') && (isWord(first) || first == '(')
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
