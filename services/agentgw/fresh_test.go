package agentgw_test

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
)

// TestFresh asks for a recorded turn that its caller calls fresh. The provider is asked, but the
// record wins.
func TestFresh(t *testing.T) {
	b := natstest.Start(t)
	f := startProvider(t, func(n int) (int, string) {
		return http.StatusOK, textAnswer(openaiModel, []string{"first", "second"}[n-1])
	})
	client := serve(t, allKeys(), b)
	request := askModel(openaiModel, f.URL)
	request.Fresh = true
	for asked := 1; asked <= 2; asked++ {
		response, err := client.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if got := messagetext.Content(response.GetMessages()[0]); got != "first" {
			t.Errorf("answer %d: got %q, want %q", asked, got, "first")
		}
		if got := f.count(); got != asked {
			t.Errorf("requests: got %d, want %d", got, asked)
		}
	}
}

// TestFreshRepeated loses the answer to a fresh turn, so that gRPC repeats the call. Nothing is
// paid for twice.
func TestFreshRepeated(t *testing.T) {
	f := startProvider(t, always(http.StatusOK, textAnswer(openaiModel, "hello")))
	client := serve(t, allKeys(), natstest.Start(t))
	request := askModel(openaiModel, f.URL)
	request.Fresh = true
	for _, ctx := range []context.Context{t.Context(), metadata.AppendToOutgoingContext(t.Context(), "grpc-previous-rpc-attempts", "1")} {
		response, err := client.Respond(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		if got := messagetext.Content(response.GetMessages()[0]); got != "hello" {
			t.Errorf("answer: got %q, want %q", got, "hello")
		}
	}
	if got := f.count(); got != 1 {
		t.Errorf("requests to the provider: got %d, want 1", got)
	}
}
