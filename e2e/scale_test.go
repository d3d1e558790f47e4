package e2e_test

import (
	"context"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// scaled are the phases of a run whose tool hosts come and go. Some conversations wait for each
// phase in one of their turns, so that their sessions live under every set of tool hosts. The
// others are the load.
type scaled struct {
	phases []chan struct{} // closed when the phase begins
	calls  atomic.Int64
}

const (
	scaledTurns = 10 // tool calls of a conversation
	scaledPause = 20 * time.Millisecond
)

func (s *scaled) act(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
	s.calls.Add(1)
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(c.ID))
	pause(scaledPause)
	if phase := c.Turn/2 - 1; hash.Sum32()%8 == 0 && c.Turn%2 == 0 && phase >= 0 && phase < len(s.phases) {
		select {
		case <-s.phases[phase]:
		case <-ctx.Done():
			return agent.Reply{}, ctx.Err()
		}
	}
	if c.Turn < scaledTurns {
		return agent.Call("set_wifi_status", map[string]any{"on": c.Turn%2 == 0}), nil
	}
	return agent.Say("Wifi is off now."), nil
}

// TestLongScaledToolHosts scales the tool hosts from two to three to one while a sweep runs: one is
// started, one is drained and one killed. Then the drained one returns with its older copies of the
// sessions. Every rollout has a score, and every file equals that of an undisturbed run in one
// process.
func TestLongScaledToolHosts(t *testing.T) {
	t.Parallel()
	const trials, parallel = 80, 48
	s := &scaled{}
	plug := serveAgent(t, s.act)
	flags := []string{"run", "--agent", plug, "--trials", strconv.Itoa(trials), "--parallel", strconv.Itoa(parallel), "turn_off_wifi", "is_cellular_on", "--out"}
	baseline, disturbed := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, baseline)...)
	for range 4 {
		s.phases = append(s.phases, make(chan struct{}))
	}
	s.calls.Store(0)
	services := startCluster(t, cluster.Config{MoreToolHosts: []string{cluster.SecondToolHost}, LaterToolHosts: []string{cluster.ThirdToolHost}})
	run := startBackground(t, disturbed, append(append(flags, disturbed), services.ClientArgs()...))
	t.Cleanup(run.stop)
	for phase, change := range []func() error{
		func() error { return services.Start(t.Context(), cluster.ThirdToolHost) },
		func() error {
			return errors.Join(services.Signal(cluster.ToolHost, syscall.SIGTERM), services.Wait(cluster.ToolHost))
		},
		func() error {
			err := services.Kill(cluster.SecondToolHost)
			eventually(t, "one tool host is left", func() bool { return liveToolHosts(t, services.Address(cluster.ThirdToolHost)) == 1 })
			return err
		},
		func() error { return services.Start(t.Context(), cluster.ToolHost) },
	} {
		enough := s.calls.Load() + 4*parallel
		eventually(t, "the sweep runs", func() bool { return s.calls.Load() >= enough || run.over() })
		if run.over() {
			t.Fatalf("the run ended in phase %d: %v\n%s", phase, run.err, run.printed.String())
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		close(s.phases[phase])
	}
	if <-run.done; run.err != nil {
		t.Fatalf("the run: %v\n%s", run.err, run.printed.String())
	}
	equalRuns(t, baseline, disturbed)
	checkScaled(t, services, disturbed, 2*trials)
}

// checkScaled checks that every rollout of a run has an end of its own, that sessions moved, and
// that those of all tool hosts can be read at the live ones.
func checkScaled(t *testing.T, services *cluster.Cluster, out string, rollouts int) {
	t.Helper()
	record, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Rollouts) != rollouts {
		t.Errorf("rollouts: got %d, want %d", len(record.Rollouts), rollouts)
	}
	for _, rollout := range record.Rollouts {
		if rollout.End == "infrastructure" || rollout.End == "" {
			t.Errorf("end of %s: got %q, want one of its own", rollout.Name, rollout.End)
		}
	}
	log, err := os.ReadFile(services.Log(cluster.Orchestrator))
	if err != nil {
		t.Fatal(err)
	}
	if moved := strings.Count(string(log), "session restored"); moved < 10 {
		t.Errorf("sessions that moved during a rollout: got %d, want many", moved)
	}
	tools := []string{"--remote", "--toolhost-addr", services.Address(cluster.ThirdToolHost)}
	if listed := toolsandbox(t, append([]string{"session", "list"}, tools...)...); !strings.Contains(listed, "turn_off_wifi") {
		t.Errorf("sessions: got %q, want those of the sweep", listed)
	}
	tools = append(tools, "--orchestrator-addr", services.Address(cluster.Orchestrator))
	for _, rollout := range record.Rollouts[:8] { // also those of the tool host that was killed
		toolsandbox(t, append([]string{"session", "show", rollout.ID}, tools...)...)
	}
}

// liveToolHosts returns how many live tool hosts one of them knows.
func liveToolHosts(t *testing.T, address string) int {
	t.Helper()
	response, err := toolhostv1.NewToolHostServiceClient(dial(t, address)).ListHosts(t.Context(), &toolhostv1.ListHostsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return len(response.GetAddresses())
}
