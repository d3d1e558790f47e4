package openai

import (
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// Text decodes a text. It returns nil if the field is absent or null.
func Text(name string, field json.RawMessage) (*string, error) {
	if !lenient.Present(field) {
		return nil, nil
	}
	var text string
	if err := json.Unmarshal(field, &text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &text, nil
}
