package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// TestLongAgentRaises runs agents whose own code raises exceptions. Each rollout scores 0, is
// requested once, and replays identically.
func TestLongAgentRaises(t *testing.T) { //nolint:tparallel // its subtests share a counter
	t.Parallel()
	var requests atomic.Int32
	raise := agent.Func(func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
		requests.Add(1)
		if c.Turn == 0 {
			return agent.Call("set_wifi_status", map[string]any{"on": false}), nil
		}
		return agent.Reply{}, &os.PathError{Op: "open", Path: "prompt", Err: errors.ErrUnsupported}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gateway := porttest.Address(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 2)
	go func() { served <- agent.ServeListener(ctx, listener, raise) }()
	go func() { served <- agent.Attach(ctx, gateway, "mine", raise) }()
	for name, flags := range map[string][]string{
		"dialled": {"--agent", "grpc://" + listener.Addr().String()}, "attached": {"--agent", "attached:mine", "--attach-listen", gateway},
	} {
		t.Run(name, func(t *testing.T) {
			requests.Store(0)
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{"run", "--out", out, "turn_off_wifi"}, flags...)
			toolsandbox(t, args...)
			for range 2 {
				got := scored(t, out).Scenarios[0]
				if got.Similarity != "0" || got.ExceptionType == nil || *got.ExceptionType != "fs.PathError" {
					t.Errorf("got %+v, want a score of 0 for an fs.PathError", got)
				}
				toolsandbox(t, append(args, "--resume")...)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("got %d turns of the agent, want 2", n)
			}
			replay(t, out)
		})
	}
	stop()
	for range 2 {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

func scored(t *testing.T, out string) (read resultfile.Summary) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(out, "result_summary.json"))
	if err == nil {
		err = json.Unmarshal(raw, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}
