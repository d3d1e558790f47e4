package agentgw

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
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

// TestBlockedRequest uses a provider whose filter blocks the request: in an error, or in an answer
// with status 200. The turn is an empty text with a remark; with compat the rollout fails.
func TestBlockedRequest(t *testing.T) {
	const body = `{"error": {"message": "filtered", "code": "content_filter", "innererror": {"content_filter_result": {"hate": {"filtered": true}}}}}`
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		var asked atomic.Int64
		address := serveProvider(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		server := newLimitedServer(t, natstest.Start(t), func(*ratelimit.Config) {})
		got, err := server.Respond(t.Context(), turnRequest("s.1", address))
		if err != nil || len(got.GetMessages()) != 1 || got.GetMessages()[0].GetText() != "" || asked.Load() != 1 {
			t.Fatalf("%d: got %v and %v after %d requests, want an empty text after one", status, got, err, asked.Load())
		}
		want := []*agentgwv1.Remark{{Kind: agentgwv1.RemarkKind_REMARK_KIND_REFUSED, Detail: "content_filter: hate: filtered"}}
		if diff := cmp.Diff(want, got.GetRemarks(), protocmp.Transform()); diff != "" {
			t.Errorf("%d: remarks (-want +got):\n%s", status, diff)
		}
		compat := turnRequest("s.2", address)
		compat.Compat = true
		got, err = server.Respond(t.Context(), compat)
		if err != nil || got.GetFailure().GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER {
			t.Errorf("%d with compat: got %v and %v, want a failure of the provider", status, got, err)
		}
	}
}
