package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// thought is what a model thought, in the fields in which compatible servers give it out. They want it back with the calls that it led to:
// DeepSeek, Kimi and vLLM the first, OpenRouter the second. OpenAI has neither.
type thought struct {
	Content json.RawMessage `json:"reasoning_content,omitempty"`
	Details json.RawMessage `json:"reasoning_details,omitempty"`
}

// reasoned returns what a model thought before its calls, nil if it does not say.
func reasoned(message *sdk.ChatCompletionMessage) ([]byte, error) {
	kept := thought{Content: field(message, "reasoning_content"), Details: field(message, "reasoning_details")}
	if kept.Content == nil && kept.Details == nil {
		return nil, nil
	}
	return json.Marshal(kept)
}

// field returns a field that the SDK does not know, nil if there is nothing in it.
func field(message *sdk.ChatCompletionMessage, name string) json.RawMessage {
	switch raw := message.JSON.ExtraFields[name].Raw(); raw {
	case "", "null", `""`, "[]":
		return nil
	default:
		return json.RawMessage(raw)
	}
}

// thoughts returns what goes back with the calls of an earlier turn, as it came. OpenAI itself refuses fields that it does not know.
func thoughts(q *provider.Query, first conversation.Entry) thought {
	var kept thought
	raw, known := q.Native[first.Index]
	if !known || q.Own || q.Compat || json.Unmarshal(raw, &kept) != nil {
		return thought{}
	}
	return kept
}
