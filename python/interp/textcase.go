package interp

import (
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"
)

// strCase implements upper, lower, casefold, swapcase, capitalize and title.
func strCase(a *arguments) any {
	s, _ := a.stringSelf(0, 0)
	a.alloc(3 * len(s))
	switch a.name {
	case "upper":
		return upper(s)
	case "lower":
		return strings.ToLower(s)
	case "casefold":
		return strings.ReplaceAll(strings.ToLower(s), "ß", "ss")
	}
	var out strings.Builder
	within := false
	for s != "" {
		n := runeWidth(s)
		c := s[:n]
		s = s[n:]
		cased := strings.ToUpper(c) != strings.ToLower(c)
		switch {
		case a.name == "swapcase" && c == strings.ToUpper(c) || a.name != "swapcase" && within:
			out.WriteString(strings.ToLower(c))
		case a.name == "swapcase":
			out.WriteString(upper(c))
		default:
			out.WriteString(strings.ToTitle(c))
		}
		within = cased || a.name == "capitalize"
	}
	return out.String()
}

func upper(s string) string { return strings.ReplaceAll(strings.ToUpper(s), "ß", "SS") }

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
			return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
		})
	case "isnumeric":
		return every(unicode.IsNumber)
	case "isalpha":
		return every(unicode.IsLetter)
	case "isalnum":
		return every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	case "isspace":
		return every(python.IsSpace)
	case "islower":
		return s == strings.ToLower(s) && strings.ToUpper(s) != s
	case "isupper":
		return s == strings.ToUpper(s) && strings.ToLower(s) != s
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

func isTitle(s string) bool {
	within, found := false, false
	for _, r := range s {
		upperCase, lowerCase := unicode.IsUpper(r) || unicode.IsTitle(r), unicode.IsLower(r)
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
