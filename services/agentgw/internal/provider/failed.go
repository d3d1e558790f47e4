package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// failing are the reasons with which servers end an answer that they could not complete: OpenRouter
// and Mistral, vLLM and SGLang, DeepSeek.
var failing = []string{"error", "abort", "insufficient_system_resource"}

// Failed returns what a server says of its own failure in an answer with a status of success, nil
// if it does not say that it failed. What there is of such an answer is not the model's turn. whole
// is the answer's error, within that of its first choice and reason why that choice ends, as they
// came; nil if there is none.
func Failed(whole, within, reason json.RawMessage) error {
	switch end := Reason(reason); {
	case !Empty(whole):
		return fmt.Errorf("the server failed: %s", described(whole))
	case !Empty(within):
		return fmt.Errorf("the server failed within it: %s", described(within))
	case slices.Contains(failing, end):
		return fmt.Errorf("the server failed within it: finish_reason %s", end)
	}
	return nil
}

// Reason returns why an answer ends, "" if the server does not say.
func Reason(raw json.RawMessage) string {
	var reason string
	if json.Unmarshal(raw, &reason) != nil {
		return ""
	}
	return excerpt(reason)
}

// Empty says whether there is nothing in a field.
func Empty(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}":
		return true
	default:
		return false
	}
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
	if Empty(said.Code) {
		return excerpt(said.Message)
	}
	return excerpt(strings.Trim(string(said.Code), `"`) + ": " + said.Message)
}

// excerpt returns the beginning of a text on one line.
func excerpt(text string) string {
	return fmt.Sprintf("%.300s", strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "))
}
