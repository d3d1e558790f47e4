package openai

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/packages/respjson"
)

// noArguments are those of a call without any.
const noArguments = "{}"

// Text reads a text, nil if the field is absent or null. The SDK itself takes numbers for texts and
// keeps bytes that are no UTF-8.
func Text(name string, field respjson.Field) (*string, error) {
	if absent(field) {
		return nil, nil
	}
	var text string
	if err := json.Unmarshal([]byte(field.Raw()), &text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &text, nil
}

// Stated reads the arguments of a call. They are a text that holds JSON; some servers send the
// object itself, or nothing.
func Stated(field respjson.Field) string {
	if absent(field) {
		return noArguments
	}
	var text string
	if err := json.Unmarshal([]byte(field.Raw()), &text); err != nil {
		return field.Raw()
	}
	return text
}

// Given fails if a field is neither absent nor null nor what the SDK expects.
func Given(name string, field respjson.Field) error {
	if field.Valid() || absent(field) {
		return nil
	}
	return fmt.Errorf("%s is of the wrong kind", name)
}

func absent(field respjson.Field) bool {
	return field.Raw() == respjson.Omitted || field.Raw() == respjson.Null
}
