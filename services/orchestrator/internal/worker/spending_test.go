package worker

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// limit stores what the sweep called s may spend, as a change of its limit does.
func (s *stage) limit(t *testing.T, want *agentgwv1.SpendLimit) {
	t.Helper()
	err := s.UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool {
		c.SpendLimit, c.Exhausted = want, ""
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stage) enqueueModel(t *testing.T, id string) {
	t.Helper()
	rollout := s.rollout(id)
	rollout.Agent.Kind = &agentgwv1.Player_Model{Model: &agentgwv1.Model{Provider: "openai", Model: "m"}}
	if err := s.Enqueue(t.Context(), []*busv1.Job{{Rollout: rollout}}); err != nil {
		t.Fatal(err)
	}
}

// TestSpentSweepIsSetAside lets the second turn find that the limit is reached: the job leaves the
// queue without a result, further ones do without a turn, and with a higher limit the rollout goes
// on where it was.
func TestSpentSweepIsSetAside(t *testing.T) {
	s := newStage(t)
	low, high := &agentgwv1.SpendLimit{Tokens: 10}, &agentgwv1.SpendLimit{Tokens: 20}
	var asked atomic.Int32
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		asked.Add(1)
		if req.GetSpendLimit().GetTokens() == low.GetTokens() && req.GetTurn() > 0 {
			return &agentgwv1.RespondResponse{Throttled: &agentgwv1.Throttled{SpendLimitReached: true, Detail: "10 of 10 tokens"}}, nil
		}
		return nil, nil
	}
	s.limit(t, low)
	run(t.Context(), t, s.worker(t, nil, nil))
	s.enqueueModel(t, "s.0")
	s.empty(t)
	got, err := s.Control(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&busv1.SweepControl{SpendLimit: low, Exhausted: "10 of 10 tokens"}, got, protocmp.Transform()); diff != "" {
		t.Errorf("control (-want +got):\n%s", diff)
	}
	s.enqueueModel(t, "s.1")
	s.empty(t)
	if got := asked.Load(); got != 2 {
		t.Errorf("turns asked for: got %d, want the 2 of the first rollout", got)
	}
	if entries := s.entries(t, "s.1"); len(entries) != 0 {
		t.Errorf("log of a rollout that did not begin: got %v, want none", entries)
	}
	s.limit(t, high)
	s.enqueueModel(t, "s.0")
	state := s.ended(t, "s.0")["s.0"]
	if got := state.End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED || state.Claims() != 2 {
		t.Errorf("with a higher limit: got %v after %d claims, want it finished after 2", got, state.Claims())
	}
}

// TestLimitIsRaisedMeanwhile raises the limit while a turn finds that it is reached. The rollout
// goes on, and its job stays with its worker.
func TestLimitIsRaisedMeanwhile(t *testing.T) {
	s := newStage(t)
	low, high := &agentgwv1.SpendLimit{Tokens: 10}, &agentgwv1.SpendLimit{Tokens: 20}
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if req.GetSpendLimit().GetTokens() == low.GetTokens() && req.GetTurn() > 0 {
			err := s.UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool { c.SpendLimit = high; return true })
			return &agentgwv1.RespondResponse{Throttled: &agentgwv1.Throttled{SpendLimitReached: true, Detail: "10 of 10 tokens"}}, err
		}
		return nil, nil
	}
	s.limit(t, low)
	run(t.Context(), t, s.worker(t, nil, nil))
	s.enqueueModel(t, "s.0")
	state := s.ended(t, "s.0")["s.0"]
	if got := state.End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED || state.Claims() != 1 {
		t.Errorf("end: got %v after %d claims, want it finished after 1", got, state.Claims())
	}
}

// TestHeldTurnIsAskedAgain holds a turn up more often than there are attempts.
func TestHeldTurnIsAskedAgain(t *testing.T) {
	s := newStage(t)
	var asked atomic.Int32
	s.gateway.respond = func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if asked.Add(1) <= 4 {
			return &agentgwv1.RespondResponse{Throttled: &agentgwv1.Throttled{Detail: "no room"}}, nil
		}
		return nil, nil
	}
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.Attempts = 1 }, nil))
	s.enqueueModel(t, "s.0")
	state := s.ended(t, "s.0")["s.0"]
	if got := state.End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED || state.Claims() != 1 {
		t.Errorf("end: got %v after %d claims, want it finished after 1", got, state.Claims())
	}
}
