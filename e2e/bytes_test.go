package e2e_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// TestHugeAgents runs agents that exceed the conversation limit in each possible way. All score 0,
// and the table shows the reason.
func TestHugeAgents(t *testing.T) {
	t.Parallel()
	call := func(name string, bytes, calls int) agent.Func {
		return func(context.Context, *agent.Conversation) (agent.Reply, error) {
			var all []agent.ToolCall
			for range calls {
				one, err := agent.NewToolCall(name, map[string]any{"x": strings.Repeat("x", bytes)})
				if err != nil {
					return agent.Reply{}, err
				}
				all = append(all, one)
			}
			return agent.Calls(all...), nil
		}
	}
	for name, test := range map[string]struct {
		act  agent.Func
		want string
	}{
		"400 KB of arguments a turn": {call("set_wifi_status", 400<<10, 1), "ConversationTooLarge"},
		"600 KB of text": {func(context.Context, *agent.Conversation) (agent.Reply, error) {
			return agent.Say(strings.Repeat("x", 600<<10)), nil
		}, "ValueError"},
		"10,000 calls at once": {call("set_wifi_status", 1, 10000), "ValueError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- agent.ServeListener(ctx, listener, test.act) }()
			defer func() {
				stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			out := filepath.Join(t.TempDir(), "out")
			toolsandbox(t, "run", "--agent", "grpc://"+listener.Addr().String(), "--out", out, "--max-rollout-bytes", "1000000", "turn_off_wifi")
			raw, err := os.ReadFile(filepath.Join(out, "result_summary.json"))
			if err != nil {
				t.Fatal(err)
			}
			var summary struct {
				Results []struct {
					Similarity float64 `json:"similarity"`
					Exception  *string `json:"exception_type"`
				} `json:"per_scenario_results"`
			}
			if err := json.Unmarshal(raw, &summary); err != nil {
				t.Fatal(err)
			}
			if len(summary.Results) != 1 || summary.Results[0].Similarity != 0 || summary.Results[0].Exception == nil || *summary.Results[0].Exception != test.want {
				t.Errorf("summary: got %s\nwant one result of 0 with %s", raw, test.want)
			}
		})
	}
}
