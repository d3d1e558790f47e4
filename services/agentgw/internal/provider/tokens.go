package provider

import (
	"encoding/json"
	"errors"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// maxTokens bounds a number of tokens to what can be added up.
const maxTokens = 1 << 40

// UsageFields says where in a usage the numbers of tokens stand: each is a path of names.
type UsageFields struct {
	Input, Cached, Output, Reasoning []string
}

// Read reads a usage, nil if the provider did not say. A number that is not there, or no number, is
// 0. None is below zero, as it would give budgets back what was spent.
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
