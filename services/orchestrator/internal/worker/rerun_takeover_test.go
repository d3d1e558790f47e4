package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

// TestFenceOfRounds lets a worker of round 0 stall at each call while one of round 1 plays the
// rollout to its end: nothing that the first one then says gets into the log.
func TestFenceOfRounds(t *testing.T) {
	s := newStage(t)
	want := s.calm(t)
	for call := range calls {
		t.Run(fmt.Sprint("call ", call), func(t *testing.T) {
			id := fmt.Sprintf("fence.%d", call)
			s.enqueue(t, 0, id)
			delivery := s.fetch(t, id, lease)
			again := *delivery
			again.Round = 1
			var count atomic.Int32
			slow := s.worker(t, nil, func(ctx context.Context, _ string, invoke func() error) error {
				err := invoke()
				if int(count.Add(1)) == call+1 {
					if err := s.worker(t, nil, nil).play(ctx, &again); err != nil {
						t.Errorf("the worker of round 1: got %v, want nil", err)
					}
				}
				return err
			})
			expected := bus.ErrFenced
			if call == 0 {
				expected = errReplaced
			}
			if err := slow.play(t.Context(), delivery); !errors.Is(err, expected) {
				t.Errorf("the stalled worker: got %v, want %v", err, expected)
			}
			checkMessages(t, s.state(t, id), want, min(call, 1)+1)
			if err := delivery.DoubleAck(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTakeoverInRound lets a rollout fail at each call of round 0, then stops the worker of round 1
// at each call that is left, before the peer hears of it or before the worker hears of the answer.
func TestTakeoverInRound(t *testing.T) {
	s := newStage(t)
	want := s.calm(t)
	for failing := range calls {
		for killed := range calls + 1 { // there is one call more, for the session; the last ones may not be reached
			for _, lost := range []string{"request", "answer"} {
				t.Run(fmt.Sprintf("fails at %d, killed after %d, %s lost", failing, killed, lost), func(t *testing.T) {
					id := fmt.Sprintf("take.%d-%d-%s", failing, killed, lost)
					s.enqueue(t, 0, id)
					delivery := s.fetch(t, id, lease)
					failingAt := s.worker(t, nil, stumble(t, failing, "request", func() error { return status.Error(codes.FailedPrecondition, "down") }))
					if err := failingAt.play(t.Context(), delivery); err != nil {
						t.Fatalf("round 0: got %v, want nil", err)
					}
					in := *delivery
					in.Round = 1
					ctx, kill := context.WithCancel(t.Context())
					defer kill()
					dying := s.worker(t, nil, stumble(t, killed, lost, func() error {
						kill()
						return status.Error(codes.Canceled, "killed")
					}))
					if err := dying.play(ctx, &in); (err != nil) != (ctx.Err() != nil) {
						t.Errorf("the killed worker: got %v, killed: %v", err, ctx.Err())
					}
					in.Attempt = 2
					if err := s.worker(t, nil, nil).play(t.Context(), &in); err != nil {
						t.Errorf("the last worker: got %v, want nil", err)
					}
					state := s.state(t, id)
					checkMessages(t, state, want, state.Claims())
					if state.Round() != 1 {
						t.Errorf("round: got %d, want 1", state.Round())
					}
					if err := delivery.DoubleAck(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// stumble lets a call fail, counted from 0, before the peer hears of it or before the worker hears
// of the answer.
func stumble(t *testing.T, call int, lost string, fail func() error) intercept {
	t.Helper()
	var count atomic.Int32
	return func(_ context.Context, _ string, invoke func() error) error {
		if int(count.Add(1)) != call+1 {
			return invoke()
		}
		if lost == "answer" {
			if err := invoke(); err != nil {
				t.Errorf("call %d: %v", call, err)
			}
		}
		return fail()
	}
}
