package conformance

import (
	"bytes"
	"slices"
)

// quotedMark starts the text that replaces a number outside JSON. No text in a vector starts with
// it.
const quotedMark = `"\u0000number `

// numbersBeyondJSON returns the numbers that Python writes into JSON although JSON has no syntax
// for them.
func numbersBeyondJSON() []string { return []string{"NaN", "Infinity", "-Infinity"} }

// quoteNumbers replaces NaN and the infinities by texts, so that Go can decode the line.
func quoteNumbers(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw
	}
	numbers, quoted, text := numbersBeyondJSON(), make([]byte, 0, len(raw)), false
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] == '"':
			text = !text
		case text && raw[i] == '\\' && i+1 < len(raw):
			quoted = append(quoted, raw[i])
			i++
		case !text:
			at := slices.IndexFunc(numbers, func(number string) bool { return bytes.HasPrefix(raw[i:], []byte(number)) })
			if at >= 0 {
				quoted = append(quoted, quotedMark+numbers[at]+`"`...)
				i += len(numbers[at]) - 1
				continue
			}
		}
		quoted = append(quoted, raw[i])
	}
	return quoted
}

// unquoteNumbers is the inverse of quoteNumbers.
func unquoteNumbers(quoted []byte) []byte {
	for _, number := range numbersBeyondJSON() {
		quoted = bytes.ReplaceAll(quoted, []byte(quotedMark+number+`"`), []byte(number))
	}
	return quoted
}
