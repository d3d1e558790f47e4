package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// native is the part of a turn that later requests carry verbatim.
type native struct {
	reasoningFields
	// Calls has the fields of each call that only its server knows, such as Gemini's thought
	// signature.
	Calls []map[string]json.RawMessage `json:"tool_calls,omitempty"`
}

// standardFields are the fields of a call that every request has, or that only give its position.
var standardFields = []string{"id", "type", "function", "index", "name", "arguments"}

// encodeNative returns the native form of a message, nil if there is none. It takes the message's
// calls over. Reasoning within the text counts if the message has no other.
func encodeNative(message *responseMessage, text string) ([]byte, error) {
	n := native{
		reasoningFields: reasoningFields{Content: nonEmpty(message.reasoningFields.Content), Details: nonEmpty(message.Details)},
		Calls:           extras(message.ToolCalls),
	}
	if text := nonEmpty(message.Reasoning); n.Details == nil && strings.HasPrefix(string(text), `"`) {
		n.Reasoning = text
	}
	if n.Content == nil && n.Reasoning == nil && n.Details == nil {
		if reasoning, _ := lenient.SplitThinking(text); reasoning != "" {
			var err error
			if n.Content, err = provider.Marshal(reasoning); err != nil {
				return nil, err
			}
		}
	}
	if n.Content == nil && n.Reasoning == nil && n.Details == nil && n.Calls == nil {
		return nil, nil
	}
	return json.Marshal(n)
}

// nonEmpty returns a field, nil if it is empty.
func nonEmpty(field json.RawMessage) json.RawMessage {
	if provider.IsEmpty(field) {
		return nil
	}
	return field
}

// extras removes the standard and empty fields of each call. It returns nil if no field remains.
func extras(calls []map[string]json.RawMessage) []map[string]json.RawMessage {
	found := false
	for _, call := range calls {
		maps.DeleteFunc(call, func(name string, value json.RawMessage) bool {
			return slices.Contains(standardFields, name) || provider.IsEmpty(value)
		})
		found = found || len(call) > 0
	}
	if !found {
		return nil
	}
	return calls
}

// nativeOf returns the native form of an earlier turn. OpenAI itself refuses fields that it does
// not know.
func nativeOf(q *provider.Query, first conversation.Entry) native {
	raw, ok := q.Native[first.Index]
	if !ok || q.Official || q.Compat {
		return native{}
	}
	var n native
	if json.Unmarshal(raw, &n) != nil {
		return native{}
	}
	return n
}

// callWithExtras is a call with fields that only its server knows.
type callWithExtras struct {
	call
	extra map[string]json.RawMessage
}

// withExtras returns the n-th call of the turn with its extra fields.
func (n *native) withExtras(number int32, c call) any {
	if number < 0 || int(number) >= len(n.Calls) || len(n.Calls[number]) == 0 {
		return &c
	}
	return &callWithExtras{call: c, extra: n.Calls[number]}
}

// MarshalJSON implements json.Marshaler.
func (e *callWithExtras) MarshalJSON() ([]byte, error) {
	base, err := provider.Marshal(&e.call)
	if err != nil {
		return nil, err
	}
	extra, err := json.Marshal(e.extra)
	if err != nil {
		return nil, err
	}
	return append(append(base[:len(base)-1], ','), extra[1:]...), nil
}
