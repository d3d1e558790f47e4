package agentgw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const answer = `{"choices":[{"message":{"content":"hello"}}],"usage":{"prompt_tokens":300,"completion_tokens":200}}`

// newLimitedServer returns a replica of the gateway with limits.
func newLimitedServer(tb testing.TB, b *bus.Bus, change func(c *ratelimit.Config)) *Server {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.Getenv = func(string) string { return "" }
	cfg.ModelBaseURLs = []string{"*"} // the test's own
	cfg.RetryWait, cfg.Budget.FirstPause, cfg.Budget.OpenFor = 5*time.Millisecond, 5*time.Millisecond, 200*time.Millisecond
	change(&cfg.Budget)
	prices, err := cfg.check()
	if err != nil {
		tb.Fatal(err)
	}
	replicas, err := b.Join("agentgw", uuid.NewString())
	if err != nil {
		tb.Fatal(err)
	}
	budget, err := ratelimit.New(cfg.Budget, b, replicas.Name(), slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	server, err := newServer(context.Background(), cfg, prices, budget, b, b, replicas, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	stop, err := server.serveForwarded()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := errors.Join(replicas.Leave(), stop(tb.Context())); err != nil {
			tb.Errorf("leave: %v", err)
		}
		if err := server.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
		if err := budget.Close(); err != nil {
			tb.Errorf("close budget: %v", err)
		}
	})
	return server
}

// serveProvider serves a provider until the test ends.
func serveProvider(tb testing.TB, handle http.HandlerFunc) string {
	tb.Helper()
	server := httptest.NewServer(handle)
	tb.Cleanup(server.Close)
	return server.URL
}

// turnRequest returns a request for the first turn of a rollout.
func turnRequest(rollout, address string) *agentgwv1.RespondRequest {
	words := "hi"
	return &agentgwv1.RespondRequest{
		RolloutId: rollout, Index: 1, Role: worldv1.Role_ROLE_AGENT,
		Player: &agentgwv1.Player{Name: "openai:m", Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{
			Provider: "openai", Model: "m", BaseUrl: address, Attempts: 2,
		}}},
		View: []*worldv1.Message{{Sender: worldv1.Role_ROLE_USER, Recipient: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Text{Text: words}}},
	}
}

// TestReplicasShareRateLimit runs two replicas on one bus at full speed. The provider receives no
// more requests than the limit allows.
func TestReplicasShareRateLimit(t *testing.T) {
	t.Parallel()
	const perMinute = 1500
	const burst = 2 * perMinute / 50 // the key changes hands when the second one comes
	const enough = 2 * burst
	var asked atomic.Int64
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, answer)
	})
	b := natstest.Start(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	began := time.Now()
	var group sync.WaitGroup
	for replica := range 2 {
		server := newLimitedServer(t, b, func(c *ratelimit.Config) { c.Limits = map[string]ratelimit.Limit{"openai": {Requests: perMinute}} })
		for n := range 32 {
			group.Go(func() {
				for i := 0; asked.Load() < enough && ctx.Err() == nil; i++ {
					_, err := server.Respond(ctx, turnRequest(fmt.Sprintf("s%d-%d.%d", replica, n, i), address))
					if err != nil && ctx.Err() == nil {
						t.Errorf("Respond: %v", err)
					}
				}
				stop() // what still waits for the budget need not be asked
			})
		}
	}
	group.Wait()
	took := time.Since(began)
	const handover = perMinute / 60 // both may ask while the second one takes the key over
	if got, most := asked.Load(), int64(burst+handover+perMinute/60*took.Seconds()+1); got < enough || got > most {
		t.Errorf("requests in %s: got %d, want %d to %d", took, got, enough, most)
	}
}

// TestSpendLimitThrottles exhausts a sweep's spend limit. The next turn is throttled without a
// request, and begins once the limit is higher. Other sweeps are unaffected.
func TestSpendLimitThrottles(t *testing.T) {
	var asked atomic.Int64
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, answer)
	})
	server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
	respond := func(rollout string, limit int64) *agentgwv1.RespondResponse {
		t.Helper()
		request := turnRequest(rollout, address)
		request.SpendLimit = &agentgwv1.SpendLimit{Tokens: limit}
		response, err := server.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	for n, test := range []struct {
		rollout string
		limit   int64
		asked   int64
		held    bool
	}{{"s.0", 1200, 1, false}, {"s.1", 1200, 2, false}, {"s.2", 1200, 2, true}, {"other.0", 1200, 3, false}, {"s.2", 5000, 4, false}, {"s.1", 1, 4, false}} {
		got := respond(test.rollout, test.limit)
		if got.GetThrottled().GetSpendLimitReached() != test.held || test.held != (len(got.GetMessages()) == 0) || asked.Load() != test.asked {
			t.Errorf("%d. turn, of %s: got %v after %d requests, want it held: %t, after %d", n, test.rollout, got, asked.Load(), test.held, test.asked)
		}
		if test.held && !strings.Contains(got.GetThrottled().GetDetail(), "spend limit reached: 1000 tokens of 1200 tokens") {
			t.Errorf("reason: got %q, want what was spent of what", got.GetThrottled().GetDetail())
		}
	}
}

// TestBusyBudgetThrottles lets a turn wait for a budget in use. It is throttled, not failed, while
// there is time for an answer, and sends no request.
func TestBusyBudgetThrottles(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	arrived, leave := make(chan struct{}), make(chan struct{})
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		close(arrived)
		<-leave
		_, _ = io.WriteString(w, answer)
	})
	server := newLimitedServer(t, natstest.Start(t), func(c *ratelimit.Config) { c.Limits = map[string]ratelimit.Limit{"default": {Concurrency: 1}} })
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := server.Respond(t.Context(), turnRequest("s.0", address)); err != nil {
			t.Errorf("the first turn: %v", err)
		}
	})
	<-arrived
	var got *agentgwv1.RespondResponse
	var err error
	late := true
	for n := 1; late && n < 10; n++ { // the machine may stop until the time is over
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second) // it is held when half of that is over
		got, err = server.Respond(ctx, turnRequest(fmt.Sprint("s.", n), address))
		late = ctx.Err() != nil
		stop()
	}
	if hold := got.GetThrottled(); err != nil || hold == nil || hold.GetSpendLimitReached() || asked.Load() != 1 || late {
		t.Errorf("the second turn: got %v, %v after %d requests, want a hold in time after 1", got, err, asked.Load())
	}
	close(leave)
	group.Wait()
}

// TestBreakerOpens runs turns against a provider that always fails. Every turn fails with a
// retryable error that is not the model's, most of them without a request.
func TestBreakerOpens(t *testing.T) {
	const turns, threshold = 100, 10
	var asked atomic.Int64
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "broken", http.StatusInternalServerError)
	})
	server := newLimitedServer(t, natstest.Start(t), func(c *ratelimit.Config) {
		c.Limits, c.BreakerFailures, c.OpenFor = map[string]ratelimit.Limit{"openai": {Concurrency: 1}}, threshold, time.Minute
	})
	var group sync.WaitGroup
	for n := range turns {
		group.Go(func() {
			got, err := server.Respond(t.Context(), turnRequest(fmt.Sprint("s.", n), address))
			if status.Code(err) != codes.Aborted {
				t.Errorf("turn %d: got %v, %v, want ABORTED", n, got, err)
			}
		})
	}
	group.Wait()
	if got := asked.Load(); got < threshold || got > threshold+turns/10 {
		t.Errorf("requests for %d turns: got %d, want %d and a few", turns, got, threshold)
	}
}
