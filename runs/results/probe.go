package results

import (
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// Probes are the probes of the models by role. One that plays both has one probe under both. A role
// without a model is nil.
type Probes struct {
	Agent *Probe `json:"agent,omitempty"`
	User  *Probe `json:"user,omitempty"`
}

// Probe is what the server of a model did with tools and settings before the first rollout. Null
// numbers and the word unknown are what its answers did not show.
type Probe struct {
	// Tools is reach, dropped, refused or prompted.
	Tools       string `json:"tools"`
	ToolsReason string `json:"tools_reason,omitempty"`
	// Calls is call or text.
	Calls       string `json:"calls"`
	CallsReason string `json:"calls_reason,omitempty"`
	// Slots is the number of requests that the server answers at once.
	Slots           *int32   `json:"slots"`
	ContextTokens   *int64   `json:"context_tokens"`
	TokensPerSecond *float64 `json:"tokens_per_second"`
	// Seed and Temperature are kept, differs (equal requests had different answers), refused or
	// unsent.
	Seed        string `json:"seed"`
	Temperature string `json:"temperature"`
	// Requests is the number of requests to the model, with the tokens that it reported for them.
	Requests     int   `json:"requests"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// Problem is why the last request was not answered.
	Problem string `json:"problem,omitempty"`
}

// Unknown is the word for what a probe did not show.
const Unknown = "unknown"

// NewProbe returns the record of a probe.
func NewProbe(found *agentgwv1.ProbePlayerResponse) *Probe {
	return &Probe{
		Tools: word("TOOLS_", found.GetTools().String()), ToolsReason: found.GetToolsReason(),
		Calls: word("CALLS_", found.GetCalls().String()), CallsReason: found.GetCallsReason(),
		Slots: positive(found.GetSlots()), ContextTokens: positive(found.GetContextTokens()), TokensPerSecond: positive(found.GetTokensPerSecond()),
		Seed: word("SETTING_", found.GetSeed().String()), Temperature: word("SETTING_", found.GetTemperature().String()),
		Requests: int(found.GetRequests()), InputTokens: found.GetUsage().GetInputTokens(), OutputTokens: found.GetUsage().GetOutputTokens(),
		Problem: found.GetProblem(),
	}
}

// word returns the word of an enum's value.
func word(prefix, value string) string {
	value = strings.TrimPrefix(value, prefix)
	if value == "UNSPECIFIED" {
		return Unknown
	}
	return strings.ToLower(value)
}

// positive returns a number, nil for 0.
func positive[T int32 | int64 | float64](number T) *T {
	if number == 0 {
		return nil
	}
	return &number
}
