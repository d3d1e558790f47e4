package openai

import "github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

// failed returns what the server says of its own failure, nil if it does not say that it failed.
// With compat it does not matter why the answer ends.
func (c *completion) failed(compat bool) error {
	first := choice{}
	if c.Choices != nil && len(*c.Choices) > 0 {
		first = (*c.Choices)[0]
	}
	if compat {
		return provider.Failed(c.Error, first.Error, nil)
	}
	return provider.Failed(c.Error, first.Error, first.FinishReason)
}

// ended adds to what is missing in an answer why that ended.
func (c *choice) ended(missing string) string {
	if reason := provider.Reason(c.FinishReason); reason != "" {
		return missing + ": " + reason
	}
	return missing
}
