package euroeval

import (
	"errors"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// Reply is what a model provider answered.
type Reply struct {
	// Choices reports whether it has any; without any it says nothing.
	Choices bool
	// Completion says that it completes a text, and is no message of a chat.
	Completion bool
	// Content is the text of the first choice; empty if that has none.
	Content string
}

// Extract returns what EuroEval takes for the model's prediction. The error is a *python.Exception
// where EuroEval raises one.
func Extract(reply Reply) (string, error) {
	if !reply.Choices {
		return "", nil
	}
	text := reply.Content
	if !reply.Completion {
		text = strip(text)
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
	return strip(python.Text(label)), nil
}

// strip is Python's str.strip: its white space has four control characters more than Unicode's.
func strip(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || '\x1c' <= r && r <= '\x1f' })
}
