package conformance

import (
	"encoding/json"
	"fmt"
)

// decodeSource decodes a case with one message of Python source, without a call id.
func decodeSource(raw []byte) (*toolCase, error) {
	var recorded struct {
		recordedTool
		recordedReply
		Source string
		Active *bool `json:"conversation_active"`
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, fmt.Errorf("decode source: %w", err)
	}
	c, err := recorded.toolCase()
	if err != nil {
		return nil, fmt.Errorf("decode source: %w", err)
	}
	c.calls = []call{{source: recorded.Source}}
	c.answers = []answer{recorded.answer(nil, recorded.Active == nil || *recorded.Active)}
	return c, nil
}
