package model

import (
	"strings"

	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// charged returns what a turn used with its price by the table, if it is in there. Without a table of prices none is.
func (p *Player) charged(model *agentgwv1.Model, used *agentgwv1.Usage) *agentgwv1.Usage {
	if used == nil || p.cfg.Prices == nil {
		return used
	}
	if price, known := p.cfg.Prices.Of(provider.Seller(model.GetProvider()), model.GetModel()); known {
		used.CostMicros = proto.Int64(price.Micros(used.GetInputTokens(), used.GetCachedTokens(), used.GetOutputTokens()))
	}
	return used
}

// sweepOf returns the sweep of a rollout.
func sweepOf(rolloutID string) string {
	return rolloutID[:max(strings.LastIndexByte(rolloutID, '.'), 0)]
}
