package orchestrator

import (
	"context"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// playerCheck implements PlayerCheckService for clients that cannot reach the agent gateway. It
// forwards each request.
type playerCheck struct {
	agentgwv1.UnimplementedPlayerCheckServiceServer
	gateway agentgwv1.PlayerCheckServiceClient
}

// CheckPlayer implements PlayerCheckService.
func (c playerCheck) CheckPlayer(ctx context.Context, req *agentgwv1.CheckPlayerRequest) (*agentgwv1.CheckPlayerResponse, error) {
	if err := checkPlayerGrant(ctx, req.GetPlayer()); err != nil {
		return nil, statusOf(err)
	}
	return c.gateway.CheckPlayer(ctx, req)
}

// ProbePlayer implements PlayerCheckService.
func (c playerCheck) ProbePlayer(ctx context.Context, req *agentgwv1.ProbePlayerRequest) (*agentgwv1.ProbePlayerResponse, error) {
	if err := checkPlayerGrant(ctx, req.GetPlayer()); err != nil {
		return nil, statusOf(err)
	}
	return c.gateway.ProbePlayer(ctx, req)
}
