package model

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// charged returns what a turn used with its price by the table, if it is in there. Without a table
// of prices none is. A usage without anything says that a model was asked and that its provider did
// not state the tokens.
func (p *Player) charged(spec *provider.Spec, model string, used *agentgwv1.Usage) *agentgwv1.Usage {
	if !pricing.Counted(used) {
		return &agentgwv1.Usage{}
	}
	if p.cfg.Prices == nil {
		return used
	}
	if listed, known := p.cfg.Prices.Of(spec.Account(), model); known {
		used.CostMicros = proto.Int64(listed.Micros(used.GetInputTokens(), used.GetCachedTokens(), used.GetOutputTokens()))
	}
	return used
}

// sweepOf returns the sweep of a rollout.
func sweepOf(rolloutID string) string {
	return rolloutID[:max(strings.LastIndexByte(rolloutID, '.'), 0)]
}
