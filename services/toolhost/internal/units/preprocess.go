package units

import (
	"slices"
	"strings"
	"unicode"
)

const (
	superscripts     = "⁰¹²³⁴⁵⁶⁷⁸⁹"
	superscriptMinus = '⁻'
)

// preprocess turns the ways in which people write products and powers into those of the grammar.
func preprocess(text string) string {
	text = strings.ReplaceAll(text, ",", "")
	text = strings.ReplaceAll(text, " per ", "/")
	text = strings.ReplaceAll(text, "°", "degree")
	text = mergeSpaces(text)
	text = powerAfter(text, " squared", "**2")
	text = powerAfter(text, " cubed", "**3")
	text = powerBefore(text, "cubic ", "**3")
	text = powerBefore(text, "square ", "**2")
	text = powerBefore(text, "sq ", "**2")
	text = multiplyNumbers(text)
	text = multiplySpaces(text)
	text = raiseSuperscripts(text)
	return strings.ReplaceAll(text, "^", "**")
}

// isSpace is Python's str.isspace of a character.
func isSpace(r rune) bool {
	switch {
	case r < 0x80:
		return r == ' ' || r >= '\t' && r <= '\r' || r >= 0x1C && r <= 0x1F
	case r < 0x1680:
		return r == 0x85 || r == 0xA0
	default:
		return r == 0x1680 || r >= 0x2000 && r <= 0x200A || r == 0x2028 || r == 0x2029 || r == 0x202F || r == 0x205F || r == 0x3000
	}
}

// isWord is the \w of Python's regular expressions.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

func isASCIILetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// isNameStart and isNamePart say which characters an ASCII name has.
func isNameStart(r rune) bool { return r == '_' || isASCIILetter(r) }

func isNamePart(r rune) bool { return isNameStart(r) || isDigit(r) }

// spacesEnd returns the end of the spaces at position i.
func spacesEnd(text []rune, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}
	return i
}

// mergeSpaces leaves one space after a word or an operator.
func mergeSpaces(s string) string {
	text := []rune(s)
	var out []rune
	for i := 0; i < len(text); {
		r := text[i]
		out = append(out, r)
		i++
		if end := spacesEnd(text, i); end > i && (isWord(r) || strings.ContainsRune(`.-+*\^`, r)) {
			out = append(out, ' ')
			i = end
		}
	}
	return string(out)
}

// powerAfter replaces a suffix after an ASCII name by a power.
func powerAfter(text, suffix, power string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, suffix)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		start := i
		for start > 0 && isNamePart(rune(text[start-1])) {
			start--
		}
		out.WriteString(text[:i])
		if strings.ContainsFunc(text[start:i], isNameStart) {
			out.WriteString(power)
		} else {
			out.WriteString(suffix)
		}
		text = text[i+len(suffix):]
	}
}

// powerBefore replaces a prefix of an ASCII name by a power after the name.
func powerBefore(text, prefix, power string) string {
	var out strings.Builder
	for {
		i := strings.Index(text, prefix)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		name := text[i+len(prefix):]
		if name == "" || !isNameStart(rune(name[0])) {
			out.WriteString(text[:i+1])
			text = text[i+1:]
			continue
		}
		end := 1
		for end < len(name) && isNamePart(rune(name[end])) {
			end++
		}
		out.WriteString(text[:i])
		out.WriteString(name[:end])
		out.WriteString(power)
		text = name[end:]
	}
}

// multiplyNumbers puts a multiplication sign between a number and the letter after it, unless that is an exponent's.
func multiplyNumbers(s string) string {
	text := []rune(s)
	var out []rune
	for i := 0; i < len(text); {
		if !isDigit(text[i]) || i > 0 && isWord(text[i-1]) {
			out = append(out, text[i])
			i++
			continue
		}
		end := i
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		if end < len(text) && text[end] == '.' {
			end++
		}
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		if !multipliesNumber(text[end:]) {
			end = i + 1
			out = append(out, text[i])
		} else {
			out = append(append(out, text[i:end]...), '*')
		}
		i = end
	}
	return string(out)
}

// multipliesNumber says whether what follows a number begins a name.
func multipliesNumber(rest []rune) bool {
	if len(rest) == 0 {
		return false
	}
	if r := rest[0]; r == 'e' || r == 'E' || r == '|' {
		return len(rest) > 1 && isASCIILetter(rest[1])
	}
	return isASCIILetter(rest[0])
}

// multiplySpaces replaces spaces before a word or a group, and after one, by a multiplication sign.
func multiplySpaces(s string) string {
	text := []rune(s)
	var out []rune
	for i := 0; i < len(text); {
		r := text[i]
		out = append(out, r)
		i++
		if !isWord(r) && r != '.' && r != ')' {
			continue
		}
		if end := spacesEnd(text, i); end > i && end < len(text) && (isWord(text[end]) || text[end] == '(') {
			out = append(out, '*')
			i = end
		}
	}
	return string(out)
}

// raiseSuperscripts replaces superscript numbers by powers, and a raised dot by a multiplication sign.
func raiseSuperscripts(s string) string {
	digits := []rune(superscripts)
	plain := func(r rune) rune {
		switch i := slices.Index(digits, r); {
		case i >= 0:
			return '0' + rune(i)
		case r == '·':
			return '*'
		case r == superscriptMinus:
			return '-'
		default:
			return r
		}
	}
	text := []rune(s)
	var out []rune
	for i := 0; i < len(text); {
		end := superscriptEnd(text, i, digits)
		if end == i {
			out = append(out, plain(text[i]))
			i++
			continue
		}
		out = append(out, '*', '*', '(')
		for _, r := range text[i:end] {
			out = append(out, plain(r))
		}
		out = append(out, ')')
		i = end
	}
	return string(out)
}

// superscriptEnd returns the end of the superscript number at position i, i if there is none.
func superscriptEnd(text []rune, i int, digits []rune) int {
	run := func(at int) int {
		for at < len(text) && slices.Contains(digits, text[at]) {
			at++
		}
		return at
	}
	start := i
	if text[i] == superscriptMinus {
		start++
	}
	end := run(start)
	if end == start {
		return i
	}
	if end < len(text) && text[end] == '.' {
		end = run(end + 1)
	}
	return end
}
