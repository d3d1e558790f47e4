package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
)

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

// TestPlayedAgain lets each call to a peer fail for good in rounds 0 and 1. In round 2 the rollout
// goes on where it ended: its messages are those of a calm run, and no turn is asked for twice that
// came.
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
			if len(state.StartingVersions()) != 1 {
				t.Errorf("versions: got %v, want one", state.StartingVersions())
			}
			if got := turns.Load(); got != 3 {
				t.Errorf("turns of players: got %d, want 3, each once", got)
			}
			s.decide(t, id)
			s.empty(t)
		})
	}
}

// TestEarlierJob gives a worker the job of round 0 when the rollout is in round 1: there is nothing
// left to do for it, and a result of round 0 does not finish the job of round 1.
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

// TestRoundWithoutResult leaves a rollout without a result in round 0, as an evaluator does that
// reads its log when it is in round 1: the result of round 1 finishes the jobs of both.
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
	until(t, "the worker knows", func() bool { return bus.Cancelled(w.control("s"), 0) })
	for round, want := range []busv1.EndReason{busv1.EndReason_END_REASON_CANCELLED, busv1.EndReason_END_REASON_FINISHED} {
		s.again(t, "s.0", int32(round))
		s.endedIn(t, "s.0", int32(round))
		if got := s.state(t, "s.0").End().GetReason(); got != want {
			t.Errorf("end of round %d: got %v, want %v", round, got, want)
		}
	}
}

// TestSessionElsewhere has a tool host that does not have the session where the log says it stands:
// the worker has it restored from the log, and runs the calls then. One that cannot be restored
// ends the rollout.
func TestSessionElsewhere(t *testing.T) {
	for _, code := range []codes.Code{codes.NotFound, codes.FailedPrecondition} {
		t.Run(code.String(), func(t *testing.T) {
			s := newStage(t)
			want := s.calm(t)
			var restored atomic.Pointer[toolhostv1.RestoreSessionRequest]
			s.host.execute = func(req *toolhostv1.ExecuteRequest) (*toolhostv1.ExecuteResponse, error) {
				if req.GetIndex() > 3 && restored.Load() == nil {
					return nil, status.Error(code, "elsewhere")
				}
				return nil, nil
			}
			s.host.restore = func(req *toolhostv1.RestoreSessionRequest) (*toolhostv1.RestoreSessionResponse, error) {
				if req.GetCreate().GetSessionId() == "lost.0" {
					return nil, status.Error(codes.DataLoss, "the log says this, running it again gave that")
				}
				restored.Store(req)
				return &toolhostv1.RestoreSessionResponse{Repeated: 1}, nil
			}
			run(t.Context(), t, s.worker(t, nil, nil))
			s.again(t, "lost.0", 0)
			s.endedIn(t, "lost.0", 0)
			if end := s.state(t, "lost.0").End(); !strings.HasSuffix(end.GetDetail(), "the log says this, running it again gave that") {
				t.Errorf("end: got %v, want a failure that shows both", end)
			}
			s.again(t, "s.0", 0)
			s.endedIn(t, "s.0", 0)
			checkMessages(t, s.state(t, "s.0"), want, 1)
			if got, want := restored.Load().GetExecutions(), s.state(t, "s.0").Executions()[:1]; !slices.EqualFunc(got, want, func(a, b *toolhostv1.Execution) bool { return proto.Equal(a, b) }) {
				t.Errorf("executions that were restored: got %v, want %v", got, want)
			}
		})
	}
}
