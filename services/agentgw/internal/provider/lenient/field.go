package lenient

import (
	"encoding/json"
	"slices"
	"strings"
)

// List is a list of a message. Servers also send null elements, which it omits, its only element
// without a list, and an empty value of another type where there is none.
type List[T any] []T

// UnmarshalJSON implements json.Unmarshaler. The error is that of an element. A missing list is
// nil.
func (l *List[T]) UnmarshalJSON(field []byte) error {
	var elements []json.RawMessage
	switch {
	case slices.Contains([]string{"null", "false", `""`, "{}"}, string(field)):
		return nil
	case field[0] != '[':
		elements = []json.RawMessage{slices.Clone(field)}
	default:
		if err := json.Unmarshal(field, &elements); err != nil {
			return err
		}
	}
	list := make(List[T], 0, len(elements))
	for _, element := range elements {
		if !Present(element) {
			continue
		}
		var value T
		if err := json.Unmarshal(element, &value); err != nil {
			return err
		}
		list = append(list, value)
	}
	*l = list
	return nil
}

// Word is a word of an interface, such as the reason of an answer's end. Any value but a text is
// none, which is empty.
type Word string

// UnmarshalJSON implements json.Unmarshaler.
func (w *Word) UnmarshalJSON(field []byte) error {
	*w = ""
	var text string
	if json.Unmarshal(field, &text) == nil {
		*w = Word(text)
	}
	return nil
}

// ReadText returns the text of a message's content: a text, a part of it, or a list of these. A
// part is an object with a text, which may itself be an object with a value. Parts with reasoning
// do not count. Other values have no text.
func ReadText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts List[json.RawMessage]
	if len(content) == 0 || json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, raw := range parts {
		if json.Unmarshal(raw, &text) == nil {
			b.WriteString(text)
			continue
		}
		var part struct {
			Type Word            `json:"type"`
			Text json.RawMessage `json:"text"`
		}
		if json.Unmarshal(raw, &part) == nil && !strings.Contains(string(part.Type), "think") && !strings.Contains(string(part.Type), "reason") {
			b.WriteString(textOrValue(part.Text))
		}
	}
	return b.String()
}

// textOrValue returns a text, or the text in the value of an object.
func textOrValue(field json.RawMessage) string {
	var text string
	if json.Unmarshal(field, &text) == nil {
		return text
	}
	var object struct {
		Value Word `json:"value"`
	}
	_ = json.Unmarshal(field, &object) // another form has no text
	return string(object.Value)
}
