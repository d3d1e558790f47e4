package agentgw

import (
	"context"
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
		"two requests fit":     {time.Second / 2, 6 * time.Second, 2, "openai, m: no answer within 500ms"},
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
			ctx, cancel := context.WithTimeout(t.Context(), test.turn)
			defer cancel()
			request := turnRequest("s.0", address)
			request.Player.GetModel().TimeoutMs = test.request.Milliseconds()
			_, err := server.Respond(ctx, request)
			if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(status.Convert(err).Message(), test.want) || ctx.Err() != nil {
				t.Errorf("got %v, the turn's %v, want DEADLINE_EXCEEDED with %q before the turn is over", err, ctx.Err(), test.want)
			}
			if n := asked.Load(); n != test.asked {
				t.Errorf("got %d requests, want %d", n, test.asked)
			}
		})
	}
}
