package agentgw

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestLongEndlessRefusals answers 429 only. All turns end as the provider's failure with its
// message, and are asked again in the next round.
func TestLongEndlessRefusals(t *testing.T) {
	t.Parallel()
	const turns = 20
	var well atomic.Bool
	address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			http.Error(w, `{"error": {"message": "slow down"}}`, http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	server := newLimitedServer(t, natstest.Start(t), func(c *ratelimit.Config) { c.MaxWait = time.Second })
	play := func(n int, round int32) (*agentgwv1.RespondResponse, error) {
		request := turnRequest(fmt.Sprint("s.", n), address)
		request.Round = round
		for {
			got, err := server.Respond(t.Context(), request)
			if err != nil || got.GetThrottled() == nil {
				return got, err
			}
		}
	}
	var group sync.WaitGroup
	for n := range turns {
		group.Go(func() {
			got, err := play(n, 0)
			if err != nil || got.GetFailure().GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER {
				t.Errorf("turn %d: got %v, %v, want a failure of the provider", n, got, err)
			}
			for _, want := range []string{"openai, m: budget of openai: provider answers nothing: in ", " requests were refused or failed and none was answered", "HTTP 429: slow down"} {
				if !strings.Contains(got.GetFailure().GetDetail(), want) {
					t.Errorf("detail of turn %d: got %q, want %q in it", n, got.GetFailure().GetDetail(), want)
				}
			}
		})
	}
	group.Wait()
	well.Store(true)
	for n := range turns {
		group.Go(func() {
			var got *agentgwv1.RespondResponse
			var err error
			for round := int32(1); len(got.GetMessages()) == 0 && err == nil && t.Context().Err() == nil; round++ {
				got, err = play(n, round) // a second is not long: a slow machine may need more than one
			}
			if err != nil {
				t.Errorf("turn %d once the provider is well: %v", n, err)
			}
		})
	}
	group.Wait()
}

// TestRefusedTurn refuses a turn until its deadline. It is throttled during an outage, and fails
// while others are answered.
func TestRefusedTurn(t *testing.T) {
	t.Parallel()
	address := serveProvider(t, func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(string(raw), "large") {
			w.Header().Set("Retry-After", "0.02")
			http.Error(w, "too large", http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, answer)
	})
	server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
	var asked atomic.Int64 // each turn is another one: what is recorded is not asked again
	small := func() {
		if got, err := server.Respond(t.Context(), turnRequest(fmt.Sprint("other.", asked.Add(1)), address)); err != nil || len(got.GetMessages()) != 1 {
			t.Errorf("another turn: got %v, %v, want an answer", got, err)
		}
	}
	large := func() (*agentgwv1.RespondResponse, error) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		request := turnRequest("s.0", address)
		request.View[0].Body = &worldv1.Message_Text{Text: "large"}
		return server.Respond(ctx, request)
	}
	if got, err := large(); err != nil || got.GetThrottled() == nil || got.GetThrottled().GetDetail() != "HTTP 429: too large (at "+address+"/chat/completions)" {
		t.Errorf("alone: got %v, %v, want a hold with the reason", got, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			small()
		}
	})
	if got, err := large(); status.Code(err) != codes.Aborted {
		t.Errorf("beside others: got %v, %v, want ABORTED", got, err)
	}
	stop()
	group.Wait()
}
