package agentgw_test

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
)

// TestFresh asks for a turn that its caller calls new although it is recorded: the provider is
// asked, but the record counts.
func TestFresh(t *testing.T) {
	b := natstest.Start(t)
	f := startFake(t, func(n int) (int, string) {
		return http.StatusOK, says(openaiModel, []string{"first", "second"}[n-1])
	})
	client := serve(t, allKeys(), b)
	request := askModel(openaiModel, f.URL)
	request.Fresh = true
	for asked := 1; asked <= 2; asked++ {
		response, err := client.Respond(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if got := sandbox.Content(response.GetMessages()[0]); got != "first" {
			t.Errorf("answer %d: got %q, want %q", asked, got, "first")
		}
		if got := f.count(); got != asked {
			t.Errorf("requests: got %d, want %d", got, asked)
		}
	}
}

// TestFreshTriedAgain loses the answer to a new turn on its way, so that the transport repeats the
// call: nothing is paid for twice.
func TestFreshTriedAgain(t *testing.T) {
	f := startFake(t, always(http.StatusOK, says(openaiModel, "hello")))
	client := serve(t, allKeys(), natstest.Start(t))
	request := askModel(openaiModel, f.URL)
	request.Fresh = true
	for _, ctx := range []context.Context{t.Context(), metadata.AppendToOutgoingContext(t.Context(), "grpc-previous-rpc-attempts", "1")} {
		response, err := client.Respond(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		if got := sandbox.Content(response.GetMessages()[0]); got != "hello" {
			t.Errorf("answer: got %q, want %q", got, "hello")
		}
	}
	if got := f.count(); got != 1 {
		t.Errorf("requests to the provider: got %d, want 1", got)
	}
}
