package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// errorReasons are the finish reasons of answers that a server could not complete: of OpenRouter
// and Mistral, of vLLM and SGLang, of DeepSeek.
var errorReasons = []string{"error", "abort", "insufficient_system_resource"}

// ServerError returns the failure that a server reports in an answer with a status of success, nil
// if it reports none. The content of such an answer is not the model's turn. answerError
// is the raw error of the answer, choiceError that of its first choice, and reason the raw finish
// reason. Each is nil if absent.
func ServerError(answerError, choiceError, reason json.RawMessage) error {
	switch end := FinishReason(reason); {
	case !provider.IsEmpty(answerError):
		return fmt.Errorf("%w: %s", provider.ErrServer, errorText(answerError))
	case !provider.IsEmpty(choiceError):
		return fmt.Errorf("%w within it: %s", provider.ErrServer, errorText(choiceError))
	case slices.Contains(errorReasons, end):
		return fmt.Errorf("%w within it: finish_reason %s", provider.ErrServer, end)
	}
	return nil
}

// FinishReason returns the finish reason of an answer, "" if there is none.
func FinishReason(raw json.RawMessage) string {
	var reason string
	if json.Unmarshal(raw, &reason) != nil {
		return ""
	}
	return excerpt(reason)
}

// errorText returns an error's code and message, or all of it if it has another form.
func errorText(raw json.RawMessage) string {
	var fields struct {
		Code    json.RawMessage `json:"code"` // a number or a word
		Message string          `json:"message"`
	}
	if json.Unmarshal(raw, &fields) != nil || fields.Message == "" {
		return excerpt(string(raw))
	}
	if provider.IsEmpty(fields.Code) {
		return excerpt(fields.Message)
	}
	return excerpt(strings.Trim(string(fields.Code), `"`) + ": " + fields.Message)
}

// excerpt returns the beginning of a text on one line.
func excerpt(text string) string {
	return fmt.Sprintf("%.300s", strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "))
}
