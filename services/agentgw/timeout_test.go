package agentgw

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestSlowModel asks a provider that answers too late. The gateway sends no request whose answer it
// would drop, and reports the failure before the turn's deadline.
func TestSlowModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request, turn time.Duration
		asked         int64
		want          string
	}{
		"one request fits":     {time.Second, 1800 * time.Millisecond, 1, "openai, m: no answer within 1s"},
		"not even one request": {time.Minute, 2 * time.Second, 1, "openai, m: no answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			address := serveProvider(t, func(_ http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client is gone
				<-r.Context().Done()
			})
			server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
			var err error
			late := true
			for n := 0; (late || asked.Load() == 0) && n < 10; n++ { // the machine may stop until the time is over
				asked.Store(0)
				ctx, cancel := context.WithTimeout(t.Context(), test.turn)
				request := turnRequest(fmt.Sprint("s.", n), address)
				request.Player.GetModel().TimeoutMs = test.request.Milliseconds()
				_, err = server.Respond(ctx, request)
				late = ctx.Err() != nil
				cancel()
			}
			if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(status.Convert(err).Message(), test.want) || late {
				t.Errorf("got %v, after the turn: %v, want DEADLINE_EXCEEDED with %q before the turn is over", err, late, test.want)
			}
			if n := asked.Load(); n != test.asked {
				t.Errorf("got %d requests, want %d", n, test.asked)
			}
		})
	}
}

// TestLongTimeouts asks a provider that never answers. A round of a rollout waits for two time-outs
// of a turn, in one request for it or in several, and ends as a failure of the provider.
func TestLongTimeouts(t *testing.T) {
	t.Parallel()
	const timeout = time.Second // for a request to arrive on a busy machine
	var asked atomic.Int64
	address := serveProvider(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
	for _, step := range []struct {
		rollout  string
		round    int32
		attempts int32
		asked    int64
		ends     bool
	}{
		{"s.0", 0, 5, 2, true},
		{"s.1", 0, 1, 1, false},
		{"s.1", 0, 1, 1, true},
		{"s.1", 1, 1, 1, false},
		{"s.1", 1, 5, 1, true},
	} {
		before, began := asked.Load(), time.Now()
		request := turnRequest(step.rollout, address)
		request.Round = step.round
		request.Player.GetModel().TimeoutMs, request.Player.GetModel().Attempts = timeout.Milliseconds(), step.attempts
		got, err := server.Respond(t.Context(), request)
		stopped := time.Since(began) > time.Duration(step.asked+1)*timeout // a request of that time may not arrive
		if n := asked.Load() - before; n > step.asked || n < step.asked && !stopped {
			t.Errorf("%+v: got %d requests, want %d", step, n, step.asked)
		}
		failure := got.GetFailure()
		switch {
		case step.ends && (err != nil || failure.GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER || !strings.Contains(failure.GetDetail(), "no answer within 1s, not for the first time")):
			t.Errorf("%+v: got %v, %v, want a failure of the provider", step, got, err)
		case !step.ends && status.Code(err) != codes.DeadlineExceeded:
			t.Errorf("%+v: got %v, %v, want DEADLINE_EXCEEDED", step, got, err)
		}
	}
}
