package e2e_test

import (
	"context"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// TestPluginAnswersRecords runs records of EuroEval's task with a plug-in. It sees the question,
// and the functions as tools, but not the answers. Its texts count as no call, which is correct if
// no function fits.
func TestPluginAnswersRecords(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	var mu sync.Mutex
	var seen []*agent.Conversation
	go func() {
		served <- agent.ServeListener(ctx, listener, agent.Func(func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
			mu.Lock()
			seen = append(seen, c)
			mu.Unlock()
			if strings.Contains(c.Last().Text, "Oechsle") {
				return agent.Call(c.Tools[0].Name, map[string]any{"oechsle": 92}), nil
			}
			return agent.Say("I cannot do that."), nil
		}))
	}()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	out := filepath.Join(t.TempDir(), "out")
	printed := toolsandbox(t, "run", "--pack", "euroeval", "--agent", "grpc://"+listener.Addr().String(), "--out", out, "simple_de_1", "simple_de_2", "irrelevance_de_1")
	for _, want := range []string{`simple_de_1 +correct +correct`, `simple_de_2 +count +count`, `irrelevance_de_1 +correct +correct`} {
		if !regexp.MustCompile(want).MatchString(printed) {
			t.Errorf("table: got\n%s\nwant %s", printed, want)
		}
	}
	if len(seen) != 3 {
		t.Fatalf("got %d conversations, want 3", len(seen))
	}
	for _, c := range seen {
		if len(c.Messages) != 1 || len(c.Tools) == 0 || strings.Contains(c.Last().Text, "tool_calls") {
			t.Errorf("got %d messages, %d tools and %q, want the question and the functions", len(c.Messages), len(c.Tools), c.Last().Text)
		}
	}
}
