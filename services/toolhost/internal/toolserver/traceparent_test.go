package toolserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// TestTraceparent calls tool servers within a trace and without one. They get the traceparent and
// nothing else of it.
func TestTraceparent(t *testing.T) {
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	const parent = "00-01000000000000000000000000000000-0200000000000000-01"
	for name, kind := range map[string]func(t *testing.T, got chan<- string) Target{"grpc": grpcParents, "mcp over http": mcpParents} {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 8)
			client := newTestClient(t, kind(t, got), time.Minute)
			request := newRequest(t, &toolsv1.Tool{Name: "look", ParametersJson: `{"type": "object"}`}, "{}")
			for _, c := range []struct {
				within trace.SpanContext
				want   string
			}{{at, parent}, {trace.SpanContext{}, ""}, {at, parent}} {
				if _, err := client.Call(trace.ContextWithSpanContext(t.Context(), c.within), request); err != nil {
					t.Fatal(err)
				}
				if parent := <-got; parent != c.want {
					t.Errorf("got %q, want %q", parent, c.want)
				}
			}
		})
	}
}

// grpcParents serves a tool that reports the traceparent of its metadata.
func grpcParents(t *testing.T, got chan<- string) Target {
	t.Helper()
	server := &scriptedServer{answer: func(ctx context.Context) (*toolsv1.CallResponse, error) {
		sent, _ := metadata.FromIncomingContext(ctx)
		got <- strings.Join(slices.Concat(sent.Get("traceparent"), sent.Get("tracestate"), sent.Get("baggage")), ",")
		return &toolsv1.CallResponse{Outcome: &toolsv1.CallResponse_ValueJson{ValueJson: "1"}}, nil
	}}
	return server.serve(t)
}

// mcpParents serves a tool that reports the traceparent of its request's _meta, if the header is
// the same.
func mcpParents(t *testing.T, got chan<- string) Target {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "parents", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look"}, func(_ context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		parent, _ := request.Params.Meta["traceparent"].(string)
		if header := request.Extra.Header.Get("traceparent"); header != parent {
			parent = "in the header " + header
		}
		got <- parent
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "1"}}}, nil, nil
	})
	listener := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(listener.Close)
	return Target{Address: listener.URL}
}
