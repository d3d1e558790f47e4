package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// decodeCall decodes a case with one call of a tool, or with one message of Python source, which
// has no call id.
func decodeCall(raw []byte) (*toolCase, error) {
	var recorded struct {
		recordedTool
		recordedReply
		Tool, Arguments string
		Source          *string
		CallID          *string `json:"call_id"`
		Active          *bool   `json:"conversation_active"`
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, err
	}
	c, err := recorded.toolCase()
	if err != nil {
		return nil, err
	}
	made := call{id: cmp.Or(recorded.CallID, proto.String(defaultCallID)), tool: recorded.Tool, arguments: recorded.Arguments}
	if recorded.Source != nil {
		made = call{source: *recorded.Source}
	}
	c.calls = []call{made}
	c.answers = []answer{recorded.answer(made.id, recorded.Active == nil || *recorded.Active)}
	return c, nil
}

// decodeParallel decodes a case with several calls in one request.
func decodeParallel(raw []byte) (*toolCase, error) {
	var recorded struct {
		recordedTool
		Calls   []recordedCall
		Answers []recordedReply
		Active  []bool `json:"conversation_active"`
	}
	if err := json.Unmarshal(raw, &recorded); err != nil {
		return nil, err
	}
	c, err := recorded.toolCase()
	if err != nil {
		return nil, err
	}
	if len(recorded.Active) != len(recorded.Answers) && !c.unchecked {
		return nil, fmt.Errorf("%d answers, but conversation_active for %d", len(recorded.Answers), len(recorded.Active))
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
