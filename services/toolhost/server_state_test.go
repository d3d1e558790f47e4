package toolhost

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// counting is a tool host with the tool of an MCP server that keeps a count for each session. asked
// counts the tool's calls.
type counting struct {
	client toolhostv1.ToolHostServiceClient
	asked  atomic.Int64
}

func serveCounting(t *testing.T) *counting {
	t.Helper()
	c := &counting{}
	type step struct {
		By int `json:"by"`
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		s, count := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil), 0
		mcp.AddTool(s, &mcp.Tool{Name: "count_up"}, func(_ context.Context, _ *mcp.CallToolRequest, in step) (*mcp.CallToolResult, any, error) {
			c.asked.Add(1)
			count += in.By
			return &mcp.CallToolResult{StructuredContent: map[string]any{"count": count}}, nil, nil
		})
		return s
	}, nil)
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	servers := toolserver.NewClient(toolserver.Config{
		Targets: toolserver.Targets{"desk": {Address: web.URL}}, Timeout: 20 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	})
	c.client = serveServers(t, storePath(t), natstest.Start(t), ownsAll, newServices(t, service.ClientConfig{}), tool.Builtin(), servers).client
	setup := smallSetup("counting")
	setup.ToolServers = []*setupv1.ToolServer{{Name: "desk", SessionState: true, Tools: []*toolsv1.Tool{{
		Name: "count_up", Description: "Counts.", ParametersJson: `{"type": "object", "properties": {"by": {"type": "integer"}}, "required": ["by"]}`,
	}}}}
	create(t, c.client, "s", setup)
	return c
}

func wantAnswers(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestServerState calls a server that keeps a count for each session: with equal calls in one
// message, with a program, in forks, and in forks without requests.
func TestServerState(t *testing.T) {
	c := serveCounting(t)
	const one = "print(count_up(by=1))"
	wantAnswers(t, "a call", say(t, c.client, "s", 3, one), "{'count': 1}")
	wantAnswers(t, "equal calls in one message", say(t, c.client, "s", 6, one, one), "{'count': 2}", "{'count': 3}")
	wantAnswers(t, "a program", say(t, c.client, "s", 9, "for i in range(3):\n    print(count_up(by=1)['count'])"), "4\n5\n6")
	fork := func(id string, index int32, replay bool) {
		t.Helper()
		if _, err := c.client.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: "s", Index: index, NewSessionId: id, Replay: replay}); err != nil {
			t.Fatal(err)
		}
	}
	fork("f", 3, false)
	wantAnswers(t, "another call in a fork", say(t, c.client, "f", 5, "print(count_up(by=10))"), "{'count': 11}")
	wantAnswers(t, "the session behind the fork", say(t, c.client, "s", 11, one), "{'count': 7}")

	requests := c.asked.Load()
	fork("r", 1, true)
	wantAnswers(t, "replayed call", say(t, c.client, "r", 3, one), "{'count': 1}")
	wantAnswers(t, "replayed calls", say(t, c.client, "r", 6, one, one), "{'count': 2}", "{'count': 3}")
	_, err := c.client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "r", Index: 8, Calls: []*worldv1.Message{call(7, worldv1.Role_ROLE_AGENT, "count_up(by=2)")}})
	wantCode(t, "another call in a replay", err, codes.InvalidArgument)
	wantErrorText(t, err, "session r asks nothing of servers, and session s did not make the same request")
	if got := c.asked.Load(); got != requests {
		t.Errorf("calls of the server while forks replayed: got %d more, want none", got-requests)
	}
}

// wantErrorText fails the test unless the error contains a text.
func wantErrorText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q in it", err, want)
	}
}

// TestServerStateInOrder makes parallel calls whose requests depend on the order.
func TestServerStateInOrder(t *testing.T) {
	c := serveCounting(t)
	ask := func(index int32, sources ...string) error {
		calls := make([]*worldv1.Message, len(sources))
		for i, source := range sources {
			calls[i] = call(index-int32(len(sources)-i), worldv1.Role_ROLE_AGENT, source)
		}
		_, err := c.client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: "s", Index: index, Calls: calls})
		return err
	}
	const off = "set_wifi_status(on=False)"
	for name, sources := range map[string][]string{
		"asks in another order":  {"if not get_wifi_status():\n    count_up(by=4)", off},
		"asks otherwise":         {"count_up(by=5 if get_wifi_status() else 6)", off},
		"equal calls of a state": {"count_up(by=1)", "count_up(by=1)", off},
	} {
		err := ask(2+int32(len(sources)), sources...)
		wantCode(t, name, err, codes.InvalidArgument)
		wantErrorText(t, err, "desk: parallel calls depend on their order")
	}
	if err := ask(4, "count_up(by=7)", off); err != nil {
		t.Errorf("calls that have nothing to do with each other: got %v, want no error", err)
	}
}
