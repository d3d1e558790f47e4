package model

import (
	"context"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/probe"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// Probe asks the server of a model what it does with tools and settings. A model that cannot be
// asked is a problem in the response. The requests pass by the budgets of turns.
func (p *Player) Probe(ctx context.Context, model *agentgwv1.Model) *agentgwv1.ProbePlayerResponse {
	spec, err := p.spec(model)
	if err != nil {
		return &agentgwv1.ProbePlayerResponse{Problem: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, probe.Timeout) // a token may need a request
	defer cancel()
	to, err := p.endpoint(ctx, spec, model.GetBaseUrl())
	if err != nil {
		return &agentgwv1.ProbePlayerResponse{Problem: err.Error()}
	}
	target := probe.Target{Client: p.client, Endpoint: to, Codec: spec.Codec, Model: model, Prompted: spec.Prompted}
	return target.Probe(ctx)
}
