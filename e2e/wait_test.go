package e2e_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// TestLongServicesMissing runs a sweep without services and waits for them. It soon reports the
// missing service, its address and the remaining time.
func TestLongServicesMissing(t *testing.T) {
	t.Parallel()
	evaluator := porttest.Address(t)
	p := startTerminal(t, "run", "--agent", "oracle", "--remote", "--remote-wait", "10m", "--evaluator-addr", evaluator, "--orchestrator-addr", porttest.Address(t),
		"--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
	p.readUntil(t, `msg="waiting for service" peer=evaluator address=`+evaluator+` reason="no connection; giving up in `)
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code, output := p.finish(t); code != 1 || !strings.HasSuffix(output, "toolsandbox: interrupted before the first rollout\n") {
		t.Errorf("interrupted: got code %d and\n%s\nwant 1, and that nothing was played", code, output)
	}
}

// TestAgentMissing runs an agent that starts late. The run reports the wait and continues.
func TestAgentMissing(t *testing.T) {
	t.Parallel()
	address := porttest.Address(t)
	p := startTerminal(t, "run", "--agent", "grpc://"+address, "--wait", "5m", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
	p.readUntil(t, "connection refused: start it or correct its address; waiting for up to 5m0s\n")
	listener, err := net.Listen("tcp", address)
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
	if code, output := p.finish(t); code != 0 || !strings.Contains(output, "1/1 rollouts") {
		t.Errorf("got code %d and\n%s\nwant 0, after the agent has come", code, output)
	}
}

// TestInterruptWhileWaiting interrupts a run that waits for its agent. Nothing can be resumed, and
// the next run can use the same directory.
func TestInterruptWhileWaiting(t *testing.T) {
	t.Parallel()
	address, out := porttest.Address(t), filepath.Join(t.TempDir(), "out")
	p := startTerminal(t, "run", "--agent", "grpc://"+address, "--wait", "1h", "--out", out, "turn_off_wifi")
	p.readUntil(t, "waiting for up to 1h0m0s\n")
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code, output := p.finish(t); code != 1 || !strings.HasSuffix(output, "toolsandbox: interrupted before the first rollout\n") {
		t.Errorf("interrupted: got code %d and\n%s\nwant 1, and that nothing was played", code, output)
	}
	toolsandbox(t, "run", "--agent", "oracle", "--out", out, "turn_off_wifi")
}
