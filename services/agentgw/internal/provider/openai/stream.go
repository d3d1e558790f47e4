package openai

import (
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// JoinChunks joins the chunks of a streamed completion. It implements lenient.Join.
func JoinChunks(events []json.RawMessage, ended bool) (any, error) {
	whole := make(map[string]any)
	for _, event := range events {
		whole = lenient.Merge(whole, lenient.Object(event))
	}
	choices, _ := whole["choices"].([]any)
	for _, choice := range choices {
		fields, isObject := choice.(map[string]any)
		if !isObject {
			continue
		}
		reason := fields["finish_reason"]
		ended = ended || reason != nil && reason != "" // which some servers write into each chunk
		if delta, streamed := fields["delta"]; streamed {
			fields["message"] = delta
			delete(fields, "delta")
		}
	}
	if !ended && whole["error"] == nil {
		return nil, fmt.Errorf("%w after %d events", lenient.ErrStream, len(events))
	}
	return whole, nil
}
