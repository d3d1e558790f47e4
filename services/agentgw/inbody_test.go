package agentgw

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
)

// TestRateLimitInAnswer uses a provider that reports its rate limit in a body with status 200. Such
// tries do not count.
func TestRateLimitInAnswer(t *testing.T) {
	for name, body := range map[string]string{
		"whole":  `{"error": {"code": 429, "message": "Rate limit exceeded"}}`,
		"choice": `{"choices": [{"finish_reason": "error", "error": {"code": 429, "message": "Rate limit exceeded"}, "message": {"content": "Tur"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) <= 3 { // more than a turn has attempts
					_, _ = io.WriteString(w, body)
					return
				}
				_, _ = io.WriteString(w, answer)
			})
			server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
			got, err := server.Respond(t.Context(), turnRequest("s.1", address))
			if err != nil || len(got.GetMessages()) != 1 || asked.Load() != 4 {
				t.Errorf("got %v and %v after %d requests, want an answer to the 4th", got, err, asked.Load())
			}
		})
	}
}
