package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// native is what of a turn goes back as it came.
type native struct {
	thought
	// Calls has, for each call, the fields that only its server knows, such as the signature of
	// what Gemini thought before it.
	Calls []map[string]json.RawMessage `json:"tool_calls,omitempty"`
}

// ordinary are the fields of a call in an answer that every request has too or that only say where
// it stands.
var ordinary = []string{"id", "type", "function", "index"}

// kept returns what has to go back with the calls of a message, nil if there is nothing.
func kept(message *responseMessage) ([]byte, error) {
	n := native{thought: thought{Content: filled(message.thought.Content), Details: filled(message.Details)}}
	if text := filled(message.Reasoning); n.Details == nil && strings.HasPrefix(string(text), `"`) {
		n.Reasoning = text
	}
	var err error
	if n.Calls, err = extras(message); err != nil {
		return nil, err
	}
	if n.Content == nil && n.Reasoning == nil && n.Details == nil && n.Calls == nil {
		return nil, nil
	}
	return json.Marshal(n)
}

// filled returns a field, nil if there is nothing in it.
func filled(field json.RawMessage) json.RawMessage {
	if provider.Empty(field) {
		return nil
	}
	return field
}

// extras returns, for each call, the fields that are not ordinary, nil if no call has any.
func extras(message *responseMessage) ([]map[string]json.RawMessage, error) {
	if !stated(message.ToolCalls) {
		return nil, nil
	}
	var calls []map[string]json.RawMessage
	if err := json.Unmarshal(message.ToolCalls, &calls); err != nil {
		return nil, err
	}
	found := false
	for _, made := range calls {
		for name, value := range made {
			if slices.Contains(ordinary, name) || provider.Empty(value) {
				delete(made, name)
			}
		}
		found = found || len(made) > 0
	}
	if !found {
		return nil, nil
	}
	return calls, nil
}

// past returns what goes back with the calls of an earlier turn, as it came. OpenAI itself refuses
// fields that it does not know.
func past(q *provider.Query, first conversation.Entry) native {
	var n native
	raw, known := q.Native[first.Index]
	if !known || q.Own || q.Compat || json.Unmarshal(raw, &n) != nil {
		return native{}
	}
	return n
}

// extended is a call with fields that only its server knows.
type extended struct {
	call
	extra map[string]json.RawMessage
}

// extend returns the turn's call of a number with what goes back with it.
func (n *native) extend(number int32, made call) any {
	if number < 0 || int(number) >= len(n.Calls) || len(n.Calls[number]) == 0 {
		return &made
	}
	return &extended{call: made, extra: n.Calls[number]}
}

// MarshalJSON implements json.Marshaler.
func (e *extended) MarshalJSON() ([]byte, error) {
	ours, err := Encode(&e.call)
	if err != nil {
		return nil, err
	}
	theirs, err := json.Marshal(e.extra)
	if err != nil {
		return nil, err
	}
	return append(append(ours[:len(ours)-1], ','), theirs[1:]...), nil
}
