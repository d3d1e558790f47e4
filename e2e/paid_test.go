package e2e_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// responseGate blocks callers while it is closed.
type responseGate struct {
	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
}

func newGate() *responseGate {
	g := &responseGate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *responseGate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !open {
		g.open = make(chan struct{})
		return
	}
	close(g.open)
}

// pass waits until the gate is open. It returns false if ctx ends before.
func (g *responseGate) pass(ctx context.Context) bool {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// quota admits a number of requests and blocks the rest.
type quota struct {
	mu           sync.Mutex
	left, passed int
	changed      chan struct{} // closed when the quota changes
}

func (r *quota) set(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = n
	if r.changed != nil {
		close(r.changed)
	}
	r.changed = make(chan struct{})
}

// count returns the number of admitted requests. It is constant while the quota is 0.
func (r *quota) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.passed
}

// rest returns the number of requests that it still admits.
func (r *quota) rest() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left
}

// pass waits for quota. It returns false if ctx ends before.
func (r *quota) pass(ctx context.Context) bool {
	for {
		r.mu.Lock()
		changed, passes := r.changed, r.left > 0 && ctx.Err() == nil
		if passes {
			r.left--
			r.passed++
		}
		r.mu.Unlock()
		if passes {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// serveGated starts a proxy for an address until the test ends. Responses pass only while the gate
// is open, and are lost if the other side dies.
func serveGated(t *testing.T, target string, g *responseGate) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { carryGated(ctx, client, target, g) })
		}
	})
	t.Cleanup(func() {
		stop()
		_ = listener.Close()
		group.Wait()
	})
	return listener.Addr().String()
}

// carryGated proxies one connection until either side ends.
func carryGated(ctx context.Context, client net.Conn, target string, g *responseGate) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { _ = client.Close() })
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	var group sync.WaitGroup
	group.Go(func() {
		defer stop()
		_, _ = io.Copy(server, client) // only its end matters
	})
	chunks := make(chan []byte, 1024)
	group.Go(func() {
		defer stop()
		for {
			chunk := make([]byte, 32<<10)
			n, err := server.Read(chunk)
			if err != nil {
				return
			}
			select {
			case chunks <- chunk[:n]:
			case <-ctx.Done():
				return
			}
		}
	})
	group.Go(func() {
		for {
			select {
			case chunk := <-chunks:
				if !g.pass(ctx) {
					return
				}
				if _, err := client.Write(chunk); err != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	group.Wait()
}

// recordedAnswers counts the recorded answers by (rollout, index), and those of them that are not
// in the rollout's log.
func recordedAnswers(t *testing.T, client orchestratorv1.OrchestratorServiceClient, sweep string, rollouts int) (all, undelivered int) {
	t.Helper()
	for n := range rollouts {
		id := sweep + "." + strconv.Itoa(n)
		stream, err := client.GetRecording(t.Context(), &orchestratorv1.GetRecordingRequest{RolloutId: id})
		seen := make(map[int32]bool)
		for err == nil {
			var response *orchestratorv1.GetRecordingResponse
			if response, err = stream.Recv(); err != nil {
				break
			}
			tries := response.GetItem().GetTurn().GetExchange().GetAttempts()
			if n := len(tries); n > 0 && tries[n-1].GetFailure() == "" {
				seen[response.GetItem().GetIndex()] = true
			}
		}
		if status.Code(err) == codes.NotFound { // not started
			continue
		}
		if !errors.Is(err, io.EOF) {
			t.Fatalf("recording of %s: %v", id, err)
		}
		trajectory, err := client.GetTrajectory(t.Context(), &orchestratorv1.GetTrajectoryRequest{RolloutId: id})
		if err != nil {
			t.Fatalf("log of %s: %v", id, err)
		}
		for index := range seen {
			all++
			if int(index) >= len(trajectory.GetMessages()) {
				undelivered++
			}
		}
	}
	return all, undelivered
}

// waitTimeout is the timeout of every wait for an expected event.
const waitTimeout = 3 * time.Minute

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit, ticker := time.NewTimer(waitTimeout), time.NewTicker(20*time.Millisecond)
	defer limit.Stop()
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			t.Fatalf("%s passed before: %s", waitTimeout, what)
		}
	}
}

// TestPaidOnce kills the gateway several times under load while it has paid but undelivered
// answers. Every (rollout, message index) is requested once. The provider's quota between kills
// keeps the run from ending early.
func TestPaidOnce(t *testing.T) {
	t.Parallel()
	const trials, kills, few, atStake = 20, 3, 10, 8
	server, delivery, provider := startChatServer(t), newGate(), &quota{}
	provider.set(0)
	server.let = provider.pass
	services := startCluster(t, cluster.Config{Route: func(from, to, address string) (string, error) {
		if from == cluster.Orchestrator && to == cluster.AgentGateway {
			return serveGated(t, address, delivery), nil
		}
		return address, nil
	}})
	client := orchestratorv1.NewOrchestratorServiceClient(dial(t, services.Address(cluster.Orchestrator)))
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append([]string{
		"run", "--probe=false", "--agent", "openai:m", "--user", "openai:n", "--base-url", server.URL, "--trials", strconv.Itoa(trials), "--parallel", "16",
		"--sweep-id", "paid", "--out", out, "turn_off_wifi", "is_cellular_on",
	}, services.ClientArgs()...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	recorded := func() (all, undelivered int) { return recordedAnswers(t, client, "paid", 2*trials) }
	for range kills {
		from := provider.count()
		provider.set(few)
		eventually(t, "the gateway is there", func() bool { return provider.count() > from })
		delivery.set(false)
		provider.set(unlimited)
		eventually(t, "answers are paid for and not delivered", func() bool { _, n := recorded(); return n >= atStake })
		provider.set(0)
		eventually(t, "all that was paid for is recorded", func() bool { n, _ := recorded(); return n == provider.count() })
		if err := services.Kill(cluster.AgentGateway); err != nil {
			t.Fatal(err)
		}
		server.waitDisconnected(t) // otherwise dead clients could use the next quota
		delivery.set(true)
		if err := services.Start(t.Context(), cluster.AgentGateway); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d requests before the last restart", provider.count())
	provider.set(unlimited)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the run: %v", err)
	}
	all, undelivered := recorded()
	if got := int(server.asked.Load()); got != all || undelivered != 0 {
		t.Errorf("paid requests: got %d for %d answers, %d of them in no log, want one each and all in logs", got, all, undelivered)
	}
	if got := exchanges(t, out); got != int(server.asked.Load()) {
		t.Errorf("exchanges: got %d, want %d", got, server.asked.Load())
	}
	replay(t, out)
}
