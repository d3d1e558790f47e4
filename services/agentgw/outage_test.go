package agentgw

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

// TestShortOutage fails a provider for a moment that has succeeded before. All turns are played
// soon after, throttled or not.
func TestShortOutage(t *testing.T) {
	t.Parallel()
	const turns, threshold = 50, 5
	var asked atomic.Int64
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		if n := asked.Add(1); n > 1 && n <= 1+threshold {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	server := newLimitedServer(t, natstest.Start(t), func(c *ratelimit.Config) {
		c.Limits, c.BreakerFailures = map[string]ratelimit.Limit{"openai": {Concurrency: 1}}, threshold
	})
	play := func(rollout string) error {
		for {
			request := turnRequest(rollout, address)
			request.GetPlayer().GetModel().Attempts = threshold + 1 // one turn may meet all failures
			got, err := server.Respond(t.Context(), request)
			if err != nil || got.GetThrottled() == nil {
				return err
			}
		}
	}
	if err := play("s.first"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var group sync.WaitGroup
	for n := range turns {
		group.Go(func() {
			if err := play(fmt.Sprint("s.", n)); err != nil {
				t.Errorf("turn %d: got %v, want an answer", n, err)
			}
		})
	}
	group.Wait()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("after an outage of some moments: got all turns after %s, want them soon", took)
	}
}

// TestLongRetryAfter fails a provider that asks for an hour, with statuses and errors that are no
// refusals. No request under its key is sent for MaxPause. Both turns are answered then, or
// throttled if that exceeds their time.
func TestLongRetryAfter(t *testing.T) {
	t.Parallel()
	long := http.Header{"Retry-After": {"3600"}}
	for name, test := range map[string]struct {
		status        int
		body          string
		header        http.Header
		longest, turn time.Duration
		asked         int64
		held          [2]string
	}{
		"502":                   {http.StatusBadGateway, "broken", long, time.Second, time.Minute, 3, [2]string{}},
		"409":                   {http.StatusConflict, "locked", long, time.Second, time.Minute, 3, [2]string{}},
		"an error in an answer": {http.StatusOK, `{"error": {"message": "m", "details": [{"retryDelay": "3600s"}]}}`, nil, time.Second, time.Minute, 3, [2]string{}},
		"longer than the turn":  {http.StatusBadGateway, "broken", long, time.Minute, 2 * time.Second, 1, [2]string{"HTTP 502: broken", "budget of openai: 1 requests wait for their turn; the last reason was: HTTP 502: broken (at "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					maps.Copy(w.Header(), test.header)
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.body)
					return
				}
				_, _ = io.WriteString(w, answer)
			})
			server := newLimitedServer(t, natstest.Start(t), func(c *ratelimit.Config) { c.MaxPause = test.longest })
			began := time.Now()
			for n, held := range test.held {
				ctx, stop := context.WithTimeout(t.Context(), test.turn)
				got, err := server.Respond(ctx, turnRequest(fmt.Sprint("s.", n), address))
				stopped := ctx.Err() != nil // the machine, until the turn was over
				stop()
				if stopped {
					continue
				}
				if err != nil || (got.GetThrottled() != nil) != (held != "") || !strings.HasPrefix(got.GetThrottled().GetDetail(), held) {
					t.Errorf("turn %d: got %v, %v, want it held with %q, if that is something", n, got, err, held)
				}
			}
			if got, took := asked.Load(), time.Since(began); got != test.asked || took < time.Second {
				t.Errorf("got %d requests in %s, want %d and a wait of a second", got, took, test.asked)
			}
		})
	}
}
