package toolserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// environmentServer is the argument that makes the test program a server for serveEnvironment.
const environmentServer = "telling-server"

// serveEnvironment serves tools that return the environment: as text, as data, in errors and on
// standard error.
func serveEnvironment(ctx context.Context) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "telling", Version: "1"}, nil)
	everything := strings.Join(os.Environ(), "\n")
	add := func(name string, answer func() (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: os.Getenv("DESK_KEY"), InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answer()
		})
	}
	add("names", func() (*mcp.CallToolResult, error) {
		var names []string
		for _, variable := range os.Environ() {
			name, _, _ := strings.Cut(variable, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		return &mcp.CallToolResult{StructuredContent: names}, nil
	})
	add("words", func() (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: everything}}}, nil
	})
	add("data", func() (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]any{"everything": everything}}, nil
	})
	add("refusal", func() (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: everything}
	})
	add("defect", func() (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: everything}
	})
	add("exit", func() (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "I give up with", os.Getenv("DESK_KEY"))
		os.Exit(1)
		return nil, nil
	})
	return s.Run(ctx, &mcp.StdioTransport{})
}

// TestEnvironment checks that a server gets only the named and the inherited variables, and that no
// output contains their secret values.
func TestEnvironment(t *testing.T) {
	const key, short = `k-"8<71\c2/ü`, "kiel"
	t.Setenv("DESK_KEY", key)
	t.Setenv("DESK_CITY", short)
	t.Setenv("OTHER_KEY", "other-8271c2")
	target, err := ParseTarget("stdio+DESK_KEY,DESK_CITY:" + fmt.Sprintf("[%q, %q]", os.Args[0], environmentServer))
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	c := NewClient(Config{
		Targets: Targets{"desk": target}, Timeout: patience, Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	outputs := []string{(&Targets{"desk": target}).String()}
	tools, err := c.List(t.Context(), "desk")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		outputs = append(outputs, tool.String())
	}
	want := []string{"DESK_KEY", "DESK_CITY"}
	for _, name := range inheritedVariables() {
		if _, ok := os.LookupEnv(name); ok {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	body, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: "names"}, "{}"))
	if diff := cmp.Diff(`{"value": ["`+strings.Join(want, `", "`)+`"]}`, body); err != nil || diff != "" {
		t.Errorf("variables of the server: %v (-want +got):\n%s", err, diff)
	}
	for _, name := range []string{"words", "data", "refusal"} {
		body, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: name}, "{}"))
		if err != nil || !strings.Contains(body, "DESK_KEY="+redacted) || !strings.Contains(body, "DESK_CITY="+short) {
			t.Errorf("%s: got %q and %v, want DESK_KEY redacted, and DESK_CITY, whose value is short", name, body, err)
		}
		outputs = append(outputs, body)
	}
	for _, name := range []string{"defect", "exit"} {
		_, err := c.Call(t.Context(), newRequest(t, &toolsv1.Tool{Name: name}, "{}"))
		if err == nil || !strings.Contains(err.Error(), redacted) {
			t.Errorf("%s: got %v, want an error with what the server says, redacted", name, err)
		}
		outputs = append(outputs, fmt.Sprint(err))
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, text := range append(outputs, logged.String()) {
		if strings.Contains(text, "8<71") || strings.Contains(text, `8\u003c71`) || strings.Contains(text, "8271c2") {
			t.Errorf("got a secret value in %s", text)
		}
	}
}

// TestMissingVariable checks that a server does not start without its variables.
func TestMissingVariable(t *testing.T) {
	target, err := ParseTarget("stdio+DESK_KEY:true")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DESK_KEY", "")
	const want = "the environment variable DESK_KEY is missing; set it"
	if err := target.CheckEnvironment(); err == nil || err.Error() != want {
		t.Errorf("check: got %v, want %s", err, want)
	}
	if _, err := newTestClient(t, target, patience).List(t.Context(), "desk"); !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), want) {
		t.Errorf("start: got %v, want ErrProtocol with %s", err, want)
	}
	for _, text := range []string{"stdio+:true", "stdio+A B:true", "stdio+A=1:true", "stdios:true", "stdio"} {
		if target, err := ParseTarget(text); err == nil {
			t.Errorf("%s: got %+v, want an error", text, target)
		}
	}
}
