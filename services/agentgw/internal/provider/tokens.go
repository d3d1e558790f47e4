package provider

import (
	"encoding/json"
	"errors"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// maxTokens bounds a token count so that sums do not overflow.
const maxTokens = 1 << 40

// UsageFields are the paths of the token counts in a usage object.
type UsageFields struct {
	Input, Cached, Output, Reasoning []string
}

// Read decodes a usage object. It returns nil if the provider did not report one. Absent and
// invalid counts are 0, and so are negative ones, which would refund budgets.
func (f *UsageFields) Read(usage json.RawMessage) (*agentgwv1.Usage, error) {
	switch {
	case len(usage) == 0 || string(usage) == "null":
		return nil, nil
	case usage[0] != '{':
		return nil, errors.New("usage: expected an object")
	}
	return &agentgwv1.Usage{
		InputTokens: tokens(usage, f.Input), CachedTokens: tokens(usage, f.Cached),
		OutputTokens: tokens(usage, f.Output), ReasoningTokens: tokens(usage, f.Reasoning),
	}, nil
}

func tokens(usage json.RawMessage, path []string) int64 {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(usage, &object) != nil {
			return 0
		}
		usage = object[name]
	}
	var n float64
	if json.Unmarshal(usage, &n) != nil {
		return 0
	}
	return int64(min(max(n, 0), maxTokens))
}
