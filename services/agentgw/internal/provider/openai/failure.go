package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// failing are the reasons with which servers end an answer that they could not complete: OpenRouter and Mistral, vLLM and SGLang, DeepSeek.
var failing = []string{"error", "abort", "insufficient_system_resource"}

// failed returns what the server says of its own failure, nil if it does not say that it failed. What there is of such an answer is not the
// model's turn.
func (c *completion) failed() error {
	if !empty(c.Error) {
		return fmt.Errorf("the server failed: %s", described(c.Error))
	}
	if c.Choices == nil || len(*c.Choices) == 0 {
		return nil
	}
	first := &(*c.Choices)[0]
	reason := first.reason()
	switch fails := slices.Contains(failing, reason); {
	case !empty(first.Error):
		return fmt.Errorf("the server failed within it: %s", described(first.Error))
	case fails:
		return fmt.Errorf("the server failed within it: finish_reason %s", reason)
	default:
		return nil
	}
}

// reason returns why the answer ends, "" if the server does not say.
func (c *choice) reason() string {
	var reason string
	if stated(c.FinishReason) && json.Unmarshal(c.FinishReason, &reason) != nil {
		return ""
	}
	return excerpt(reason)
}

// ended adds to what is missing in an answer why that ended.
func (c *choice) ended(missing string) string {
	if reason := c.reason(); reason != "" {
		return missing + ": " + reason
	}
	return missing
}

// described returns an error's code and message, or all of it if it has another form.
func described(raw json.RawMessage) string {
	var said struct {
		Code    json.RawMessage `json:"code"` // a number or a word
		Message string          `json:"message"`
	}
	if json.Unmarshal(raw, &said) != nil || said.Message == "" {
		return excerpt(string(raw))
	}
	if empty(said.Code) {
		return excerpt(said.Message)
	}
	return excerpt(strings.Trim(string(said.Code), `"`) + ": " + said.Message)
}

// excerpt returns the beginning of a text on one line.
func excerpt(text string) string {
	return fmt.Sprintf("%.300s", strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "))
}
