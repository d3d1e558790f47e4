package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// calm plays a rollout without trouble and returns its messages.
func (s *stage) calm(t *testing.T) []*worldv1.Message {
	t.Helper()
	s.enqueue(t, 0, "calm.0")
	begun := time.Now()
	stop := run(t.Context(), t, s.worker(t, nil, nil))
	messages := s.ended(t, "calm.0")["calm.0"].Messages()
	s.score(t, "calm.0")
	s.empty(t)
	stop()
	if len(s.gateway.known) > 0 && time.Since(begun) < ownershipWindow { // a worker that stalled longer asks carefully
		t.Errorf("turns of the calm rollout that were not asked for as fresh: %v", s.gateway.known)
	}
	if len(messages) != 8 {
		t.Fatalf("messages of the calm rollout: got %d, want 8", len(messages))
	}
	return messages
}

func checkMessages(t *testing.T, state *rollout.State, want []*worldv1.Message, claims int) {
	t.Helper()
	if diff := cmp.Diff(want, state.Messages(), protocmp.Transform()); diff != "" {
		t.Errorf("messages (-calm +got):\n%s", diff)
	}
	if state.Claims() != claims {
		t.Errorf("claims: got %d, want %d", state.Claims(), claims)
	}
	if state.End() == nil {
		t.Error("end: got none, want one")
	}
}

// TestTakeover stops a worker at each call to a peer, before the peer hears of it or before the
// worker hears of the answer. What computed players say is written at the end, calls of others are
// written with their answers, and what others say otherwise is written at once.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for players, left := range map[string][]int{ // entries, when it is stopped at a call
		"computed": make([]int, computedCalls), "others": {0, 1, 1, 2, 3, 3},
	} {
		for call, entries := range left {
			for _, lost := range []string{"request", "answer"} {
				t.Run(fmt.Sprintf("%s, call %d, %s lost", players, call, lost), func(t *testing.T) {
					t.Parallel()
					s := newStage(t)
					s.computed = players == "computed"
					want := s.calm(t)
					s.takeOver(t, "take.0", call, lost, entries, want)
				})
			}
		}
	}
}

// TestTakeoverOfFork is TestTakeover for a fork from message 5. The next worker plays the given
// turns again, and asks nobody for them. A kill in the middle of them leaves no entry.
func TestTakeoverOfFork(t *testing.T) {
	t.Parallel()
	for call, entries := range []int{0, 0, 1, 2, 2} { // the session, the given calls, agent, user, the user's call
		for _, lost := range []string{"request", "answer"} {
			t.Run(fmt.Sprintf("call %d, %s lost", call, lost), func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				want := s.calm(t)
				s.fork = &busv1.Fork{Origin: "calm.0", Message: 5}
				s.gateway.respond = func(_ context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
					if req.GetIndex() < s.fork.GetMessage() {
						return nil, status.Errorf(codes.Internal, "message %d is asked for, but it is given", req.GetIndex())
					}
					return nil, nil
				}
				s.give(t, "fork.0", want)
				s.takeOver(t, "fork.0", call, lost, entries, want)
			})
		}
	}
}

