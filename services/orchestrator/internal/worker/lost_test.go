package worker

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// lose removes all messages of a stream with a subject that ends so, up to a sequence, as a power
// failure may; 0 is all.
func (s *stage) lose(t *testing.T, stream, subject string, before uint64) {
	t.Helper()
	found, err := s.js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	options := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if before > 0 {
		options = append(options, jetstream.WithPurgeSequence(before))
	}
	if err := found.Purge(t.Context(), options...); err != nil {
		t.Fatal(err)
	}
}

// storeFailures is an evaluator that only stores what workers give up, until the test ends.
func (s *stage) storeFailures(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() {
		stopped <- s.FollowScoreRequests(ctx, func(request *busv1.Result) error {
			if request.GetEnd() == nil {
				return nil
			}
			_, err := s.PublishResult(ctx, request)
			return err
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Errorf("evaluator: got %v, want nil", err)
		}
	})
}

// writtenOff waits until a rollout has its result in round 0 and no job, and returns the result.
func (s *stage) writtenOff(t *testing.T, id string) *busv1.Result {
	t.Helper()
	s.empty(t)
	result, err := s.RoundResult(t.Context(), id, 0)
	if err != nil {
		t.Fatalf("result of %s: %v", id, err)
	}
	if got := result.GetEnd().GetReason(); got != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		t.Errorf("end of %s: got %v, want a failure of the infrastructure", id, got)
	}
	return result
}

// began writes the beginning of a rollout's log, as a worker does that dies, and returns the
// sequence of its last entry.
func (s *stage) began(t *testing.T, id string) bus.Position {
	t.Helper()
	s.enqueue(t, 0, id)
	delivery := s.fetch(t, id, lease)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	dying := s.worker(t, nil, stumble(t, 3, "request", func() error {
		kill()
		return status.Error(codes.Canceled, "killed")
	}))
	if err := dying.play(ctx, delivery); err == nil {
		t.Fatal("the killed worker: got nil, want an error")
	}
	if err := delivery.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	log, err := s.ReadLog(t.Context(), id)
	if err != nil || len(log.Entries) < 2 {
		t.Fatalf("log: got %v, %v, want two entries or more", log, err)
	}
	return log.End
}

// TestLostBeginning takes the beginning of a rollout's log away while a worker is dead: the next
// one gives the rollout up after its last attempt, with a reason, and closes the log. In a later
// round the rollout is played from its start.
func TestLostBeginning(t *testing.T) {
	s := newStage(t)
	s.storeFailures(t)
	want := s.calm(t)
	last := s.began(t, "s.0")
	s.lose(t, "BUS_0", "bus.0.s.0", last.Sequence)
	run(t.Context(), t, s.worker(t, func(c *Config) { c.Attempts = 2 }, nil))
	s.again(t, "s.0", 0)
	result := s.writtenOff(t, "s.0")
	for _, want := range []string{"log of rollout s.0, stream BUS_0, sequence ", "is gone or cannot be read"} {
		if got := result.GetEnd().GetDetail(); !strings.Contains(got, want) {
			t.Errorf("detail: got %q, want %q in it", got, want)
		}
	}
	entries := s.entries(t, "s.0")
	if final := entries[len(entries)-1]; !proto.Equal(final.GetEnd(), result.GetEnd()) || len(entries) != 2 {
		t.Errorf("log: got %v, want what was left and the end of the result", entries)
	}
	s.again(t, "s.0", 1)
	until(t, "s.0 has ended in round 1", func() bool {
		log, err := s.ReadLog(t.Context(), "s.0")
		return err == nil && log.Entries[len(log.Entries)-1].GetEnd() != nil
	})
	checkMessages(t, s.state(t, "s.0"), want, 1)
}

// TestLostEnd takes the beginning of a log away that has ended and has no result yet: nothing
// follows its end, and one that has a result keeps it.
func TestLostEnd(t *testing.T) {
	s := newStage(t)
	s.storeFailures(t)
	once := func(c *Config) { c.Attempts = 1 }
	stop := run(t.Context(), t, s.worker(t, once, nil))
	s.enqueue(t, 0, "s.0")
	s.ended(t, "s.0")
	stop()
	entries := s.entries(t, "s.0")
	s.lose(t, "BUS_0", "bus.0.s.0", 2)
	run(t.Context(), t, s.worker(t, once, nil))
	first := s.writtenOff(t, "s.0")
	s.again(t, "s.0", 0)
	if second := s.writtenOff(t, "s.0"); !proto.Equal(first, second) {
		t.Errorf("result: got %v and then %v, want the same", first, second)
	}
	if got := s.entries(t, "s.0"); len(got) >= len(entries) || got[len(got)-1].GetEnd().GetReason() != busv1.EndReason_END_REASON_FINISHED {
		t.Errorf("log: got %v, want the last ones of the %d that there were", got, len(entries))
	}
}

// TestLostSetup takes the setup away of a rollout that has not begun, and of one that has.
func TestLostSetup(t *testing.T) {
	s := newStage(t)
	s.storeFailures(t)
	s.began(t, "s.0")
	s.lose(t, "SETUP", "setup."+s.digest, 0)
	fresh := *s
	fresh.Bus = natstest.Open(t, s.js.Conn(), natstest.OneShard) // the other one remembers setups
	run(t.Context(), t, fresh.worker(t, func(c *Config) { c.Attempts = 1 }, nil))
	for _, id := range []string{"s.0", "s.1"} {
		s.again(t, id, 0)
		if got := s.writtenOff(t, id).GetEnd().GetDetail(); !strings.Contains(got, "setup."+s.digest) {
			t.Errorf("detail of %s: got %q, want what is missing", id, got)
		}
	}
	if end := s.state(t, "s.0").End(); end.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		t.Errorf("log of the one that had begun: got end %v, want a failure of the infrastructure", end)
	}
	if entries := s.entries(t, "s.1"); len(entries) != 0 {
		t.Errorf("log of the other one: got %v, want none", entries)
	}
}

// TestWrittenOffInALaterRound lets a worker give a rollout up that is in a later round by now.
func TestWrittenOffInALaterRound(t *testing.T) {
	s := newStage(t)
	last := s.began(t, "s.0")
	s.enqueue(t, 0, "s.0")
	delivery := s.fetch(t, "s.0", lease)
	w := s.worker(t, nil, nil)
	if _, err := s.Append(t.Context(), "s.0", &busv1.LogEntry{Claim: &busv1.Claim{Round: 1}}, last); err != nil {
		t.Fatal(err)
	}
	if err := w.failLost(t.Context(), delivery, errThrottled); !errors.Is(err, errReplaced) {
		t.Errorf("in a later round: got %v, want %v", err, errReplaced)
	}
	if _, err := s.RoundResult(t.Context(), "s.0", 0); err == nil {
		t.Error("result of the earlier round: got one, want none")
	}
}

// TestBusyPluginIsTriedAgain has a gateway that has no room for a moment.
func TestBusyPluginIsTriedAgain(t *testing.T) {
	s := newStage(t)
	var asked atomic.Int32
	s.gateway.respond = func(context.Context, *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
		if asked.Add(1) == 1 {
			return nil, status.Error(codes.Unavailable, "too many plug-ins at once")
		}
		return nil, nil
	}
	run(t.Context(), t, s.worker(t, nil, nil))
	s.enqueue(t, 0, "s.0")
	if got := s.ended(t, "s.0")["s.0"].End().GetReason(); got != busv1.EndReason_END_REASON_FINISHED {
		t.Errorf("end: got %v, want it finished", got)
	}
}
