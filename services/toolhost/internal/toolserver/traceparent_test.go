package toolserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// parentServer is the argument with which the test program is an MCP server of the tool look.
const parentServer = "parent-server"

// TestTraceparent calls tool servers within a trace and without one. They get the traceparent and
// nothing else of it.
func TestTraceparent(t *testing.T) {
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	const parent = "00-01000000000000000000000000000000-0200000000000000-01"
	for name, kind := range map[string]func(t *testing.T) Target{"grpc": grpcParents, "mcp over http": httpParents, "mcp over stdio": stdioParents} {
		t.Run(name, func(t *testing.T) {
			client := newTestClient(t, kind(t), time.Minute)
			request := newRequest(t, &toolsv1.Tool{Name: "look", ParametersJson: `{"type": "object"}`}, "{}")
			for _, c := range []struct {
				within trace.SpanContext
				want   string
			}{{at, parent}, {trace.SpanContext{}, ""}, {at, parent}} {
				body, err := client.Call(trace.ContextWithSpanContext(t.Context(), c.within), request)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(body, "<"+c.want+">") {
					t.Errorf("got %q, want %q", body, c.want)
				}
			}
		})
	}
}

// grpcParents serves a tool that returns the traceparent of its metadata.
func grpcParents(t *testing.T) Target {
	t.Helper()
	server := &scriptedServer{answer: func(ctx context.Context) (*toolsv1.CallResponse, error) {
		sent, _ := metadata.FromIncomingContext(ctx)
		parent := strings.Join(slices.Concat(sent.Get("traceparent"), sent.Get("tracestate"), sent.Get("baggage")), ",")
		return &toolsv1.CallResponse{Outcome: &toolsv1.CallResponse_ValueJson{ValueJson: `"<` + parent + `>"`}}, nil
	}}
	return server.serve(t)
}

// parents returns an MCP server of a tool that returns the traceparent of its request's _meta. Over
// HTTP the header has to be the same.
func parents() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "parents", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look"}, func(_ context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		parent, _ := request.Params.Meta["traceparent"].(string)
		if request.Extra != nil && request.Extra.Header != nil && request.Extra.Header.Get("traceparent") != parent {
			parent = "another one in the header"
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "<" + parent + ">"}}}, nil, nil
	})
	return server
}

// httpParents serves parents over HTTP.
func httpParents(t *testing.T) Target {
	t.Helper()
	listener := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return parents() }, nil))
	t.Cleanup(listener.Close)
	return Target{Address: listener.URL}
}

// stdioParents serves parents over standard input and output, in a process of its own.
func stdioParents(t *testing.T) Target {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Target{Command: []string{program, parentServer}}
}
