package provider

import (
	"encoding/json"
	"fmt"
)

// maxValues bounds the values of an answer. Each takes far more memory than its two bytes of JSON.
const maxValues = 1 << 16

// Unmarshal decodes an answer's body. It fails if the body has more than maxValues values.
func Unmarshal(body []byte, target any) error {
	if n := values(body); n > maxValues {
		return fmt.Errorf("%d values, expected at most %d", n, maxValues)
	}
	return json.Unmarshal(body, target)
}

// values estimates the number of values in JSON: opening brackets and commas outside of strings.
func values(body []byte) int {
	n, quoted := 1, false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // the next character cannot end the string
		case '{', '[', ',':
			if !quoted {
				n++
			}
		}
	}
	return n
}
