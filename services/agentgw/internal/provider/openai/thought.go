package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
)

// reasonings are the fields in which compatible servers give out what a model thought. They want it back with the calls that it led to:
// DeepSeek, Kimi and vLLM the first, OpenRouter the second. OpenAI has neither.
var reasonings = [...]string{"reasoning_content", "reasoning_details"}

// reasoned returns what a model thought before its calls, nil if it does not say.
func reasoned(message *sdk.ChatCompletionMessage) ([]byte, error) {
	kept := make(map[string]json.RawMessage)
	for _, name := range reasonings {
		switch raw := message.JSON.ExtraFields[name].Raw(); raw {
		case "", "null", `""`, "[]":
		default:
			kept[name] = json.RawMessage(raw)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return json.Marshal(kept)
}

// thoughts returns what goes back with the calls of an earlier turn, as it came. OpenAI itself refuses fields that it does not know.
func thoughts(q *provider.Query, first conversation.Entry) map[string]any {
	raw, known := q.Native[first.Index]
	if !known || q.Own || q.Compat {
		return nil
	}
	var kept map[string]json.RawMessage
	if json.Unmarshal(raw, &kept) != nil {
		return nil
	}
	fields := make(map[string]any, len(kept))
	for name, value := range kept {
		fields[name] = value
	}
	return fields
}
