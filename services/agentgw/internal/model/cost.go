package model

import (
	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// charged returns what a turn used with its list price, if that is known. Without a table of prices none is.
func (p *Player) charged(model *agentgwv1.Model, used *agentgwv1.Usage) *agentgwv1.Usage {
	if used == nil || p.cfg.Prices == nil {
		return used
	}
	seller := model.GetProvider()
	if seller == agentgwv1.Model_PROVIDER_OPENAI_RESPONSES {
		seller = agentgwv1.Model_PROVIDER_OPENAI // the same models by another interface
	}
	if price, known := p.cfg.Prices.Of(ProviderName(seller), model.GetModel()); known {
		used.CostMicros = proto.Int64(price.Micros(used.GetInputTokens(), used.GetCachedTokens(), used.GetOutputTokens()))
	}
	return used
}
