package results

import (
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Usage is what the models of a rollout used, by role; nil where no model played.
type Usage struct {
	Agent *RoleUsage `json:"agent,omitempty"`
	User  *RoleUsage `json:"user,omitempty"`
}

// RoleUsage sums the turns of one role. Cached tokens are among those of the input, reasoning tokens among those of the output.
type RoleUsage struct {
	InputTokens     int64 `json:"input_tokens"`
	CachedTokens    int64 `json:"cached_tokens"`
	OutputTokens    int64 `json:"output_tokens"`
	ReasoningTokens int64 `json:"reasoning_tokens"`
	// CostUSD is the list price in US dollars, null if that of a turn is not known.
	CostUSD *float64 `json:"cost_usd"`
}

// usage sums up turns; nil if there is none.
func usage(turns []*busv1.TurnUsage) *Usage {
	if len(turns) == 0 {
		return nil
	}
	return &Usage{Agent: roleUsage(turns, worldv1.Role_ROLE_AGENT), User: roleUsage(turns, worldv1.Role_ROLE_USER)}
}

func roleUsage(turns []*busv1.TurnUsage, role worldv1.Role) *RoleUsage {
	var sum *RoleUsage
	micros, known := int64(0), true
	for _, turn := range turns {
		if turn.GetRole() != role {
			continue
		}
		if sum == nil {
			sum = &RoleUsage{}
		}
		u := turn.GetUsage()
		sum.InputTokens += u.GetInputTokens()
		sum.CachedTokens += u.GetCachedTokens()
		sum.OutputTokens += u.GetOutputTokens()
		sum.ReasoningTokens += u.GetReasoningTokens()
		known = known && u.CostMicros != nil
		micros += u.GetCostMicros()
	}
	if sum != nil && known {
		dollars := float64(micros) / 1e6
		sum.CostUSD = &dollars
	}
	return sum
}
