package google

import (
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// joinChunks joins the answers of a stream, each of which has further parts of the first candidate.
// It implements lenient.Join.
func joinChunks(events []json.RawMessage, _ bool) (any, error) {
	whole := make(map[string]any)
	var parts []any
	var candidate map[string]any
	for _, event := range events {
		fields := lenient.Object(event)
		if candidates, _ := fields["candidates"].([]any); len(candidates) > 0 {
			piece, _ := candidates[0].(map[string]any)
			added, _ := lenient.At(piece, "content", "parts").([]any)
			parts, candidate = append(parts, added...), piece
		}
		delete(fields, "candidates")
		whole = lenient.Merge(whole, fields)
	}
	if candidate != nil {
		candidate["content"] = map[string]any{"parts": parts}
		whole["candidates"] = []any{candidate}
	}
	if candidate["finishReason"] == nil && whole["promptFeedback"] == nil && whole["error"] == nil {
		return nil, fmt.Errorf("%w after %d events", lenient.ErrStream, len(events))
	}
	return whole, nil
}
