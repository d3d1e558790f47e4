package interp

import (
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// strCase is upper, lower, casefold, swapcase, capitalize and title.
func strCase(a *arguments) (any, error) {
	s, _, err := a.textOf(0, 0)
	if err != nil {
		return nil, err
	}
	if err := a.alloc(3 * len(s)); err != nil {
		return nil, err
	}
	switch a.name {
	case "upper":
		return upper(s), nil
	case "lower":
		return strings.ToLower(s), nil
	case "casefold":
		return strings.ReplaceAll(strings.ToLower(s), "ß", "ss"), nil
	}
	var out strings.Builder
	within := false
	for s != "" {
		n := width(s)
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
	return out.String(), nil
}

func upper(s string) string { return strings.ReplaceAll(strings.ToUpper(s), "ß", "SS") }

// strIs is isdigit and its like.
func strIs(a *arguments) (any, error) {
	s, _, err := a.textOf(0, 0)
	if err != nil {
		return nil, err
	}
	if err := a.spend(len(s) / 16); err != nil {
		return nil, err
	}
	every := func(is func(rune) bool) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !is(r) })
	}
	switch a.name {
	case "isdecimal":
		return every(unicode.IsDigit), nil
	case "isdigit":
		return every(func(r rune) bool {
			return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
		}), nil
	case "isnumeric":
		return every(unicode.IsNumber), nil
	case "isalpha":
		return every(unicode.IsLetter), nil
	case "isalnum":
		return every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }), nil
	case "isspace":
		return every(isSpace), nil
	case "islower":
		return s == strings.ToLower(s) && strings.ToUpper(s) != s, nil
	case "isupper":
		return s == strings.ToUpper(s) && strings.ToLower(s) != s, nil
	case "isascii":
		return isASCII(s), nil
	case "isidentifier":
		return every(func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }) && (s[0] < '0' || s[0] > '9'), nil
	case "isprintable":
		shown := python.Repr(python.Str(strings.NewReplacer(`\`, "", "'", "").Replace(s)))
		return !strings.Contains(shown, `\`), a.alloc(4 * len(s))
	default:
		return isTitle(s), nil
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

func strExpandTabs(a *arguments) (any, error) {
	s, _ := a.self.(string)
	args, err := a.bind(0, "tabsize")
	if err != nil {
		return nil, err
	}
	size := 8
	if args[0] != absent {
		if size, err = machineInt(args[0], false); err != nil {
			return nil, err
		}
	}
	var out strings.Builder
	column := 0
	for s != "" {
		n := width(s)
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
		if err := a.allocTimes(fill, len(c)); err != nil {
			return nil, err
		}
		if err := a.spend(1 + fill/64); err != nil {
			return nil, err
		}
		out.WriteString(strings.Repeat(c, fill))
	}
	return out.String(), nil
}
