package agentgw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/plugin"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// checkTimeout bounds one attempt to connect to a player.
const checkTimeout = 2500 * time.Millisecond

// checker implements PlayerCheckService.
type checker struct {
	agentgwv1.UnimplementedPlayerCheckServiceServer
	server *Server
}

// CheckPlayer implements PlayerCheckService.
func (c checker) CheckPlayer(ctx context.Context, req *agentgwv1.CheckPlayerRequest) (*agentgwv1.CheckPlayerResponse, error) {
	err := c.server.check(ctx, req.GetPlayer())
	unknown := false
	if asked := req.GetPlayer().GetModel(); asked != nil {
		unknown = !c.server.models.HasPrice(asked)
	}
	for _, row := range []struct {
		err   error
		state agentgwv1.CheckPlayerResponse_State
	}{
		{errNotAttached, agentgwv1.CheckPlayerResponse_STATE_AWAITED},
		{plugin.ErrUnavailable, agentgwv1.CheckPlayerResponse_STATE_UNREACHABLE},
		{model.ErrUnreachable, agentgwv1.CheckPlayerResponse_STATE_UNREACHABLE},
		{attach.ErrSecretMissing, agentgwv1.CheckPlayerResponse_STATE_UNUSABLE},
		{plugin.ErrAddress, agentgwv1.CheckPlayerResponse_STATE_UNUSABLE},
		{model.ErrNotConfigured, agentgwv1.CheckPlayerResponse_STATE_UNUSABLE},
	} {
		if ctx.Err() == nil && errors.Is(err, row.err) {
			return &agentgwv1.CheckPlayerResponse{State: row.state, Detail: err.Error(), PriceUnknown: unknown}, nil
		}
	}
	if err != nil {
		return nil, statusError(err)
	}
	return &agentgwv1.CheckPlayerResponse{State: agentgwv1.CheckPlayerResponse_STATE_READY, PriceUnknown: unknown}, nil
}

// ProbePlayer implements PlayerCheckService.
func (c checker) ProbePlayer(ctx context.Context, req *agentgwv1.ProbePlayerRequest) (*agentgwv1.ProbePlayerResponse, error) {
	model := req.GetPlayer().GetModel()
	if model == nil {
		return nil, status.Errorf(codes.InvalidArgument, "%s is no model", req.GetPlayer().GetName())
	}
	return c.server.models.Probe(ctx, model), nil
}

// errNotAttached: no agent has attached itself under the name yet.
var errNotAttached = errors.New("no agent is attached yet")

// check returns what keeps a player from playing, nil if nothing does. Players that the
// orchestrator computes are always ready.
func (s *Server) check(ctx context.Context, p *agentgwv1.Player) error {
	switch kind := p.GetKind().(type) {
	case *agentgwv1.Player_Model:
		return s.models.Check(ctx, kind.Model, checkTimeout)
	case *agentgwv1.Player_Plugin:
		if address := kind.Plugin.GetAddress(); address != "" {
			return s.plugins.Check(ctx, address, checkTimeout)
		}
		at := attach.Address{Name: kind.Plugin.GetAttached(), Secret: kind.Plugin.GetSecretDigest()}
		present, err := s.agents.IsAttached(ctx, at)
		switch {
		case errors.Is(err, attach.ErrSecretMissing):
			err = fmt.Errorf("%w as %s, but this run has none: give it the agent's token, in TOOLSANDBOX_ATTACH_TOKEN or the file of --attach-token-file, or choose another name", err, at)
		case err == nil && !present && at.Secret != "":
			err = fmt.Errorf("%w as %s with the token of this run: the rollouts wait until one is", errNotAttached, at)
		case err == nil && !present:
			err = fmt.Errorf("%w as %s: the rollouts wait until one is", errNotAttached, at)
		}
		return err
	default:
		return nil
	}
}
