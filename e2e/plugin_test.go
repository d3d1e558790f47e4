package e2e_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// TestPluginAgent dials an SDK agent over TCP.
func TestPluginAgent(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- agent.ServeListener(ctx, listener, agent.Func(switchWifiOff)) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	out := filepath.Join(t.TempDir(), "out")
	printed := toolsandbox(t, "run", "--agent", "grpc://"+listener.Addr().String(), "--out", out, "turn_off_wifi", "is_cellular_on")
	for _, want := range []string{"turn_off_wifi", "is_cellular_on", "ALL_CATEGORIES"} {
		if !strings.Contains(printed, want) {
			t.Errorf("table: got\n%s\nwant a line with %s", printed, want)
		}
	}
	if !strings.Contains(strings.ReplaceAll(printed, "  ", ""), "2/2") {
		t.Errorf("table: got\n%s\nwant both milestones of turn_off_wifi reached", printed)
	}
}

func switchWifiOff(_ context.Context, conversation *agent.Conversation) (agent.Reply, error) {
	if conversation.Turn == 0 {
		return agent.Call("set_wifi_status", map[string]any{"on": false}), nil
	}
	return agent.Say("Wifi is off now."), nil
}
