package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

func (h *host) GetSession(_ context.Context, req *toolhostv1.GetSessionRequest) (*toolhostv1.GetSessionResponse, error) {
	known := int32(1000)
	if req.GetSessionId() == "deleted.0" {
		known = 0
	}
	return &toolhostv1.GetSessionResponse{Session: &toolhostv1.Session{Id: req.GetSessionId(), LastIndex: known}}, nil
}

// again queues a rollout in a round.
func (s *stage) again(t *testing.T, id string, round int32) {
	t.Helper()
	if err := s.Enqueue(t.Context(), []*busv1.Job{{Rollout: s.rollout(id), Round: round}}); err != nil {
		t.Fatal(err)
	}
}

// endedIn waits until a rollout has ended in a round.
func (s *stage) endedIn(t *testing.T, id string, round int32) {
	t.Helper()
	until(t, fmt.Sprintf("%s has ended in round %d", id, round), func() bool {
		state := s.state(t, id)
		return state.Round() == round && state.End() != nil
	})
}

// decide stores the result of a rollout in the round it is in.
func (s *stage) decide(t *testing.T, id string) {
	t.Helper()
	state := s.state(t, id)
	if _, err := s.PublishResult(t.Context(), &busv1.Result{Rollout: s.rollout(id), Round: state.Round(), End: state.End()}); err != nil {
		t.Fatal(err)
	}
}

// TestPlayedAgain lets each call to a peer fail for good in rounds 0 and 1. In round 2 the rollout goes on where it ended: its messages are those
// of a calm run, and no turn is asked for twice that came.
func TestPlayedAgain(t *testing.T) {
	s := newStage(t)
	want := s.calm(t)
	for call := range calls {
		t.Run(fmt.Sprint("call ", call), func(t *testing.T) {
			id := fmt.Sprintf("again.%d", call)
			var well atomic.Bool
			var turns, count atomic.Int32
			stop := run(t.Context(), t, s.worker(t, nil, func(_ context.Context, method string, invoke func() error) error {
				n := int(count.Add(1)) - 1
				if !well.Load() && n >= call {
					return status.Error(codes.FailedPrecondition, "the key is wrong")
				}
				if method == "Respond" {
					turns.Add(1)
				}
				return invoke()
			}))
			defer stop()
			for round := range int32(2) {
				s.again(t, id, round)
				s.endedIn(t, id, round)
				if got := s.state(t, id).End(); got.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE || got.GetDetail() == "" {
					t.Errorf("end of round %d: got %v, want a failure of the infrastructure", round, got)
				}
				s.decide(t, id)
				s.empty(t)
			}
			well.Store(true)
			s.again(t, id, 2)
			s.endedIn(t, id, 2)
			state := s.state(t, id)
			if diff := cmp.Diff(want, state.Messages(), protocmp.Transform()); diff != "" {
				t.Errorf("messages (-calm +got):\n%s", diff)
			}
			if got := state.End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED {
				t.Errorf("end: got %v, want %v", got, busv1.EndReason_END_REASON_FINISHED)
			}
			if len(state.Versions()) != 1 {
				t.Errorf("versions: got %v, want one", state.Versions())
			}
			if got := turns.Load(); got != 3 {
				t.Errorf("turns of players: got %d, want 3, each once", got)
			}
			s.decide(t, id)
			s.empty(t)
		})
	}
}

// TestEarlierJob gives a worker the job of round 0 when the rollout is in round 1: there is nothing left to do for it, and a result of
// round 0 does not finish the job of round 1.
func TestEarlierJob(t *testing.T) {
	s := newStage(t)
	s.gateway.respond = func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		return nil, status.Error(codes.FailedPrecondition, "down")
	}
	stop := run(t.Context(), t, s.worker(t, nil, nil))
	s.again(t, "s.0", 1)
	s.endedIn(t, "s.0", 1)
	if _, err := s.PublishResult(t.Context(), &busv1.Result{Rollout: s.rollout("s.0")}); err != nil {
		t.Fatal(err)
	}
	s.again(t, "s.0", 0)
	until(t, "only the job of round 1 is left", func() bool {
		queued, err := s.Queued(t.Context(), "s")
		return err == nil && queued == 1 && len(s.entries(t, "s.0")) > 0
	})
	if got := s.state(t, "s.0").Round(); got != 1 {
		t.Errorf("round: got %d, want 1", got)
	}
	s.decide(t, "s.0")
	s.empty(t)
	stop()
}

// TestRoundWithoutResult leaves a rollout without a result in round 0, as an evaluator does that reads its log when it is in round 1: the result of
// round 1 finishes the jobs of both.
func TestRoundWithoutResult(t *testing.T) {
	s := newStage(t)
	run(t.Context(), t, s.worker(t, nil, nil))
	for round := range int32(2) {
		s.again(t, "s.0", round)
		s.endedIn(t, "s.0", round)
	}
	s.decide(t, "s.0")
	s.empty(t)
}

// TestCancelledRound plays a rollout again whose sweep was cancelled before that.
func TestCancelledRound(t *testing.T) {
	s := newStage(t)
	if err := s.CancelSweep(t.Context(), "s", 0); err != nil {
		t.Fatal(err)
	}
	w := s.worker(t, nil, nil)
	run(t.Context(), t, w)
	until(t, "the worker knows", func() bool { return w.isCancelled("s", 0) })
	for round, want := range []busv1.EndReason{busv1.EndReason_END_REASON_CANCELLED, busv1.EndReason_END_REASON_FINISHED} {
		s.again(t, "s.0", int32(round))
		s.endedIn(t, "s.0", int32(round))
		if got := s.state(t, "s.0").End().GetReason(); got != want {
			t.Errorf("end of round %d: got %v, want %v", round, got, want)
		}
	}
}

// TestDeletedSession plays a rollout again whose session is gone: it must not go on in another world.
func TestDeletedSession(t *testing.T) {
	s := newStage(t)
	s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if req.GetRole() == agent && req.GetTurn() == 0 {
			return nil, nil
		}
		return nil, status.Error(codes.FailedPrecondition, "down")
	}
	run(t.Context(), t, s.worker(t, func(c *Config) { c.Lease = time.Minute }, nil))
	for round := range int32(2) {
		s.again(t, "deleted.0", round)
		s.endedIn(t, "deleted.0", round)
	}
	const want = "session deleted.0 was deleted: it knows no message after 0, but its answers up to 4 are in the log"
	if got := s.state(t, "deleted.0").End(); got.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE || got.GetDetail() != want {
		t.Errorf("end: got %v, want %s", got, want)
	}
}
