package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// checkTimeout bounds the check of a sweep's players.
const checkTimeout = 15 * time.Second

// errUnusable: a model or plug-in agent of a sweep cannot be asked until something changes, such as
// the gateway's keys.
var errUnusable = errors.New("player")

// checkPlayers returns errUnusable if rollouts of a sweep that are queued again could only fail. A
// player that cannot be reached may come back, and a gateway that does not answer says nothing.
func (s *server) checkPlayers(ctx context.Context, sweep *busv1.Sweep) error {
	if sweep.GetReplay() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var errs []error
	for _, player := range slices.Concat(sweep.GetAgents(), sweep.GetUsers()) {
		if player.GetModel() == nil && player.GetPlugin() == nil {
			continue
		}
		checked, err := s.players.CheckPlayer(ctx, &agentgwv1.CheckPlayerRequest{Player: player})
		if err == nil && checked.GetState() == agentgwv1.CheckPlayerResponse_STATE_UNUSABLE {
			errs = append(errs, fmt.Errorf("%w %s: %s", errUnusable, player.GetName(), checked.GetDetail()))
		}
	}
	return errors.Join(errs...)
}

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
