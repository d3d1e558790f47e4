package phone

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
)

// Parts of the patterns. All ignore case, for which ı, ſ and the like count as variants too. They
// accept what the patterns of libphonenumber (Apache License 2.0) accept.
const (
	plus        = `+\x{FF0B}`
	digit       = `\p{Nd}`
	letter      = `A-Za-z\x{130}\x{131}\x{17F}\x{212A}`
	punctuation = `\-x\x{2010}-\x{2015}\x{2212}\x{30FC}\x{FF0D}-\x{FF0F} \x{A0}\x{AD}\x{200B}\x{2060}\x{3000}` +
		`()\x{FF08}\x{FF09}\x{FF3B}\x{FF3D}.\[\]/~\x{2053}\x{223C}\x{FF5E}`

	// An extension is a label between separators, and digits. Vaguer labels allow fewer digits.
	beforeLabel = `[ \x{A0}\t,]*`
	afterLabel  = `[:.\x{FF0E}]?[ \x{A0}\t,\-]*`
	clearLabel  = `(?:e?xt(?:ens[i\x{130}\x{131}](?:o\x{301}?|\x{F3}))?n?|\x{FF45}?\x{FF58}\x{FF54}\x{FF4E}?|` +
		`\x{434}\x{43E}\x{431}|anexo)`
	vagueLabel = `(?:[x\x{FF58}#\x{FF03}~\x{FF5E}]|[i\x{130}\x{131}]nt|\x{FF49}\x{FF4E}\x{FF54})`
	extension  = `(?:;ext=` + digit + `{1,20}` +
		`|` + beforeLabel + clearLabel + afterLabel + digit + `{1,20}#?` +
		`|` + beforeLabel + vagueLabel + afterLabel + digit + `{1,9}#?` +
		`|[\- ]+` + digit + `{1,6}#` +
		`|[ \x{A0}\t]*(?:,{2}|;)` + afterLabel + digit + `{1,15}#?` +
		`|[ \x{A0}\t]*,+` + afterLabel + digit + `{1,9}#?)`

	contextDigit = `[` + digit + `\-.()]*`
	contextAlnum = `[A-Za-z` + digit + `]`
)

var (
	viablePattern = regexp.MustCompile(`(?i)^(?:` + digit + `{2}|[` + plus + `]*(?:[` + punctuation + `*]*` + digit + `){3,}[` +
		punctuation + `*` + letter + digit + `]*` + extension + `?)$`)
	extensionPattern    = regexp.MustCompile(`(?i)` + extension + `\n?$`)
	startPattern        = regexp.MustCompile(`[` + plus + digit + `]`)
	secondNumberPattern = regexp.MustCompile(`[\\/] *x`)
	contextPattern      = regexp.MustCompile(`^(?:\+` + contextDigit + digit + contextDigit +
		`|(?:` + contextAlnum + `+(?:-*` + contextAlnum + `)*\.)*[A-Za-z]+(?:-*` + contextAlnum + `)*\.?)$`)
)

const (
	contextMark    = ";phone-context="
	schemePrefix   = "tel:"
	subaddressMark = ";isub="
)

// parse returns the digits of the number in a text, country code first.
func parse(text string) (digits string, err error) {
	number, ok := findNumber(text)
	if !ok {
		return "", newError(CodeNoNumber, "The phone-context value is invalid")
	}
	if !isViable(number) {
		return "", newError(CodeNoNumber, "The string supplied did not seem to be a phone number.")
	}
	rest := strings.TrimLeft(number, "+\uFF0B")
	if len(rest) == len(number) {
		return "", newError(CodeCountry, "Missing or invalid default region.")
	}
	if at := extensionPattern.FindStringIndex(number); at != nil && isViable(number[:at[0]]) {
		rest = strings.TrimLeft(number[:at[0]], "+\uFF0B")
	}
	return normalize(rest), nil
}

// isViable reports whether the whole text may be a number.
func isViable(number string) bool { return viablePattern.MatchString(number) }

// findNumber cuts the number out of a text. ok is false for an invalid RFC 3966 context.
func findNumber(text string) (number string, ok bool) {
	before, after, found := strings.Cut(text, contextMark)
	if found {
		context, _, _ := strings.Cut(after, ";")
		if !contextPattern.MatchString(context) {
			return "", false
		}
		number = before
		if start := strings.Index(text, schemePrefix); start >= 0 {
			number = before[min(start+len(schemePrefix), len(before)):]
		}
		if context[0] == '+' {
			number = context + number
		}
	} else {
		number = trimNumber(text)
	}
	if i := strings.Index(number, subaddressMark); i > 0 {
		number = number[:i]
	}
	return number, true
}

// trimNumber removes the text before the first plus sign or digit, trailing punctuation, and a
// second number.
func trimNumber(text string) string {
	start := startPattern.FindStringIndex(text)
	if start == nil {
		return ""
	}
	text = strings.TrimRightFunc(text[start[0]:], func(r rune) bool {
		return r != '#' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	if second := secondNumberPattern.FindStringIndex(text); second != nil {
		text = text[:second[0]]
	}
	return text
}

// normalize returns the digits of a number. Three or more letters are read as on a keypad, and then
// digits outside ASCII are dropped.
func normalize(number string) string {
	letters := 0
	for i := range len(number) {
		if isLetter(number[i]) {
			letters++
		}
	}
	digits := make([]byte, 0, len(number))
	for _, r := range number {
		switch {
		case r >= '0' && r <= '9':
			digits = append(digits, byte(r))
		case letters < 3:
			if value, ok := python.DigitValue(r); ok {
				digits = append(digits, '0'+value)
			}
		case r < utf8.RuneSelf && isLetter(byte(r)):
			digits = append(digits, keypad[(r|0x20)-'a'])
		case r == 'ſ':
			digits = append(digits, '7')
		case r == 'ı':
			digits = append(digits, '4')
		}
	}
	return string(digits)
}

// keypad holds the key of each letter.
const keypad = "22233344455566677778889999"

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
