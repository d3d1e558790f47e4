package conformance

import (
	"bytes"
	"slices"
)

// quotedMark begins the text that stands for a number which Python writes and JSON lacks. No vector
// has a text that begins so.
const quotedMark = `"\u0000number `

// numbersBeyondJSON are the numbers that Python writes into JSON although it has none of them.
func numbersBeyondJSON() []string { return []string{"NaN", "Infinity", "-Infinity"} }

// quoteNumbers makes texts of NaN and the infinities, so that a line which has them can be read.
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

// plainNumbers undoes quoteNumbers.
func plainNumbers(quoted []byte) []byte {
	for _, number := range numbersBeyondJSON() {
		quoted = bytes.ReplaceAll(quoted, []byte(quotedMark+number+`"`), []byte(number))
	}
	return quoted
}
