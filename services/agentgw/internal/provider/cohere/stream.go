package cohere

import (
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// joinEvents joins the events of a streamed answer. It implements lenient.Join.
func joinEvents(events []json.RawMessage, _ bool) (any, error) {
	whole, message, ended := make(map[string]any), make(map[string]any), false
	for _, event := range events {
		fields := lenient.Object(event)
		delta, _ := fields["delta"].(map[string]any)
		if piece, isPiece := delta["message"].(map[string]any); isPiece {
			for _, name := range []string{"content", "tool_calls"} { // each event has one element of the list
				if element, isElement := piece[name].(map[string]any); isElement {
					element["index"] = fmt.Sprint(name, fields["index"])
					piece[name] = []any{element}
				}
			}
			message = lenient.Merge(message, piece)
		}
		if fields["type"] == "message-end" {
			whole, ended = lenient.Merge(whole, delta), true
		}
	}
	if !ended {
		return nil, fmt.Errorf("%w after %d events", lenient.ErrStream, len(events))
	}
	for _, name := range []string{"content", "tool_calls"} {
		list, _ := message[name].([]any)
		for _, element := range list {
			if fields, isObject := element.(map[string]any); isObject {
				delete(fields, "index")
			}
		}
	}
	whole["message"] = message
	return whole, nil
}
