package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// pieces are the fields of a block that the types of deltas continue.
var pieces = map[any]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}

// joinEvents joins the events of a streamed message. It implements lenient.Join.
func joinEvents(events []json.RawMessage, _ bool) (any, error) {
	message, stopped := make(map[string]any), false
	var blocks []map[string]any
	var inputs []string // the JSON of each block's input, as far as it has come
	for _, event := range events {
		fields := lenient.Object(event)
		delta, _ := fields["delta"].(map[string]any)
		last := len(blocks) - 1
		switch fields["type"] {
		case "error":
			return fields, nil
		case "message_start":
			message, _ = fields["message"].(map[string]any)
		case "content_block_start":
			block, _ := fields["content_block"].(map[string]any)
			blocks, inputs = append(blocks, block), append(inputs, "")
		case "content_block_delta":
			if input, isInput := delta["partial_json"].(string); isInput && last >= 0 {
				inputs[last] += input
			} else if name, known := pieces[delta["type"]]; known && last >= 0 {
				blocks[last] = lenient.Merge(blocks[last], map[string]any{name: delta[name]})
			}
		case "message_delta":
			message = lenient.Merge(message, map[string]any{"usage": fields["usage"]})
			maps.Copy(message, delta)
		case "message_stop":
			stopped = true
		}
	}
	if !stopped && message["stop_reason"] == nil {
		return nil, fmt.Errorf("%w after %d events", lenient.ErrStream, len(events))
	}
	content := make([]any, len(blocks))
	for i, block := range blocks {
		if inputs[i] != "" {
			block["input"] = inputs[i] // a text of JSON, which may be cut off
			if json.Valid([]byte(inputs[i])) {
				block["input"] = json.RawMessage(inputs[i])
			}
		}
		content[i] = block
	}
	message["content"] = content
	return message, nil
}
