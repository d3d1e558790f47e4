package interp

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// casingText holds the characters whose upper case is several characters, with it and their title
// case in hexadecimal digits, as Python 3.11 has them.
//
//go:embed casing.txt
var casingText string

// casing is the upper and the title case of a character.
type casing struct{ upper, title string }

var casings = sync.OnceValue(func() map[rune]casing {
	all := make(map[rune]casing)
	decode := func(codes string) (text string) {
		for code := range strings.SplitSeq(codes, "+") {
			r, _ := strconv.ParseInt(code, 16, 32)
			text += string(rune(r))
		}
		return text
	}
	for line := range strings.Lines(casingText) {
		fields := strings.Fields(line)
		r, _ := python.DecodeRune(decode(fields[0]))
		all[r] = casing{decode(fields[1]), decode(fields[2])}
	}
	return all
})

func appendUpper(dst []byte, r rune) []byte {
	if special, ok := casings()[r]; ok {
		return append(dst, special.upper...)
	}
	return python.AppendRune(dst, unicode.ToUpper(r))
}

func appendTitle(dst []byte, r rune) []byte {
	if special, ok := casings()[r]; ok {
		return append(dst, special.title...)
	}
	return python.AppendRune(dst, unicode.ToTitle(r))
}

// appendLower appends the lower case of a character between two texts.
func appendLower(dst []byte, before string, r rune, after string) []byte {
	switch {
	case r == 'İ':
		return append(dst, "i\u0307"...)
	case r == 'Σ' && besideCased(before, true) && !besideCased(after, false):
		return append(dst, "ς"...)
	}
	return python.AppendRune(dst, unicode.ToLower(r))
}

// besideCased reports whether the last or the first character of a text has a case, without those
// that have no influence on it.
func besideCased(text string, last bool) bool {
	ignored := func(r rune) bool {
		return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·’‘․‧", r)
	}
	var r rune
	if last {
		r, _ = utf8.DecodeLastRuneInString(strings.TrimRightFunc(text, ignored))
	} else {
		r, _ = utf8.DecodeRuneInString(strings.TrimLeftFunc(text, ignored))
	}
	return isCased(r)
}

func isUpper(r rune) bool { return unicode.In(r, unicode.Lu, unicode.Other_Uppercase) }

func isLower(r rune) bool { return unicode.In(r, unicode.Ll, unicode.Other_Lowercase) }

func isCased(r rune) bool { return isUpper(r) || isLower(r) || unicode.IsTitle(r) }

// appendFolded appends the form in which texts are equal that differ in case alone.
func appendFolded(dst []byte, r rune) []byte {
	switch {
	case r == 'İ':
		return appendLower(dst, "", r, "")
	case r == 'ı':
		return append(dst, "ı"...)
	case r == 'ẞ':
		return append(dst, "ss"...)
	case unicode.Is(unicode.Cherokee, r):
		return python.AppendRune(dst, unicode.ToUpper(r))
	}
	for upper := string(appendUpper(nil, r)); upper != ""; {
		c, size := python.DecodeRune(upper)
		dst, upper = python.AppendRune(dst, unicode.ToLower(c)), upper[size:]
	}
	return dst
}

// strCase implements upper, lower, casefold, swapcase, capitalize and title.
func strCase(a *arguments) any {
	s, _ := a.stringSelf(0, 0)
	a.alloc(3 * len(s))
	switch a.name {
	case "upper":
		return upper(s)
	case "lower":
		return lower(s)
	}
	var dst []byte
	within := false
	for at := 0; at < len(s); {
		r, size := python.DecodeRune(s[at:])
		before, after := s[:at], s[at+size:]
		switch at += size; {
		case a.name == "casefold":
			dst = appendFolded(dst, r)
		case a.name == "swapcase" && isUpper(r) || a.name != "swapcase" && within:
			dst = appendLower(dst, before, r, after)
		case a.name == "swapcase" && isLower(r):
			dst = appendUpper(dst, r)
		case a.name == "swapcase":
			dst = python.AppendRune(dst, r)
		default:
			dst = appendTitle(dst, r)
		}
		within = a.name == "capitalize" || isCased(r)
	}
	return string(dst)
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	var dst []byte
	for at := 0; at < len(s); {
		r, size := python.DecodeRune(s[at:])
		dst, at = appendUpper(dst, r), at+size
	}
	return string(dst)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var dst []byte
	for at := 0; at < len(s); {
		r, size := python.DecodeRune(s[at:])
		dst = appendLower(dst, s[:at], r, s[at+size:])
		at += size
	}
	return string(dst)
}

