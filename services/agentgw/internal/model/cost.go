package model

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

// charged returns what a turn used with its price by the table, if it is in there. Without a table
// of prices none is. A usage without anything says that a model was asked and that its provider did
// not state the tokens.
func (p *Player) charged(spec *provider.Spec, model string, used *agentgwv1.Usage) *agentgwv1.Usage {
	if !pricing.Counted(used) {
		return &agentgwv1.Usage{}
	}
	if cost, priced := p.cost(spec.Account(), model, used); priced {
		used.CostMicros = proto.Int64(cost.Micros)
	}
	return used
}

// maxTokens bounds what one request is taken to use, whatever a provider says.
const maxTokens = 1 << 40

// cost returns what tokens cost. Where the price of the model is not known only tokens count.
func (p *Player) cost(account, model string, used *agentgwv1.Usage) (cost ratelimit.Cost, priced bool) {
	input, output := min(max(used.GetInputTokens(), 0), maxTokens), min(max(used.GetOutputTokens(), 0), maxTokens)
	cost.Tokens = input + output
	if p.cfg.Prices == nil {
		return cost, false
	}
	price, priced := p.cfg.Prices.Of(account, model)
	if priced {
		cost.Micros = price.Micros(input, used.GetCachedTokens(), output)
	}
	return cost, priced
}

// sweepOf returns the sweep of a rollout.
func sweepOf(rolloutID string) string {
	return rolloutID[:max(strings.LastIndexByte(rolloutID, '.'), 0)]
}
