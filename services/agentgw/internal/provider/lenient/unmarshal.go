package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

const (
	// maxValues bounds the values of an answer. Each takes far more memory than its two bytes of JSON.
	maxValues = 1 << 16
	// maxEvents is how many times more values a stream may have: each piece of a text is an object.
	maxEvents = 8
)

// ErrIncomplete means that an answer ends before its JSON does.
var ErrIncomplete = errors.New("it is incomplete")

// Unmarshal decodes an answer's body. If the server streamed it, join makes one body of its
// events. Numbers that JSON does not know become texts. It fails if the body has more than
// maxValues values.
func Unmarshal(body []byte, target any, join Join) error {
	body, err := joined(body, join)
	if err != nil {
		return err
	}
	if n := values(body); n > maxValues {
		return errTooMany(n, maxValues)
	}
	err = json.Unmarshal(body, target)
	if _, invalid := errors.AsType[*json.SyntaxError](err); !invalid {
		return err
	}
	if quoted := quoteNumbers(body); json.Valid(quoted) {
		return json.Unmarshal(quoted, target)
	}
	if isIncomplete(body) {
		return fmt.Errorf("%w: %w", ErrIncomplete, err)
	}
	return err
}

// isIncomplete reports whether a body ends before its JSON does.
func isIncomplete(body []byte) bool {
	err := json.NewDecoder(bytes.NewReader(body)).Decode(new(json.RawMessage))
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func errTooMany(n, limit int) error { return fmt.Errorf("%d values, expected at most %d", n, limit) }

// textOrNumber matches a text, or a number that JSON does not know.
var textOrNumber = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity|nan|inf)\b`)

// quoteNumbers quotes the numbers that JSON does not know: NaN and infinities.
func quoteNumbers(body []byte) []byte {
	return textOrNumber.ReplaceAllFunc(body, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return fmt.Appendf(nil, "%q", found)
	})
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
