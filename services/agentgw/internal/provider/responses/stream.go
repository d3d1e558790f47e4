package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
)

// lastEvents are the types of events that carry the whole response.
var lastEvents = []any{"response.completed", "response.incomplete", "response.failed"}

// joinEvents returns the response of a streamed one: that of its last event, or an error. It
// implements lenient.Join.
func joinEvents(events []json.RawMessage, _ bool) (any, error) {
	for _, event := range slices.Backward(events) {
		switch fields := lenient.Object(event); {
		case slices.Contains(lastEvents, fields["type"]) && fields["response"] != nil:
			return fields["response"], nil
		case fields["type"] == "error" && fields["error"] == nil:
			return map[string]any{"error": fields}, nil
		case fields["error"] != nil:
			return fields, nil
		}
	}
	return nil, fmt.Errorf("%w after %d events", lenient.ErrStream, len(events))
}
