package e2e_test

import (
	"context"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// checkTraceparent checks that a traceparent names the span of a turn.
func checkTraceparent(t *testing.T, parent string, spans []recorded) {
	t.Helper()
	if ok, _ := regexp.MatchString("^00-[0-9a-f]{32}-[0-9a-f]{16}-01$", parent); !ok {
		t.Errorf("the agent got traceparent %q, want one of the W3C", parent)
	}
	id := strings.Split(parent+"-----", "-")
	if !slices.ContainsFunc(spans, func(s recorded) bool {
		return hex.EncodeToString(s.span.GetSpanId()) == id[2] && strings.HasPrefix(s.span.GetName(), "invoke_agent")
	}) {
		t.Errorf("traceparent %q names no span of a turn", parent)
	}
}

// TestProofsAreTraced proves a scenario. Each of its rollouts has a whole trace.
func TestProofsAreTraced(t *testing.T) {
	t.Parallel()
	r, endpoint := receive(t)
	toolsandbox(t, "scenario", "prove", "turn_off_wifi", "--otlp-endpoint", endpoint)
	if roots := checkTraces(t, r.sent()); len(roots) < 10 {
		t.Errorf("roots: got %d, want one of each rollout", len(roots))
	}
}

// TestTracedAttachedAgent attaches an agent, whose turns share one stream. Each has the traceparent
// of its turn.
func TestTracedAttachedAgent(t *testing.T) {
	t.Parallel()
	r, endpoint := receive(t)
	address, parents := porttest.Address(t), make(chan string, 10)
	attach(t, address, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		parents <- c.Traceparent
		return switchWifiOff(ctx, c)
	})
	toolsandbox(t, "run", "--agent", "attached:mine", "--attach-listen", address, "--otlp-endpoint", endpoint, "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
	close(parents)
	seen := make(map[string]bool)
	for parent := range parents {
		seen[parent] = true
		checkTraceparent(t, parent, r.sent())
	}
	if len(seen) < 2 {
		t.Errorf("traceparents: got %v, want one of each turn", seen)
	}
}
