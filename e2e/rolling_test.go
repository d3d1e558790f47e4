package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

const (
	rollingTrials   = 120
	rollingParallel = 8
	rollingCalls    = 4 // of a conversation, before its text
	// rollingTurn is the time of a turn while processes are replaced, rollingLongTurn that of every
	// eighth conversation.
	rollingTurn, rollingLongTurn = 250 * time.Millisecond, 1500 * time.Millisecond
)

// paced is an agent, as a plug-in and as a model, that counts how often each turn is asked for.
type paced struct {
	slow atomic.Bool // turns take their time

	mu        sync.Mutex
	asked     map[string]int // by turn
	cancelled []string
}

func newPaced() *paced { return &paced{asked: make(map[string]int)} }

// take counts a turn and takes its time. It returns false if ctx ends before.
func (p *paced) take(ctx context.Context, conversation string, turn int) bool {
	name := fmt.Sprintf("%s turn %d", conversation, turn)
	p.mu.Lock()
	p.asked[name]++
	p.mu.Unlock()
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(conversation))
	length := rollingTurn
	if hash.Sum32()%8 == 0 {
		length = rollingLongTurn
	}
	if p.slow.Load() {
		timer := time.NewTimer(length)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			p.cancelled = append(p.cancelled, name)
			return false
		}
	}
	return true
}

// Act implements agent.Agent.
func (p *paced) Act(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
	if !p.take(ctx, c.ID, c.Turn) {
		return agent.Reply{}, ctx.Err()
	}
	if c.Turn < rollingCalls {
		return agent.Call("set_wifi_status", map[string]any{"on": c.Turn%2 == 0}), nil
	}
	return agent.Say("Wifi is off now."), nil
}

// ServeHTTP answers a chat completion. Text and seed of its request name the conversation.
func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Seed     int64
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	conversation, turn := strconv.FormatInt(request.Seed, 10), 0
	for _, message := range request.Messages {
		switch message.Role {
		case "user":
			conversation += " " + message.Content
		case "assistant":
			turn++
		}
	}
	if !p.take(r.Context(), conversation, turn) {
		return
	}
	message := `"content":"Wifi is off now."`
	if turn < rollingCalls {
		message = fmt.Sprintf(`"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"set_wifi_status","arguments":"{\"on\": %t}"}}]`, turn, turn%2 == 0)
	}
	_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant",%s}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, message)
}

// check checks that each turn was asked for once and none cancelled.
func (p *paced) check(t *testing.T, name string, turns int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for turn, n := range p.asked {
		if n != 1 {
			t.Errorf("%s: %s: asked %d times, want once", name, turn, n)
		}
	}
	if len(p.asked) != turns || len(p.cancelled) != 0 {
		t.Errorf("%s: got %d turns, of them cancelled: %v, want %d and none", name, len(p.asked), p.cancelled, turns)
	}
}

// rolledRun is one of the runs during a rolling restart.
type rolledRun struct {
	*backgroundRun
	agent *paced
	calm  string // directory of the undisturbed run
}

// TestLongRollingRestart replaces NATS and both processes of each service, one after the other,
// while a model and a plug-in play over them. No turn is cancelled or asked for twice, no rollout
// ends without a score, and all files equal those of undisturbed runs in one process.
func TestLongRollingRestart(t *testing.T) {
	t.Parallel()
	// The lease outlasts the restart of NATS on a busy machine. Beyond it another orchestrator may ask
	// the plug-in for a turn in flight.
	services := startCluster(t, cluster.Config{Replicated: true, Args: []string{"--grace", "1m"}, Env: []string{"TOOLSANDBOX_ORCHESTRATOR_LEASE=30s"}})
	model, plug := newPaced(), newPaced()
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	runs := map[string]*rolledRun{
		"model":   startRolled(t, services, model, "--agent", "openai:m", "--model-seed", "0", "--base-url", server.URL, "--probe=false"),
		"plug-in": startRolled(t, services, plug, "--agent", serveAgent(t, plug.Act)),
	}
	for _, process := range []string{
		cluster.AgentGateway, cluster.Orchestrator, cluster.ToolHost, cluster.Evaluator, cluster.NATS,
		cluster.SecondAgentGateway, cluster.SecondOrchestrator, cluster.SecondToolHost, cluster.SecondEvaluator,
	} {
		started := time.Now()
		if err := services.Replace(t.Context(), process); err != nil {
			t.Error(err)
		}
		t.Logf("%s: replaced after %s", process, time.Since(started))
		for name, run := range runs {
			if run.over() {
				t.Fatalf("%s: the run ended before %s was replaced: %v\n%s", name, process, run.err, run.printed.String())
			}
		}
	}
	for name, run := range runs {
		run.agent.slow.Store(false)
		if <-run.done; run.err != nil {
			t.Errorf("%s: %v\n%s", name, run.err, run.printed.String())
			continue
		}
		run.agent.check(t, name, 2*rollingTrials*(rollingCalls+1))
		equalRuns(t, run.calm, run.out)
		record, err := results.ReadRun(run.out)
		if err != nil {
			t.Fatal(err)
		}
		for _, rollout := range record.Rollouts {
			if rollout.End == "infrastructure" || rollout.End == "cancelled" {
				t.Errorf("%s: end of %s: got %q, want one of its own", name, rollout.Name, rollout.End)
			}
		}
	}
}

// startRolled plays a run undisturbed, and begins it over services.
func startRolled(t *testing.T, services *cluster.Cluster, plays *paced, player ...string) *rolledRun {
	t.Helper()
	r := &rolledRun{agent: plays, calm: filepath.Join(t.TempDir(), "calm")}
	flags := append(slices.Clip(player), "--trials", strconv.Itoa(rollingTrials), "turn_off_wifi", "is_cellular_on", "--out")
	toolsandbox(t, append(append([]string{"run"}, flags...), r.calm)...)
	plays.mu.Lock()
	plays.asked = make(map[string]int)
	plays.mu.Unlock()
	plays.slow.Store(true)
	out := filepath.Join(t.TempDir(), "rolled")
	r.backgroundRun = startBackground(t, out, append(append(append([]string{"run", "--parallel", strconv.Itoa(rollingParallel)}, flags...), out), services.ClientArgs()...))
	t.Cleanup(r.stop)
	return r
}