// otherDigits are the digits that are no decimal ones, otherNumbers the letters that are numbers.
const (
	otherDigits  = "²³¹፩፪፫፬፭፮፯፰፱᧚⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉①②③④⑤⑥⑦⑧⑨⑴⑵⑶⑷⑸⑹⑺⑻⑼⒈⒉⒊⒋⒌⒍⒎⒏⒐⓪⓵⓶⓷⓸⓹⓺⓻⓼⓽⓿❶❷❸❹❺❻❼❽❾➀➁➂➃➄➅➆➇➈➊➋➌➍➎➏➐➑➒𐩀𐩁𐩂𐩃𐹠𐹡𐹢𐹣𐹤𐹥𐹦𐹧𐹨𑁒𑁓𑁔𑁕𑁖𑁗𑁘𑁙𑁚🄀🄁🄂🄃🄄🄅🄆🄇🄈🄉🄊"
	otherNumbers = "㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零\uf96b\uf973\uf978\uf9b2\uf9d1\uf9d3\uf9fd𠀁𠁤𠃢𠄡𠤪𠦃𠦌𠦜𠫪𠫽𠬙𢎐𢦘𣬛𦉭\U0002f890"
)

// strIs implements isdigit and the other predicates.
func strIs(a *arguments) any {
	s, _ := a.stringSelf(0, 0)
	a.chargeSteps(len(s) / 16)
	every := func(is func(rune) bool) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !is(r) })
	}
	switch a.name {
	case "isdecimal":
		return every(unicode.IsDigit)
	case "isdigit":
		return every(func(r rune) bool {
			return unicode.IsDigit(r) || strings.ContainsRune(otherDigits, r)
		})
	case "isnumeric":
		return every(func(r rune) bool { return unicode.IsNumber(r) || strings.ContainsRune(otherNumbers, r) })
	case "isalpha":
		return every(unicode.IsLetter)
	case "isalnum":
		return every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	case "isspace":
		return every(python.IsSpace)
	case "islower":
		return isOneCase(s, isLower)
	case "isupper":
		return isOneCase(s, isUpper)
	case "isascii":
		return isASCII(s)
	case "isidentifier":
		return syntax.IsIdentifier(s) || syntax.IsKeyword(s)
	case "isprintable":
		shown := python.Repr(python.Str(strings.NewReplacer(`\`, "", "'", "").Replace(s)))
		a.alloc(4 * len(s))
		return !strings.Contains(shown, `\`)
	default:
		return isTitle(s)
	}
}

// isOneCase reports whether a text has characters with a case, all of them that one.
func isOneCase(s string, is func(rune) bool) bool {
	found := false
	for _, r := range s {
		if isCased(r) && !is(r) {
			return false
		}
		found = found || is(r)
	}
	return found
}

func isTitle(s string) bool {
	within, found := false, false
	for _, r := range s {
		upperCase, lowerCase := isUpper(r) || unicode.IsTitle(r), isLower(r)
		if upperCase && within || lowerCase && !within {
			return false
		}
		within = upperCase || lowerCase
		found = found || within
	}
	return found
}

func strExpandTabs(a *arguments) any {
	s, _ := a.self.(string)
	args := a.bind(0, "tabsize")
	size := machineInt(orDefault(args[0], 8), false)
	var out strings.Builder
	column := 0
	for s != "" {
		n := runeWidth(s)
		c := s[:n]
		s = s[n:]
		fill := 1
		switch {
		case c == "\t" && size > 0:
			fill = size - column%size
			c = " "
		case c == "\t":
			continue
		}
		if column += fill; c == "\n" || c == "\r" {
			column = 0
		}
		a.allocTimes(fill, len(c))
		a.chargeSteps(1 + fill/64)
		out.WriteString(strings.Repeat(c, fill))
	}
	return out.String()
}
