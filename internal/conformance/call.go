package conformance

import (
	"encoding/json"
	"fmt"
)

// decodeCall decodes a case with one call of a tool.
func decodeCall(raw []byte) (*toolCase, error) {
	var recorded struct {
		recordedTool
		recordedReply
		Tool, Arguments string
		CallID          *string `json:"call_id"`
		Active          *bool   `json:"conversation_active"`
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, fmt.Errorf("decode call: %w", err)
	}
	c, err := recorded.toolCase()
	if err != nil {
		return nil, fmt.Errorf("decode call: %w", err)
	}
	id := defaultCallID
	if recorded.CallID != nil {
		id = *recorded.CallID
	}
	c.calls = []call{{id: &id, tool: recorded.Tool, arguments: recorded.Arguments}}
	c.answers = []answer{recorded.answer(&id, recorded.Active == nil || *recorded.Active)}
	return c, nil
}
