package conformance

import (
	"encoding/json"
	"fmt"
)

// decodeParallel decodes a case with several calls in one request.
func decodeParallel(raw []byte) (*toolCase, error) {
	var recorded struct {
		recordedTool
		Calls   []recordedCall
		Answers []recordedReply
		Active  []bool `json:"conversation_active"`
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, fmt.Errorf("decode parallel calls: %w", err)
	}
	c, err := recorded.toolCase()
	if err != nil {
		return nil, fmt.Errorf("decode parallel calls: %w", err)
	}
	if len(recorded.Active) != len(recorded.Answers) && !c.unchecked {
		return nil, fmt.Errorf("decode parallel calls: %d answers, but conversation_active for %d", len(recorded.Answers), len(recorded.Active))
	}
	for i := range recorded.Calls {
		source := &recorded.Calls[i]
		c.calls = append(c.calls, call{id: &source.ID, tool: source.Tool, arguments: source.Arguments})
	}
	for i := range recorded.Answers {
		source := &recorded.Answers[i]
		active := i >= len(recorded.Active) || recorded.Active[i]
		c.answers = append(c.answers, source.answer(&source.ToolCallID, active))
	}
	return c, nil
}
