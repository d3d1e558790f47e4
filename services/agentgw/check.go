package agentgw

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/plugin"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// checkLimit bounds one try to connect to whoever is to play.
const checkLimit = 2500 * time.Millisecond

// checker implements PlayerCheckService.
type checker struct {
	agentgwv1.UnimplementedPlayerCheckServiceServer
	server *Server
}

// CheckPlayer implements PlayerCheckService.
func (c checker) CheckPlayer(ctx context.Context, req *agentgwv1.CheckPlayerRequest) (*agentgwv1.CheckPlayerResponse, error) {
	err := c.server.check(ctx, req.GetPlayer())
	for _, row := range []struct {
		err   error
		state agentgwv1.CheckPlayerResponse_State
	}{
		{errAbsent, agentgwv1.CheckPlayerResponse_STATE_AWAITED},
		{plugin.ErrUnavailable, agentgwv1.CheckPlayerResponse_STATE_UNREACHABLE},
		{model.ErrUnreachable, agentgwv1.CheckPlayerResponse_STATE_UNREACHABLE},
		{plugin.ErrAddress, agentgwv1.CheckPlayerResponse_STATE_UNUSABLE},
		{model.ErrUnset, agentgwv1.CheckPlayerResponse_STATE_UNUSABLE},
	} {
		if ctx.Err() == nil && errors.Is(err, row.err) {
			return &agentgwv1.CheckPlayerResponse{State: row.state, Detail: err.Error()}, nil
		}
	}
	if err != nil {
		return nil, stated(err)
	}
	return &agentgwv1.CheckPlayerResponse{State: agentgwv1.CheckPlayerResponse_STATE_READY}, nil
}

// errAbsent says that nobody has attached itself under a name yet.
var errAbsent = errors.New("no agent is attached yet")

// check says what a player lacks. Players that are computed lack nothing.
func (s *Server) check(ctx context.Context, p *agentgwv1.Player) error {
	switch kind := p.GetKind().(type) {
	case *agentgwv1.Player_Model:
		return s.models.Check(ctx, kind.Model, checkLimit)
	case *agentgwv1.Player_Plugin:
		if address := kind.Plugin.GetAddress(); address != "" {
			return s.plugins.Check(ctx, address, checkLimit)
		}
		name := kind.Plugin.GetAttached()
		present, err := s.agents.Present(ctx, name)
		if err == nil && !present {
			err = fmt.Errorf("%w as %s: the rollouts wait until one is", errAbsent, name)
		}
		return err
	default:
		return nil
	}
}
