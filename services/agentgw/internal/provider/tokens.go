package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

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
	var object any
	decoder := json.NewDecoder(bytes.NewReader(usage))
	decoder.UseNumber() // a number out of range must not hide the other counts
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("usage: %w", err)
	}
	return &agentgwv1.Usage{
		InputTokens: tokens(object, f.Input), CachedTokens: tokens(object, f.Cached),
		OutputTokens: tokens(object, f.Output), ReasoningTokens: tokens(object, f.Reasoning),
	}, nil
}

func tokens(value any, path []string) int64 {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	number, _ := value.(json.Number)
	n, err := number.Float64()
	if err != nil {
		return 0
	}
	return int64(min(max(n, 0), maxTokens))
}
