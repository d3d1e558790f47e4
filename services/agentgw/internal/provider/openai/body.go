package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// noArguments are the arguments of a call without any.
const noArguments = "{}"

// Text decodes a text. It returns nil if the field is absent or null.
func Text(name string, field json.RawMessage) (*string, error) {
	if !present(field) {
		return nil, nil
	}
	var text string
	if err := json.Unmarshal(field, &text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &text, nil
}

// ArgumentsText decodes the arguments of a call. They are a text that contains JSON. Some servers
// send the object itself, or nothing.
func ArgumentsText(field json.RawMessage) string {
	if !present(field) {
		return noArguments
	}
	var text string
	if err := json.Unmarshal(field, &text); err != nil {
		return string(field)
	}
	return text
}

// present reports whether a field is neither absent nor null.
func present(field json.RawMessage) bool {
	return len(field) > 0 && !bytes.Equal(field, []byte("null"))
}
