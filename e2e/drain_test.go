package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// held blocks turns while its gate is closed, and counts them.
type held struct {
	*responseGate
	mu                       sync.Mutex
	asked, cancelled, inside int
}

func newHeld() *held { return &held{responseGate: newGate()} }

// pass waits until the gate is open. It returns false if ctx ends before.
func (h *held) pass(ctx context.Context) bool {
	h.mu.Lock()
	h.asked++
	h.inside++
	h.mu.Unlock()
	passed := h.responseGate.pass(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inside--
	if !passed {
		h.cancelled++
	}
	return passed
}

func (h *held) counts() (asked, cancelled, inside int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked, h.cancelled, h.inside
}

// waitInside waits until n turns are blocked.
func (h *held) waitInside(t *testing.T, n int) {
	t.Helper()
	eventually(t, fmt.Sprint(n, " turns are in flight"), func() bool { _, _, inside := h.counts(); return inside == n })
}

// terminate asks a process to end while turns are in flight, and lets only these pass a second
// later. The process has to wait for them.
func terminate(t *testing.T, services *cluster.Cluster, name string, turns *held) {
	t.Helper()
	if err := services.Signal(name, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	pause(time.Second)
	if services.Ended(name) {
		t.Errorf("%s: it ended with turns in flight", name)
	}
	turns.set(true)
	turns.set(false)
	if err := services.Wait(name); err != nil {
		t.Error(err)
	}
}

// TestOrchestratorDrains stops an orchestrator while a plug-in agent is in its turns. No turn is
// cancelled or asked for twice, and another orchestrator continues the rollouts.
func TestOrchestratorDrains(t *testing.T) {
	t.Parallel()
	const trials, parallel = 10, 4
	turns := newHeld()
	var once sync.Map
	plug := serveAgent(t, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		if !turns.pass(ctx) {
			return agent.Reply{}, ctx.Err()
		}
		if _, again := once.LoadOrStore(fmt.Sprint(c.ID, c.Turn), true); again {
			t.Errorf("turn %d of %s is asked for twice", c.Turn, c.ID)
		}
		return switchWifiOff(ctx, c)
	})
	services := startCluster(t, cluster.Config{TwoPlayers: true, Args: []string{"--grace", "1m"}})
	turns.set(false)
	out := filepath.Join(t.TempDir(), "out")
	run := startBackground(t, out, append([]string{
		"run", "--agent", plug, "--trials", strconv.Itoa(trials), "--parallel", strconv.Itoa(parallel), "--out", out, "turn_off_wifi", "is_cellular_on",
	}, services.ClientArgs()...))
	defer run.stop()
	turns.waitInside(t, 2*parallel) // at two orchestrators
	terminate(t, services, cluster.SecondOrchestrator, turns)
	turns.set(true)
	if <-run.done; run.err != nil {
		t.Fatalf("the run: %v\n%s", run.err, run.printed.String())
	}
	if asked, cancelled, _ := turns.counts(); cancelled != 0 {
		t.Errorf("cancelled turns: got %d of %d, want none", cancelled, asked)
	}
}

// modelRun is a run of a model over two gateways and two orchestrators.
type modelRun struct {
	*backgroundRun
	services *cluster.Cluster
	server   *chatServer
	turns    *held
	rollouts int
}

const modelParallel = 4

// startModelRun starts a run of a model that blocks in its first turns.
func startModelRun(t *testing.T, args ...string) *modelRun {
	t.Helper()
	const trials = 10
	r := &modelRun{server: startChatServer(t), turns: newHeld(), rollouts: 2 * trials}
	r.server.let = r.turns.pass
	r.services = startCluster(t, cluster.Config{TwoPlayers: true, Args: args})
	r.turns.set(false)
	out := filepath.Join(t.TempDir(), "out")
	r.backgroundRun = startBackground(t, out, append([]string{
		"run", "--probe=false", "--agent", "openai:m", "--base-url", r.server.URL, "--trials", strconv.Itoa(trials), "--parallel", strconv.Itoa(modelParallel),
		"--sweep-id", "drained", "--out", out, "turn_off_wifi", "is_cellular_on",
	}, r.services.ClientArgs()...))
	t.Cleanup(r.stop)
	return r
}

// finish waits for the end of the run and checks that each answer was asked for once.
func (r *modelRun) finish(t *testing.T) {
	t.Helper()
	if <-r.done; r.err != nil {
		t.Fatalf("the run: %v\n%s", r.err, r.printed.String())
	}
	client := orchestratorv1.NewOrchestratorServiceClient(dial(t, r.services.Address(cluster.Orchestrator)))
	answers, undelivered := recordedAnswers(t, client, "drained", r.rollouts)
	if asked, cancelled, _ := r.turns.counts(); asked != answers || cancelled != 0 || undelivered != 0 {
		t.Errorf("requests: got %d, %d of them cancelled, for %d answers, %d of them in no log, want one each", asked, cancelled, answers, undelivered)
	}
}

// TestLongGatewayDrains restarts two gateways one after the other, while both have turns of callers
// in flight, and the owner of the model's key those of the other. No turn is asked for twice.
func TestLongGatewayDrains(t *testing.T) {
	t.Parallel()
	r := startModelRun(t, "--grace", "1m")
	for _, name := range []string{cluster.AgentGateway, cluster.SecondAgentGateway} {
		r.turns.waitInside(t, 2*modelParallel)
		terminate(t, r.services, name, r.turns)
		if err := r.services.Start(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	r.turns.set(true)
	r.finish(t)
}

// TestLongNATSAwayInTurn stops NATS for longer than any request to it waits, while a model is in
// its turns. Its answers arrive meanwhile, and are recorded later.
func TestLongNATSAwayInTurn(t *testing.T) {
	t.Parallel()
	r := startModelRun(t)
	r.turns.waitInside(t, 2*modelParallel)
	if err := r.services.Kill(cluster.NATS); err != nil {
		t.Fatal(err)
	}
	r.turns.set(true)
	pause(35 * time.Second)
	if err := r.services.Start(t.Context(), cluster.NATS); err != nil {
		t.Fatal(err)
	}
	r.finish(t)
}

// TestLongHangingEndsWithGrace stops services while an agent never answers, and NATS is away.
func TestLongHangingEndsWithGrace(t *testing.T) {
	t.Parallel()
	const parallel, grace = 4, time.Second
	const most = 20 * time.Second // less than a request to NATS waits
	turns := newHeld()
	plug := serveAgent(t, func(ctx context.Context, _ *agent.Conversation) (agent.Reply, error) {
		turns.pass(ctx)
		return agent.Reply{}, ctx.Err()
	})
	services := startCluster(t, cluster.Config{Args: []string{"--grace", grace.String()}})
	turns.set(false)
	out := filepath.Join(t.TempDir(), "out")
	run := startBackground(t, out, append([]string{"run", "--agent", plug, "--trials", "8", "--parallel", strconv.Itoa(parallel), "--out", out, "turn_off_wifi"}, services.ClientArgs()...))
	defer run.stop()
	turns.waitInside(t, parallel)
	if err := services.Kill(cluster.NATS); err != nil {
		t.Fatal(err)
	}
	pause(time.Second) // consumers notice it
	start := time.Now()
	for _, name := range cluster.Services() {
		if err := services.Signal(name, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range cluster.Services() {
		eventually(t, name+" ends", func() bool { return services.Ended(name) })
		t.Logf("%s ended after %s", name, time.Since(start))
	}
	if took := time.Since(start); took > grace+most {
		t.Errorf("end: got %s after the signal, want at most %s", took, grace+most)
	}
	for _, name := range cluster.Services() {
		if err := services.Wait(name); err != nil {
			t.Error(err)
		}
	}
}

// TestInterruptedTurn interrupts a run in one process while an agent is in a turn that soon ends.
// The turn is kept: --resume does not ask for it again.
func TestInterruptedTurn(t *testing.T) {
	t.Parallel()
	turns := newHeld()
	turns.set(false)
	plug := serveAgent(t, func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
		if !turns.pass(ctx) {
			return agent.Reply{}, ctx.Err()
		}
		return switchWifiOff(ctx, c)
	})
	out := filepath.Join(t.TempDir(), "out")
	flags := []string{"run", "--agent", plug, "--out", out, "turn_off_wifi"}
	p := startTerminal(t, flags...)
	turns.waitInside(t, 1)
	socket := filepath.Join(out, ".toolsandbox", "control", "orchestrator.sock")
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the run is ending", func() bool {
		_, err := os.Stat(socket)
		return errors.Is(err, fs.ErrNotExist)
	})
	turns.set(true)
	if code, output := p.finish(t); code != 1 {
		t.Errorf("interrupted: got code %d and\n%s\nwant 1", code, output)
	}
	toolsandbox(t, append(flags, "--resume")...)
	if asked, cancelled, _ := turns.counts(); asked != 2 || cancelled != 0 {
		t.Errorf("turns: got %d, %d of them cancelled, want 2 and none", asked, cancelled)
	}
}
