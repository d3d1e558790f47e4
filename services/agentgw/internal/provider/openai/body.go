package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// noArguments are those of a call without any.
const noArguments = "{}"

// Text reads a text, nil if the field is absent or null.
func Text(name string, field json.RawMessage) (*string, error) {
	if !stated(field) {
		return nil, nil
	}
	var text string
	if err := json.Unmarshal(field, &text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &text, nil
}

// Stated reads the arguments of a call. They are a text that holds JSON; some servers send the
// object itself, or nothing.
func Stated(field json.RawMessage) string {
	if !stated(field) {
		return noArguments
	}
	var text string
	if err := json.Unmarshal(field, &text); err != nil {
		return string(field)
	}
	return text
}

// stated says whether a field is neither absent nor null.
func stated(field json.RawMessage) bool {
	return len(field) > 0 && !bytes.Equal(field, []byte("null"))
}
