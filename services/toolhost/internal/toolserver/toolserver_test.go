package toolserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// TestMain runs a server if the test program was started as one. The SDK cannot end the sessions of
// a test server that was replaced.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case environmentServer:
			os.Exit(exitCode(serveEnvironment(context.Background())))
		case fragileServer:
			os.Exit(serveFragile(os.Stdin, os.Stdout))
		case parentServer:
			os.Exit(exitCode(parents().Run(context.Background(), &mcp.StdioTransport{})))
		}
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

// exitCode prints an error.
func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// newTestClient returns a client of one server, desk.
// patience bounds what has to end by itself, such as a call that is answered.
const patience = time.Minute

func newTestClient(t *testing.T, target Target, timeout time.Duration) *Client {
	t.Helper()
	c := NewClient(Config{Targets: Targets{"desk": target}, Timeout: timeout, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// newRequest returns a request without rows.
func newRequest(t *testing.T, tool *toolsv1.Tool, arguments string) Request {
	t.Helper()
	value, err := python.ParseJSON(arguments)
	if err != nil {
		t.Fatal(err)
	}
	params := &python.Dict{}
	params.Set(FieldArguments, value)
	return Request{Server: &setupv1.ToolServer{Name: "desk"}, Tool: tool, Params: params}
}

// scriptedServer answers calls by a function of the test.
type scriptedServer struct {
	toolsv1.UnimplementedToolServiceServer
	tools  []*toolsv1.Tool
	answer func(ctx context.Context) (*toolsv1.CallResponse, error)
}

func (h *scriptedServer) ListTools(context.Context, *toolsv1.ListToolsRequest) (*toolsv1.ListToolsResponse, error) {
	return &toolsv1.ListToolsResponse{Tools: h.tools}, nil
}

func (h *scriptedServer) Call(ctx context.Context, _ *toolsv1.CallRequest) (*toolsv1.CallResponse, error) {
	return h.answer(ctx)
}

// serve starts the server and returns its target.
func (h *scriptedServer) serve(t *testing.T) Target {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	toolsv1.RegisterToolServiceServer(srv, h)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return Target{Address: "grpc://" + listener.Addr().String()}
}

// TestInvalidResponses checks gRPC responses that violate the protocol.
func TestInvalidResponses(t *testing.T) {
	tool := &toolsv1.Tool{Name: "note", ParametersJson: `{"type":"object"}`, Writes: []*toolsv1.Rows{{Table: "note", Columns: []string{"title"}}}}
	value := func(text string, changes ...*toolsv1.Change) *toolsv1.CallResponse {
		return &toolsv1.CallResponse{Outcome: &toolsv1.CallResponse_ValueJson{ValueJson: text}, Changes: changes}
	}
	add := func(table, row string) *toolsv1.Change {
		return &toolsv1.Change{Table: table, Kind: &toolsv1.Change_AddJson{AddJson: row}}
	}
	for name, c := range map[string]struct {
		response *toolsv1.CallResponse
		err      error
		want     string
	}{
		"no outcome":         {response: &toolsv1.CallResponse{}, want: "value_json is no JSON"},
		"no JSON":            {response: value("{"), want: "value_json is no JSON"},
		"no number":          {response: value("NaN"), want: "which is no number of JSON"},
		"undeclared table":   {response: value("1", add("contact", "{}")), want: `changes the table "contact", which note does not declare in writes`},
		"undeclared column":  {response: value("1", add("note", `{"pages": 1}`)), want: `changes the column "pages" of note, which note does not declare`},
		"row that is a list": {response: value("1", add("note", `[]`)), want: "add_json is no JSON object"},
		"no change":          {response: value("1", &toolsv1.Change{Table: "note"}), want: "kind"},
		"huge":               {response: value(`"` + strings.Repeat("x", maxBody) + `"`), want: "larger than max"},
		"internal error":     {err: status.Error(codes.Internal, "it broke"), want: "Internal: it broke"},
		"raises and changes": {response: &toolsv1.CallResponse{
			Outcome: &toolsv1.CallResponse_Raised{Raised: &toolsv1.Raised{Type: "ValueError"}}, Changes: []*toolsv1.Change{add("note", "{}")},
		}, want: "a call that raises changes nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			target := (&scriptedServer{answer: func(context.Context) (*toolsv1.CallResponse, error) { return c.response, c.err }}).serve(t)
			_, err := newTestClient(t, target, patience).Call(t.Context(), newRequest(t, tool, `{}`))
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want ErrProtocol with %q", err, c.want)
			}
		})
	}
}

// TestUnavailableServer checks a server that hangs, one that recovers, and one without a target.
func TestUnavailableServer(t *testing.T) {
	tool := &toolsv1.Tool{Name: "note"}
	target := (&scriptedServer{answer: func(ctx context.Context) (*toolsv1.CallResponse, error) {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}}).serve(t)
	_, err := newTestClient(t, target, 50*time.Millisecond).Call(t.Context(), newRequest(t, tool, `{}`))
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("a server that hangs: got %v, want ErrUnavailable", err)
	}
	tries := 0
	var mu sync.Mutex
	target = (&scriptedServer{answer: func(context.Context) (*toolsv1.CallResponse, error) {
		mu.Lock()
		defer mu.Unlock()
		if tries++; tries < 3 {
			return nil, status.Error(codes.Unavailable, "starting")
		}
		return &toolsv1.CallResponse{Outcome: &toolsv1.CallResponse_ValueJson{ValueJson: "7"}}, nil
	}}).serve(t)
	body, err := newTestClient(t, target, patience).Call(t.Context(), newRequest(t, tool, `{}`))
	if err != nil || body != `{"value": 7}` {
		t.Errorf("a server that recovers: got %q and %v, want 7", body, err)
	}
	if _, err := NewClient(Config{Timeout: time.Second, Logger: slog.New(slog.DiscardHandler)}).Call(t.Context(), newRequest(t, tool, `{}`)); !errors.Is(err, ErrUnknown) ||
		!strings.Contains(err.Error(), Flag+" desk=address") {
		t.Errorf("an unknown server: got %v, want ErrUnknown that names the flag", err)
	}
}

