package euroeval

import (
	"errors"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
)

// Reply is the response of a model provider.
type Reply struct {
	// Choices reports whether the response has choices. Without any it has no text.
	Choices bool
	// Completion reports that the response completes a text instead of a chat.
	Completion bool
	// Content is the text of the first choice, empty without text.
	Content string
}

// Extract returns the text that EuroEval grades as the prediction. The error is the
// *python.Exception that EuroEval raises.
func Extract(reply Reply) (string, error) {
	if !reply.Choices {
		return "", nil
	}
	text := reply.Content
	if !reply.Completion {
		text = python.Strip(text)
	}
	if !strings.Contains(text, "label") || strings.Contains(text, "function") && strings.Contains(text, "arguments") {
		return text, nil
	}
	value, err := python.ParseJSON(text)
	if _, notJSON := errors.AsType[*python.DecodeError](err); notJSON {
		return text, nil
	}
	if err != nil {
		return "", err
	}
	object, ok := value.AsDict()
	if !ok {
		return "", &python.Exception{Type: "AssertionError"}
	}
	label, labelled := object.Get("label")
	if !labelled || object.Len() != 1 {
		return text, nil
	}
	return python.Strip(python.Text(label)), nil
}
