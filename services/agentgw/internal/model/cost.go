package model

import (
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

// withCost adds the cost to a turn's usage if the price is known. An empty usage means that the
// model was asked and its provider reported no tokens.
func (p *Player) withCost(spec *provider.Spec, model string, used *agentgwv1.Usage) *agentgwv1.Usage {
	if !pricing.HasTokens(used) {
		return &agentgwv1.Usage{}
	}
	if cost, priced := p.cost(spec.Account(), model, used); priced {
		used.CostMicros = proto.Int64(cost.Micros)
	}
	return used
}

// maxTokens bounds the tokens of one request, whatever a provider reports.
const maxTokens = 1 << 40

// cost returns the cost of a usage. priced is false, and the cost has tokens only, if the price of
// the model is unknown.
func (p *Player) cost(account, model string, used *agentgwv1.Usage) (cost ratelimit.Cost, priced bool) {
	input, output := min(max(used.GetInputTokens(), 0), maxTokens), min(max(used.GetOutputTokens(), 0), maxTokens)
	cost.Tokens = input + output
	if p.cfg.Prices == nil {
		return cost, false
	}
	price, priced := p.cfg.Prices.Lookup(account, model)
	if priced {
		cost.Micros = price.Micros(input, used.GetCachedTokens(), output)
	}
	return cost, priced
}

// HasPrice reports whether the price table has a model.
func (p *Player) HasPrice(model *agentgwv1.Model) bool {
	spec, err := p.spec(model)
	if err != nil {
		return false
	}
	_, priced := p.cost(spec.Account(), model.GetModel(), nil)
	return priced
}