// TestInvalidToolLists checks invalid tool lists over gRPC.
func TestInvalidToolLists(t *testing.T) {
	for want, tools := range map[string][]*toolsv1.Tool{
		"it has no tools":           nil,
		"two tools are called note": {{Name: "note"}, {Name: "note"}},
		`tool "take note"`:          {{Name: "take note"}},
		"ids":                       {{Name: "note", Ids: 99}},
	} {
		_, err := newTestClient(t, (&scriptedServer{tools: tools}).serve(t), patience).List(t.Context(), "desk")
		if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrProtocol with %q", err, want)
		}
	}
}

// counterServer starts an MCP server over HTTP with a counter per session. restart ends its
// sessions.
func counterServer(t *testing.T) (target Target, restart func()) {
	t.Helper()
	type step struct {
		By int `json:"by"`
	}
	handler := func() http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
			s := mcp.NewServer(&mcp.Implementation{Name: "counter", Version: "1"}, nil)
			count := 0
			mcp.AddTool(s, &mcp.Tool{Name: "count-up", Description: "Counts."}, func(_ context.Context, _ *mcp.CallToolRequest, in step) (*mcp.CallToolResult, any, error) {
				if in.By < 0 {
					return nil, nil, errors.New("only upwards")
				}
				count += in.By
				return &mcp.CallToolResult{StructuredContent: map[string]any{"z": count, "a": true}}, nil, nil
			})
			s.AddTool(&mcp.Tool{Name: "say", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "one"}, &mcp.ImageContent{MIMEType: "image/png", Data: []byte("1234")}}}, nil
			})
			return s
		}, nil)
	}
	var mu sync.Mutex
	current := handler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := current
		mu.Unlock()
		now.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return Target{Address: web.URL}, func() {
		mu.Lock()
		defer mu.Unlock()
		current = handler()
	}
}

