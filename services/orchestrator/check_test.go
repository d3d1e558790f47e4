package orchestrator

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// checkingGateway answers checks of players.
type checkingGateway struct {
	agentgwv1.UnimplementedPlayerCheckServiceServer
	ready *atomic.Bool
}

// CheckPlayer implements PlayerCheckService.
func (g checkingGateway) CheckPlayer(_ context.Context, req *agentgwv1.CheckPlayerRequest) (*agentgwv1.CheckPlayerResponse, error) {
	if g.ready.Load() || req.GetPlayer().GetModel() == nil {
		return &agentgwv1.CheckPlayerResponse{State: agentgwv1.CheckPlayerResponse_STATE_READY}, nil
	}
	return &agentgwv1.CheckPlayerResponse{State: agentgwv1.CheckPlayerResponse_STATE_UNUSABLE, Detail: "cannot be asked: no key"}, nil
}

// TestQueueAgainWithoutModel queues rollouts again whose model has no key any more: that is refused
// before a round begins or a limit rises, and done when the key is there.
func TestQueueAgainWithoutModel(t *testing.T) {
	i, ready := installServer(t), new(atomic.Bool)
	i.serve(t, rpc.AgentGateway, func(r grpc.ServiceRegistrar) {
		agentgwv1.RegisterPlayerCheckServiceServer(r, checkingGateway{ready: ready})
	})
	played := spec("one", "two")
	played.Agents = []*agentgwv1.Player{{Name: "m", Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{Provider: "openai", Model: "m"}}}}
	i.create(t, "s", played)
	i.queued(t, 2)
	i.end(t, "s.0", 0, busv1.EndReason_END_REASON_INFRASTRUCTURE)
	requeue := func() (int64, error) {
		response, err := i.client.RequeueSweep(within(t), &orchestratorv1.RequeueSweepRequest{SweepId: "s"})
		return response.GetRollouts(), err
	}
	raise := func() (int64, error) {
		response, err := i.client.UpdateSweep(within(t), &orchestratorv1.UpdateSweepRequest{SweepId: "s", SpendTokens: proto.Int64(9)})
		return response.GetSweep().GetSpendLimit().GetTokens(), err
	}
	for name, call := range map[string]func() (int64, error){"requeue": requeue, "raise": raise} {
		if _, err := call(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(status.Convert(err).Message(), "player m: cannot be asked: no key") {
			t.Errorf("%s: got %v, want %v and the reason", name, err, codes.FailedPrecondition)
		}
	}
	if got := i.jobs(t); got != "" {
		t.Errorf("jobs: got %q, want none", got)
	}
	ready.Store(true)
	if n, err := requeue(); n != 1 || err != nil {
		t.Errorf("requeue with a key: got %d rollouts and %v, want 1", n, err)
	}
	if n, err := raise(); n != 9 || err != nil {
		t.Errorf("raise with a key: got %d tokens and %v, want 9", n, err)
	}
}