// give stores the turns before a fork for a rollout.
func (s *stage) give(t *testing.T, id string, messages []*worldv1.Message) {
	t.Helper()
	for _, turn := range []*agentgwv1.RecordedTurn{
		{Reply: &agentgwv1.Reply{Messages: messages[1:3]}}, {Reply: &agentgwv1.Reply{Messages: messages[3:5]}, Versions: setting(3)},
	} {
		raw, err := proto.Marshal(turn)
		if err == nil {
			err = s.PutTurn(t.Context(), id, turn.GetReply().GetMessages()[0].GetIndex(), raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// takeOver stops a worker at a call, and lets another one play on.
func (s *stage) takeOver(t *testing.T, id string, call int, lost string, entries int, want []*worldv1.Message) {
	t.Helper()
	s.enqueue(t, 0, id)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	var count atomic.Int32
	first := run(ctx, t, s.worker(t, nil, func(_ context.Context, _ string, invoke func() error) error {
		if int(count.Add(1)) != call+1 {
			return invoke()
		}
		if lost == "answer" {
			if err := invoke(); err != nil {
				t.Errorf("call %d: %v", call, err)
			}
		}
		kill()
		return status.Error(codes.Canceled, "killed")
	}))
	<-ctx.Done()
	first()
	if got := len(s.entries(t, id)); got != entries {
		t.Errorf("entries that the first worker left: got %d, want %d", got, entries)
	}
	second := run(t.Context(), t, s.worker(t, nil, nil))
	checkMessages(t, s.ended(t, id)[id], want, min(entries, 1)+1)
	s.score(t, id)
	s.empty(t)
	second()
}

// TestLostLogIsNotFresh takes entries out of the log of a rollout that has ended and plays it on,
// in the same round or in a later one: whatever its players had been asked for, none is asked as
// if nobody could have.
func TestLostLogIsNotFresh(t *testing.T) {
	for name, test := range map[string]struct {
		first, last uint64 // of the entries that are lost; the log has four
		round       int32
	}{
		"tail": {2, 4, 0}, "all": {1, 4, 0}, "beginning, in a later round": {1, 1, 1}, "tail, in a later round": {2, 4, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.enqueue(t, 0, "s.0")
			stop := run(t.Context(), t, s.worker(t, nil, nil))
			s.ended(t, "s.0")
			stop()
			stream, err := s.js.Stream(t.Context(), "BUS_0")
			if err != nil {
				t.Fatal(err)
			}
			for sequence := test.first; sequence <= test.last; sequence++ {
				if err := stream.DeleteMsg(t.Context(), sequence); err != nil {
					t.Fatal(err)
				}
			}
			if test.round > 0 {
				s.again(t, "s.0", test.round)
			}
			run(t.Context(), t, s.worker(t, nil, nil))
			until(t, "it has ended again", func() bool {
				log, err := s.ReadLog(t.Context(), "s.0")
				return err == nil && log.End.Sequence > 4 && log.Entries[len(log.Entries)-1].GetEnd() != nil
			})
		})
	}
}

// TestJobAfterTheEnd stops a worker behind the last entry: the next one adds nothing.
func TestJobAfterTheEnd(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run("result "+when+" the job comes again", func(t *testing.T) {
			s := newStage(t)
			s.enqueue(t, 0, "s.0")
			stop := run(t.Context(), t, s.worker(t, nil, nil))
			s.ended(t, "s.0")
			stop()
			want := s.entries(t, "s.0")
			if when == "before" {
				s.score(t, "s.0")
			}
			second := s.worker(t, nil, nil)
			run(t.Context(), t, second)
			if when == "after" {
				until(t, "the job is held", func() bool { return len(second.heldDeliveries()) == 1 })
				s.score(t, "s.0")
			}
			s.empty(t)
			if diff := cmp.Diff(want, s.entries(t, "s.0"), protocmp.Transform()); diff != "" {
				t.Errorf("entries after the second worker (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeadWorker leaves a job without a word: it comes again after the lease.
func TestDeadWorker(t *testing.T) {
	s := newStage(t)
	want := s.calm(t)
	s.enqueue(t, 0, "s.0")
	ctx, kill := context.WithCancel(t.Context())
	var count atomic.Int32
	dead := s.worker(t, nil, func(_ context.Context, _ string, invoke func() error) error {
		if count.Add(1) == 4 {
			kill()
			return status.Error(codes.Canceled, "killed")
		}
		return invoke()
	})
	const short = 2 * time.Second
	dead.handle(ctx, s.fetch(t, "s.0", short))
	run(t.Context(), t, s.worker(t, func(cfg *Config) { cfg.Lease = short }, nil))
	state := s.ended(t, "s.0")["s.0"]
	checkMessages(t, state, want, max(2, state.Claims())) // a machine that stalls for a lease makes one more
}

// TestFence lets a worker stall at each call while another one plays the rollout to its end:
// nothing that the first one then says gets into the log.
func TestFence(t *testing.T) {
	for players, calls := range map[string]int{"computed": computedCalls, "others": calls} {
		t.Run(players, func(t *testing.T) {
			s := newStage(t)
			s.computed = players == "computed"
			want := s.calm(t)
			for call := range calls {
				s.fence(t, call, want)
			}
		})
	}
}

// fence lets a worker stall at a call.
func (s *stage) fence(t *testing.T, call int, want []*worldv1.Message) {
	t.Helper()
	id := fmt.Sprintf("fence.%d", call)
	s.enqueue(t, 0, id)
	delivery := s.fetch(t, id, lease)
	again := *delivery
	again.Attempt = 2
	var count atomic.Int32
	slow := s.worker(t, nil, func(ctx context.Context, _ string, invoke func() error) error {
		err := invoke()
		if int(count.Add(1)) == call+1 {
			if err := s.worker(t, nil, nil).play(ctx, &again); err != nil {
				t.Errorf("the second worker: got %v, want nil", err)
			}
		}
		return err
	})
	err := slow.play(t.Context(), delivery)
	begun := call > 0 && !s.computed // the stalled worker has opened the log
	if !begun && err != nil || begun && !errors.Is(err, bus.ErrFenced) {
		t.Errorf("the stalled worker at call %d: got %v, want %v (nil if it has not opened the log)", call, err, bus.ErrFenced)
	}
	claims := 1
	if begun {
		claims = 2
	}
	checkMessages(t, s.state(t, id), want, claims)
	if err := delivery.DoubleAck(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRace lets several workers play the same rollouts at once.
func TestRace(t *testing.T) {
	for _, players := range []string{"computed", "others"} {
		t.Run(players, func(t *testing.T) {
			s := newStage(t)
			s.computed = players == "computed"
			want := s.calm(t)
			s.gateway.raced = true
			s.race(t, want)
		})
	}
}

func (s *stage) race(t *testing.T, want []*worldv1.Message) {
	t.Helper()
	workers := []*Worker{s.worker(t, nil, nil), s.worker(t, nil, nil), s.worker(t, nil, nil)}
	for round := range 10 {
		id := fmt.Sprintf("race.%d", round)
		s.enqueue(t, 0, id)
		delivery := s.fetch(t, id, lease)
		var group sync.WaitGroup
		var played atomic.Int32
		for i, w := range workers {
			own := *delivery
			own.Attempt = i + 1
			group.Go(func() {
				switch err := w.play(t.Context(), &own); {
				case err == nil:
					played.Add(1)
				case !errors.Is(err, bus.ErrFenced):
					t.Errorf("worker %d: got %v, want nil or %v", i, err, bus.ErrFenced)
				}
			})
		}
		group.Wait()
		if played.Load() == 0 {
			t.Errorf("round %d: no worker played to the end", round)
		}
		state := s.state(t, id)
		checkMessages(t, state, want, state.Claims())
		if err := delivery.DoubleAck(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A worker that gets a job for the second time lets go of the first delivery only.
func TestDropKeepsALaterDelivery(t *testing.T) {
	s := newStage(t)
	w := s.worker(t, nil, nil)
	first := &bus.Delivery{Rollout: s.rollout("s.0"), Attempt: 1}
	second := &bus.Delivery{Rollout: s.rollout("s.0"), Attempt: 2}
	w.hold(first)
	w.hold(second)
	w.drop(first)
	if got := w.heldDeliveries(); len(got) != 1 || got[0] != second {
		t.Errorf("held deliveries: got %v, want the second", got)
	}
	w.drop(second)
	if got := w.heldDeliveries(); len(got) != 0 {
		t.Errorf("held deliveries after both were let go of: got %v, want none", got)
	}
}