// TestMCP calls an MCP server over HTTP.
func TestMCP(t *testing.T) {
	target, _ := counterServer(t)
	c := newTestClient(t, target, patience)
	tools, err := c.List(t.Context(), "desk")
	if err != nil {
		t.Fatal(err)
	}
	if len(tools) != 2 || tools[0].GetName() != "count_up" || tools[0].GetServerName() != "count-up" ||
		!strings.Contains(tools[0].GetParametersJson(), `"by":{"type":"integer"}`) {
		t.Fatalf("tools: got %v, want count_up with its schema, and say", tools)
	}
	for _, want := range []struct{ arguments, body string }{
		{`{"by": 2}`, `{"value": {"a": true, "z": 2}}`},
		{`{"by": -1}`, `{"raised": {"type": "RuntimeError", "text": "only upwards"}}`},
		{`{"by": "x"}`, `"raised": {"type": "RuntimeError"`},
	} {
		if body, err := c.Call(t.Context(), newRequest(t, tools[0], want.arguments)); err != nil || !strings.Contains(body, want.body) {
			t.Errorf("%s: got %q and %v, want %q", want.arguments, body, err, want.body)
		}
	}
	if body, err := c.Call(t.Context(), newRequest(t, tools[1], `{}`)); err != nil || body != `{"value": "one\n[image/png, 4 bytes]"}` {
		t.Errorf("say: got %q and %v, want a text and what the image is", body, err)
	}
}

// TestState checks that the state of a restarted server is restored from the session's history,
// including that of a fork. A server whose answers depend on anything else is broken.
func TestState(t *testing.T) {
	target, restart := counterServer(t)
	c := newTestClient(t, target, patience)
	tool := &toolsv1.Tool{Name: "count_up", ServerName: "count-up"}
	var history []Exchange
	count := func(session string, history []Exchange, want string) Exchange {
		t.Helper()
		request := newRequest(t, tool, `{"by": 1}`)
		body, err := c.CallStateful(t.Context(), session, history, request)
		if err != nil || !strings.Contains(body, want) {
			t.Fatalf("session %s after %d calls: got %q and %v, want %s", session, len(history), body, err, want)
		}
		return Exchange{request, body}
	}
	history = append(history, count("a", history, `"z": 1}`))
	history = append(history, count("a", history, `"z": 2}`))
	count("b", nil, `"z": 1}`)
	count("fork of a", history[:1], `"z": 2}`)
	restart()
	history = append(history, count("a", history, `"z": 3}`))
	count("a", history[:2], `"z": 3}`) // without the third exchange
	other := []Exchange{{history[0].Request, `{"value": 0}`}}
	if _, err := c.CallStateful(t.Context(), "c", other, history[0].Request); !errors.Is(err, ErrProtocol) {
		t.Errorf("another history: got %v, want ErrProtocol", err)
	}
}

// TestManyStates uses more concurrent sessions than open connections. Each has its own state.
func TestManyStates(t *testing.T) {
	target, _ := counterServer(t)
	c := newTestClient(t, target, patience)
	tool := &toolsv1.Tool{Name: "count_up", ServerName: "count-up"}
	var wait sync.WaitGroup
	for n := range 3 * maxStates {
		request := newRequest(t, tool, fmt.Sprintf(`{"by": %d}`, n+1))
		wait.Go(func() {
			var history []Exchange
			for calls := range 3 {
				body, err := c.CallStateful(t.Context(), fmt.Sprint(n), history, request)
				if want := fmt.Sprintf(`"z": %d}`, (n+1)*(calls+1)); err != nil || !strings.Contains(body, want) {
					t.Errorf("session %d: got %q and %v, want %s", n, body, err, want)
					return
				}
				history = append(history, Exchange{request, body})
			}
		})
	}
	wait.Wait()
	if got := c.states.Len(); got != maxStates {
		t.Errorf("servers with a state: got %d, want %d", got, maxStates)
	}
}

