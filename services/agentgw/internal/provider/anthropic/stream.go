package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// pieces are the fields of a block that the types of deltas continue.
var pieces = map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}

// streamedBlock is a block with the JSON of its input, as far as it has come.
type streamedBlock struct {
	fields map[string]any
	input  string
}

// joinEvents joins the events of a streamed message. It implements lenient.Join.
func joinEvents(events []json.RawMessage, _ bool) (any, error) {
	message, stopped := make(map[string]any), false
	var blocks []*streamedBlock
	at := make(map[json.Number]*streamedBlock)
	for _, event := range events {
		fields := lenient.Object(event)
		delta, _ := fields["delta"].(map[string]any)
		switch fields["type"] {
		case "error":
			return fields, nil
		case "message_start":
			begun, _ := fields["message"].(map[string]any)
			message = lenient.Merge(message, begun)
		case "content_block_start":
			begun, _ := fields["content_block"].(map[string]any)
			block := &streamedBlock{fields: lenient.Merge(nil, begun)}
			blocks = append(blocks, block)
			if index, numbered := fields["index"].(json.Number); numbered {
				at[index] = block
			}
		case "content_block_delta":
			index, _ := fields["index"].(json.Number)
			if block := at[index]; block != nil {
				block.add(delta)
			} else if len(blocks) > 0 {
				blocks[len(blocks)-1].add(delta)
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
		content[i] = block.whole()
	}
	message["content"] = content
	return message, nil
}

// add adds a piece of the block.
func (b *streamedBlock) add(delta map[string]any) {
	kind, _ := delta["type"].(string)
	if input, isInput := delta["partial_json"].(string); isInput {
		b.input += input
	} else if name, known := pieces[kind]; known {
		b.fields = lenient.Merge(b.fields, map[string]any{name: delta[name]})
	}
}

// whole returns the block with its input: JSON, or a text of it that was cut off.
func (b *streamedBlock) whole() map[string]any {
	switch {
	case b.input == "":
	case json.Valid([]byte(b.input)):
		b.fields["input"] = json.RawMessage(b.input)
	default:
		b.fields["input"] = b.input
	}
	return b.fields
}
