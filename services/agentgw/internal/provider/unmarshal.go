package provider

import (
	"encoding/json"
	"fmt"
)

// maxValues bounds the values of an answer: each takes many times its two bytes once it is read.
const maxValues = 1 << 16

// Unmarshal reads an answer's body, or fails if it holds more values than any answer needs.
func Unmarshal(body []byte, into any) error {
	if n := values(body); n > maxValues {
		return fmt.Errorf("%d values, expected at most %d", n, maxValues)
	}
	return json.Unmarshal(body, into)
}

// values counts the values in JSON, more or less: what opens and what separates them, outside of
// texts.
func values(body []byte) int {
	n, quoted := 1, false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			quoted = !quoted
		case '\\':
			i++ // the next character cannot end the text
		case '{', '[', ',':
			if !quoted {
				n++
			}
		}
	}
	return n
}
