package agentgw

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// wantThrottled expects a turn that did not begin and may begin later.
func wantThrottled(t *testing.T, what string, got *agentgwv1.RespondResponse, err error) {
	t.Helper()
	wantHold(t, what, got, err, errCancelled)
}

// wantHold is wantThrottled for a reason.
func wantHold(t *testing.T, what string, got *agentgwv1.RespondResponse, err, reason error) {
	t.Helper()
	if hold := got.GetThrottled(); err != nil || hold == nil || hold.GetSpendLimitReached() || hold.GetDetail() != reason.Error() {
		t.Errorf("%s: got %v, %v, want a hold because %q", what, got, err, reason)
	}
}

// TestCancelledTurns cancels a sweep while one request is in flight and another waits for the
// budget. The first is paid for, so it completes and counts when the sweep is played again. No
// other request is sent.
func TestCancelledTurns(t *testing.T) {
	var asked atomic.Int64
	arrived, leave := make(chan struct{}), make(chan struct{})
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			close(arrived)
			<-leave
		}
		_, _ = io.WriteString(w, answer)
	})
	server := newLimitedServer(t, natstest.Start(t), func(c *ratelimit.Config) { c.Limits = map[string]ratelimit.Limit{"default": {Concurrency: 1}} })
	var group, waits sync.WaitGroup
	respond := func(group *sync.WaitGroup, rollout string, check func(*agentgwv1.RespondResponse, error)) {
		group.Go(func() { check(server.Respond(t.Context(), turnRequest(rollout, address))) })
	}
	respond(&group, "s.0", func(got *agentgwv1.RespondResponse, err error) { wantThrottled(t, "the turn under way", got, err) })
	<-arrived
	respond(&waits, "s.1", func(got *agentgwv1.RespondResponse, err error) { wantThrottled(t, "the turn that waits", got, err) })
	respond(&group, "other.0", func(got *agentgwv1.RespondResponse, err error) {
		if err != nil || len(got.GetMessages()) != 1 {
			t.Errorf("another sweep: got %v, %v, want an answer", got, err)
		}
	})
	server.cancelled.markCancelled("s", 0)
	waits.Wait() // it is not kept waiting by the request under way
	got, err := server.Respond(t.Context(), turnRequest("s.2", address))
	wantThrottled(t, "a turn that comes later", got, err)
	close(leave)
	group.Wait()
	if n := asked.Load(); n != 2 {
		t.Errorf("requests: got %d, want the one under way and that of another sweep", n)
	}
	for rollout, want := range map[string]int64{"s.0": 2, "s.1": 3} {
		again := turnRequest(rollout, address)
		again.Round = 1
		got, err := server.Respond(t.Context(), again)
		if err != nil || len(got.GetMessages()) != 1 || asked.Load() != want {
			t.Errorf("%s played again: got %v, %v after %d requests, want an answer after %d", rollout, got, err, asked.Load(), want)
		}
		asked.Store(2)
	}
}

// TestCancelledRetries cancels a sweep whose turn waits for a retry, and one without waiting turns.
func TestCancelledRetries(t *testing.T) {
	for name, status := range map[string]int{"refused": http.StatusTooManyRequests, "failed": http.StatusInternalServerError} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			failed := make(chan struct{})
			address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					defer close(failed)
				}
				w.Header().Set("Retry-After", "50")
				http.Error(w, "later", status)
			})
			server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				got, err := server.Respond(t.Context(), turnRequest("s.0", address))
				wantThrottled(t, "the turn", got, err)
			}()
			<-failed
			server.cancelled.markCancelled("s", 3)
			<-ended
			if n := asked.Load(); n != 1 {
				t.Errorf("requests: got %d, want 1", n)
			}
		})
	}
	b := natstest.Start(t)
	server, err := NewServer(DefaultConfig(), b, b)
	if err != nil {
		t.Fatal(err)
	}
	server.cancelled.markCancelled("s", 0)
	address := serveProvider(t, func(http.ResponseWriter, *http.Request) { t.Error("without budgets: asked, want no request") })
	got, err := server.Respond(t.Context(), turnRequest("s.0", address))
	wantThrottled(t, "without budgets", got, err)
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// TestCancelledID cancels a sweep. After its deletion another one has its id.
func TestCancelledID(t *testing.T) {
	var c cancellations
	request := &agentgwv1.RespondRequest{RolloutId: "s.0"}
	for _, test := range []struct {
		control *busv1.SweepControl
		want    error
	}{
		{&busv1.SweepControl{CancelledRound: proto.Int32(0)}, errCancelled},
		{&busv1.SweepControl{Deleted: true}, nil},
	} {
		c.apply("s", test.control)
		turn, end := c.begin(t.Context(), request)
		if got := context.Cause(turn); !errors.Is(got, test.want) {
			t.Errorf("%v: got %v, want %v", test.control, got, test.want)
		}
		end()
	}
}

// TestPausedTurns pauses a sweep while one request is in flight and another waits for the budget.
// The first is answered, the other one ends at once, and no other begins until the sweep continues.
func TestPausedTurns(t *testing.T) {
	var asked atomic.Int64
	arrived, leave := make(chan struct{}), make(chan struct{})
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			close(arrived)
			<-leave
		}
		_, _ = io.WriteString(w, answer)
	})
	server := newLimitedServer(t, natstest.Start(t), func(c *ratelimit.Config) { c.Limits = map[string]ratelimit.Limit{"default": {Concurrency: 1}} })
	answered := func(what string, got *agentgwv1.RespondResponse, err error) {
		t.Helper()
		if err != nil || len(got.GetMessages()) != 1 {
			t.Errorf("%s: got %v, %v, want an answer", what, got, err)
		}
	}
	var group, waits sync.WaitGroup
	group.Go(func() {
		got, err := server.Respond(t.Context(), turnRequest("s.0", address))
		answered("the turn in flight", got, err)
	})
	<-arrived
	waits.Go(func() {
		got, err := server.Respond(t.Context(), turnRequest("s.1", address))
		wantHold(t, "the turn that waits", got, err, errPaused)
	})
	server.cancelled.setPaused("s", true)
	waits.Wait()
	got, err := server.Respond(t.Context(), turnRequest("s.2", address))
	wantHold(t, "a turn that comes later", got, err, errPaused)
	close(leave)
	group.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("requests during the pause: got %d, want the one in flight", n)
	}
	server.cancelled.setPaused("s", false)
	for _, rollout := range []string{"s.0", "s.1"} {
		got, err = server.Respond(t.Context(), turnRequest(rollout, address))
		answered(rollout+" after the pause", got, err)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("requests after the pause: got %d, want 2: the first turn was paid for", n)
	}
}