// TestInvalidProgram checks programs that are not MCP servers.
func TestInvalidProgram(t *testing.T) {
	for want, command := range map[string][]string{
		"install it":              {"there-is-no-such-program"},
		"says: I am no server":    {"sh", "-c", "echo I am no server >&2; exit 3"},
		"sh says: no JSON at all": {"sh", "-c", "read line; echo no JSON at all"},
		"ended, or closed":        {"true"},
		"writes a line of more":   {"sh", "-c", "read line; head -c 100000000 /dev/zero | tr '\\0' x"},
		"no licence":              {"sh", "-c", `read line; echo '{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no licence"}}'; cat`},
		"more than 4096":          {"sh", "-c", `exec yes '{"jsonrpc": "2.0", "id": "a", "method": "ping"}'`},
	} {
		c := newTestClient(t, Target{Command: command}, patience)
		if _, err := c.List(t.Context(), "desk"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", command, err, want)
		}
	}
	for name, script := range map[string]string{
		"says nothing":          "cat > /dev/null",
		"ignores the end":       "trap '' TERM INT PIPE; while :; do read line; done",
		"floods standard error": "exec yes I complain >&2",
	} {
		c := newTestClient(t, Target{Command: []string{"sh", "-c", script}}, 300*time.Millisecond)
		if _, err := c.List(t.Context(), "desk"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a program that %s: got %v, want ErrUnavailable", name, err)
		}
	}
}

// TestProgramThatDoesNotRead sends more than the program reads. The call must time out and the
// program must end.
func TestProgramThatDoesNotRead(t *testing.T) {
	script := `read line; echo '{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "deaf", "version": "1"}}}'; exec sleep 1000`
	c := newTestClient(t, Target{Command: []string{"sh", "-c", script}}, 500*time.Millisecond)
	_, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "note"}, `{"text": "`+strings.Repeat("x", 1<<20)+`"}`))
	if !errors.Is(err, ErrUnavailable) {
		t.Errorf("a call that the server does not read: got %v, want ErrUnavailable", err)
	}
}

// TestInvalidMCPToolLists checks invalid tool lists over MCP.
func TestInvalidMCPToolLists(t *testing.T) {
	list := func(tools string) []string {
		initialized := `{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}}`
		return []string{"sh", "-c", `read line; echo "$1"; read line; read line; echo "{\"jsonrpc\": \"2.0\", \"id\": 2, \"result\": {\"tools\": [$2]}}"; cat`, "sh", initialized, tools}
	}
	const schema = `"inputSchema": {"type": "object"}`
	nested := strings.Repeat(`{"a":`, 11000) + "1" + strings.Repeat("}", 11000)
	for want, tools := range map[string]string{
		"does not match":              `{"name": "` + strings.Repeat("x", 10000) + `", ` + schema + `}`,
		"two tools are called a_b":    `{"name": "a-b", ` + schema + `}, {"name": "a_b", ` + schema + `}`,
		"it has 300 tools":            strings.TrimSuffix(strings.Repeat(`{"name": "a", `+schema+`},`, 300), ","),
		"it has no tools":             "null",
		"has no schema":               `{"name": "a"}`,
		"cannot unmarshal":            `{"name": 5, ` + schema + `}`,
		"exceeded max depth":          `{"name": "a", "inputSchema": ` + nested + `}`,
		"must be at most 16384 bytes": `{"name": "a", "description": "` + strings.Repeat("d", 20000) + `", ` + schema + `}`,
	} {
		if _, err := newTestClient(t, Target{Command: list(tools)}, patience).List(t.Context(), "desk"); !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.300v, want ErrProtocol with %q", err, want)
		}
	}
	recursive := `{"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"$ref": "#"}}}}`
	if tools, err := newTestClient(t, Target{Command: list(recursive)}, patience).List(t.Context(), "desk"); err != nil || len(tools) != 1 {
		t.Errorf("recursive schema: got %v and %v, want the tool", tools, err)
	}
}
