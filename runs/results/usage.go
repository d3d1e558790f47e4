package results

import (
	"github.com/toolsandbox/toolsandbox/internal/pricing"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Usage is the usage of a rollout's models by role. A role without a model is nil.
type Usage struct {
	Agent *RoleUsage `json:"agent,omitempty"`
	User  *RoleUsage `json:"user,omitempty"`
}

// RoleUsage sums the turns of one role. Input includes cached tokens, output includes reasoning
// tokens. The sums are null if no provider reported any.
type RoleUsage struct {
	InputTokens     *int64 `json:"input_tokens"`
	CachedTokens    *int64 `json:"cached_tokens"`
	OutputTokens    *int64 `json:"output_tokens"`
	ReasoningTokens *int64 `json:"reasoning_tokens"`
	// CostUSD is the list price in US dollars, null if a price is unknown.
	CostUSD *float64 `json:"cost_usd"`
	// RequestsWithoutUsage is the number of answered requests without reported tokens. The sums
	// exclude them.
	RequestsWithoutUsage int `json:"requests_without_usage,omitempty"`
}

// Tokens returns the tokens of a role. ok is false if those of a request are not known.
func (u *RoleUsage) Tokens() (input, output int64, ok bool) {
	if u.InputTokens == nil || u.OutputTokens == nil || u.RequestsWithoutUsage > 0 {
		return 0, 0, false
	}
	return *u.InputTokens, *u.OutputTokens, true
}

// usage sums turns. It returns nil without any.
func usage(turns []*busv1.TurnUsage) *Usage {
	if len(turns) == 0 {
		return nil
	}
	return &Usage{Agent: roleUsage(turns, worldv1.Role_ROLE_AGENT), User: roleUsage(turns, worldv1.Role_ROLE_USER)}
}

func roleUsage(turns []*busv1.TurnUsage, role worldv1.Role) *RoleUsage {
	var input, cached, output, reasoning, micros int64
	withUsage, priced, withoutUsage := 0, 0, 0
	for _, turn := range turns {
		u := turn.GetUsage()
		switch {
		case turn.GetRole() != role:
			continue
		case !pricing.HasTokens(u):
			withoutUsage++
			continue
		case u.CostMicros != nil:
			priced++
		}
		withUsage++
		input, cached = input+u.GetInputTokens(), cached+u.GetCachedTokens()
		output, reasoning = output+u.GetOutputTokens(), reasoning+u.GetReasoningTokens()
		micros += u.GetCostMicros()
	}
	if withUsage+withoutUsage == 0 {
		return nil
	}
	sum := &RoleUsage{RequestsWithoutUsage: withoutUsage}
	if withUsage > 0 {
		sum.InputTokens, sum.CachedTokens, sum.OutputTokens, sum.ReasoningTokens = &input, &cached, &output, &reasoning
	}
	if priced == withUsage+withoutUsage {
		dollars := float64(micros) / 1e6
		sum.CostUSD = &dollars
	}
	return sum
}

// Spent returns the tokens and the US dollars that the models of a run have cost, as far as they
// are known.
func (r *Run) Spent() (tokens int64, dollars float64) {
	for _, rollout := range r.Rollouts {
		if rollout.Usage == nil {
			continue
		}
		for _, role := range []*RoleUsage{rollout.Usage.Agent, rollout.Usage.User} {
			if role == nil {
				continue
			}
			if role.InputTokens != nil && role.OutputTokens != nil {
				tokens += *role.InputTokens + *role.OutputTokens
			}
			if role.CostUSD != nil {
				dollars += *role.CostUSD
			}
		}
	}
	return tokens, dollars
}
