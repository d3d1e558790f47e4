// Package reasoning finds what a model reasoned in the answer of its provider. It is for people: no
// message, score or later request depends on it.
package reasoning

import (
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
)

// Of returns the reasoning in the body of an answer, in the form of the provider with this name:
// thinking blocks of Anthropic and Cohere, summaries of OpenAI's responses, thoughts of Google; of
// all others the fields of servers with chat completions, also of those that always stream, and
// text between <think> tags. It is empty for an answer without any, such as one whose reasoning is
// encrypted, and for a body that cannot be decoded.
func Of(provider string, answer []byte) string {
	var root map[string]any
	if lenient.Unmarshal(answer, &root, openai.JoinChunks) != nil {
		return ""
	}
	r := new(reader)
	switch provider {
	case "anthropic":
		r.blocks(root["content"])
	case "cohere":
		r.message(field(root["message"]))
	case "google", "vertex":
		r.blocks(field(first(root["candidates"])["content"])["parts"])
	case "openai-responses":
		r.blocks(root["output"])
	default:
		choice := first(root["choices"])
		r.message(field(choice["message"]))
		r.tagged(choice["text"])
	}
	return strings.Join(r.found, "\n\n")
}

// reader collects texts.
type reader struct{ found []string }

// add adds a text, and reports whether there was one.
func (r *reader) add(value any) bool {
	text, _ := value.(string)
	text = strings.TrimSpace(text)
	if text != "" {
		r.found = append(r.found, text)
	}
	return text != ""
}

// message reads a message of chat completions or of Cohere. A server may give the same text in
// several fields.
func (r *reader) message(m map[string]any) {
	if !r.add(m["reasoning_content"]) && !r.add(m["reasoning"]) {
		r.blocks(m["reasoning_details"])
	}
	r.add(m["tool_plan"])
	r.blocks(m["content"])
	r.tagged(m["content"])
}

// tagged reads a text with tags.
func (r *reader) tagged(value any) {
	text, _ := value.(string)
	thought, _ := lenient.SplitThinking(text)
	r.add(thought)
}

// blocks reads a list of parts of an answer.
func (r *reader) blocks(value any) {
	list, _ := value.([]any)
	for _, item := range list {
		block := field(item)
		kind, _ := block["type"].(string)
		switch isThought, _ := block["thought"].(bool); {
		case isThought, kind == "reasoning.text":
			r.add(block["text"])
		case kind == "thinking":
			r.add(block["thinking"])
		case kind == "reasoning.summary":
			r.add(block["summary"])
		case kind == "reasoning":
			for _, name := range []string{"summary", "content"} {
				parts, _ := block[name].([]any)
				for _, part := range parts {
					r.add(field(part)["text"])
				}
			}
		}
	}
}

// field returns an object, nil for another value.
func field(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// first returns the first object of a list.
func first(value any) map[string]any {
	list, _ := value.([]any)
	if len(list) == 0 {
		return nil
	}
	return field(list[0])
}
