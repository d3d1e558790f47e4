package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// countingServer is a chat completions server that counts requests. It answers those that its quota
// admits.
type countingServer struct {
	*httptest.Server
	quota
	asked atomic.Int64
}

func startCountingServer(t *testing.T) *countingServer {
	t.Helper()
	c := &countingServer{}
	c.set(unlimited)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.asked.Add(1)
		if !c.pass(r.Context()) {
			return
		}
		slow := time.NewTimer(20 * time.Millisecond)
		defer slow.Stop()
		select {
		case <-slow.C:
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"Words."}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`)
	}))
	t.Cleanup(c.Close)
	return c
}

// sweepFlags returns the flags that direct sweep commands to a cluster.
func sweepFlags(services *cluster.Cluster) []string {
	return []string{"--remote", "--orchestrator-addr", services.Address(cluster.Orchestrator)}
}

// TestLongInterruptedRemoteRunIsCancelled interrupts a remote run. It prints that the sweep
// continues and how to cancel it. After that command no further request reaches the provider. The
// command is idempotent, and the run can be resumed.
func TestLongInterruptedRemoteRunIsCancelled(t *testing.T) {
	t.Parallel()
	const limit = "TOOLSANDBOX_AGENTGW_LIMIT=default=concurrency:4" // most turns wait for the limiter
	services, server := start(t, "OPENAI_API_KEY="+serviceKey, limit), startCountingServer(t)
	out := filepath.Join(t.TempDir(), "out")
	flags := []string{
		"run", "--probe=false", "--agent", "openai:m", "--user", "openai:n", "--base-url", server.URL + "/v1", "--trials", "30", "--parallel", "16",
		"--sweep-id", "night", "--out", out, "turn_off_wifi", "is_cellular_on",
	}
	server.set(2 * halfPlayed) // of 960
	run := startRemote(t, services, flags...)
	if !run.progress() {
		t.Fatalf("the run ended at once\n%s", run.printed.String())
	}
	if err := run.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := run.wait(); err == nil {
		t.Error("the interrupted run: got nil, want an error")
	}
	_, stop, ok := strings.Cut(run.printed.String(), " of 60 rollouts done, and sweep night continues: stop it with toolsandbox ")
	stop, resume, found := strings.Cut(stop, ", or fetch it with ")
	if !ok || !found || strings.TrimSpace(resume) != "--out "+out+" --resume" {
		t.Fatalf("stderr: got\n%s\nwant how to stop the sweep and how to go on", run.printed.String())
	}
	from := server.asked.Load()
	server.set(halfPlayed)
	eventually(t, "the sweep is played on", func() bool { return server.asked.Load() > from+10 })
	command := strings.Fields(stop)
	for range 2 {
		if output := toolsandbox(t, command...); !strings.HasPrefix(output, "sweep night is cancelled: ") {
			t.Errorf("%s: got %q, want that the sweep is cancelled", stop, output)
		}
	}
	server.set(unlimited)
	// Requests in flight complete, then all rollouts end without further requests.
	eventually(t, "all rollouts have ended", func() bool { return len(resultsOf(t, services, "night")) == 60 })
	requests := server.asked.Load()
	quiet := time.NewTimer(5 * time.Second)
	defer quiet.Stop()
	<-quiet.C
	if got := server.asked.Load(); got != requests {
		t.Errorf("requests after the end: got %d more, want none", got-requests)
	}
	if state := statesOf(t, services)["night"]; state.State != "cancelled" || state.Total != 60 || !slices.Equal(state.Agents, []string{"openai:m"}) {
		t.Errorf("the cancelled sweep: got %+v, want it cancelled", state)
	}
	toolsandbox(t, append(append(flags, "--resume"), services.ClientArgs()...)...)
	if state := statesOf(t, services)["night"]; state.State != "done" || state.Done != 60 {
		t.Errorf("the sweep that went on: got %+v, want it done", state)
	}
	if output, want := toolsandbox(t, command...), "sweep night has ended: all 60 rollouts have a result, nothing is left to cancel\n"; output != want {
		t.Errorf("cancel after the end: got %q, want %q", output, want)
	}
	if state := statesOf(t, services)["night"]; state.State != "done" {
		t.Errorf("a sweep that was cancelled after its end: got %+v, want it done", state)
	}
}

// TestLongCancelledSweep cancels a sweep that a run and a watch follow. Both exit with 3, and the
// list counts the rollouts that ended by themselves. The resumed run exits with 0.
func TestLongCancelledSweep(t *testing.T) {
	t.Parallel()
	services, server := start(t, "OPENAI_API_KEY="+serviceKey), startCountingServer(t)
	flags := append([]string{
		"run", "--probe=false", "--agent", "openai:m", "--user", "openai:n", "--base-url", server.URL + "/v1", "--trials", "15", "--parallel", "4",
		"--sweep-id", "night", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi", "is_cellular_on",
	}, services.ClientArgs()...)
	server.set(halfPlayed)
	run, watch := make(chan int, 1), make(chan int, 1)
	go func() { run <- exitCodeOf(t, flags...) }()
	eventually(t, "some rollouts have ended", func() bool { return statesOf(t, services)["night"].Done >= 2 })
	go func() {
		watch <- exitCodeOf(t, append([]string{"sweep", "watch", "night"}, sweepFlags(services)...)...)
	}()
	toolsandbox(t, append([]string{"sweep", "cancel", "night"}, sweepFlags(services)...)...)
	server.set(unlimited)
	if got := <-run; got != 3 {
		t.Errorf("exit code of the run: got %d, want 3", got)
	}
	if got := <-watch; got != 3 {
		t.Errorf("exit code of the watch: got %d, want 3", got)
	}
	var ends []string
	eventually(t, "all rollouts have ended", func() bool {
		ends = resultsOf(t, services, "night")
		return len(ends) == 30
	})
	own := len(slices.DeleteFunc(ends, func(end string) bool { return end == "cancelled" }))
	if state := statesOf(t, services)["night"]; state.State != "cancelled" || state.Done != own || own < 2 || own == 30 {
		t.Errorf("list: got %+v, want it cancelled with the %d rollouts that ended by themselves", state, own)
	}
	output := toolsandbox(t, append([]string{"sweep", "cancel", "night"}, sweepFlags(services)...)...)
	if want := fmt.Sprintf("sweep night is cancelled: %d of 30 rollouts have a result", own); !strings.HasPrefix(output, want) {
		t.Errorf("cancel again: got %q, want %q", output, want)
	}
	if got := exitCodeOf(t, append(flags, "--resume")...); got != 0 {
		t.Errorf("exit code of the resumed run: got %d, want 0", got)
	}
	if state := statesOf(t, services)["night"]; state.State != "done" || state.Done != 30 {
		t.Errorf("list after the resumed run: got %+v, want it done with 30", state)
	}
}

// exitCodeOf runs a command and returns its exit code.
func exitCodeOf(t *testing.T, args ...string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Errorf("toolsandbox %s: %v", strings.Join(args, " "), err)
		return -1
	}
	return cmd.ProcessState.ExitCode()
}

// resultsOf returns how the rollouts of a sweep ended that have a result.
func resultsOf(t *testing.T, services *cluster.Cluster, id string) (ends []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append([]string{"sweep", "watch", id, "--json"}, sweepFlags(services)...)...)
	output, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(output)) {
		var result struct{ End string }
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		ends = append(ends, result.End)
	}
	return ends
}

type sweepState struct {
	ID, State   string
	Done, Total int
	Agents      []string
}

// statesOf lists the sweeps of a cluster.
func statesOf(t *testing.T, services *cluster.Cluster) map[string]sweepState {
	t.Helper()
	var list []sweepState
	if err := json.Unmarshal([]byte(toolsandbox(t, append([]string{"sweep", "list", "--json"}, sweepFlags(services)...)...)), &list); err != nil {
		t.Fatal(err)
	}
	states := make(map[string]sweepState)
	for _, s := range list {
		states[s.ID] = s
	}
	return states
}

// TestSweepCommands lists sweeps, watches one twice, and checks the error for an unknown one.
func TestSweepCommands(t *testing.T) {
	t.Parallel()
	services := start(t)
	at := sweepFlags(services)
	if output := toolsandbox(t, append([]string{"sweep", "list"}, at...)...); !strings.Contains(output, "sweep") {
		t.Errorf("an empty list: got %q, want its head", output)
	}
	run := startRemote(t, services, "run", "--agent", "random", "--trials", "3", "--parallel", "2", "--sweep-id", "night", "--out", filepath.Join(t.TempDir(), "out"),
		"--scenarios", "wifi_*,turn_*,add_*")
	if !run.progress() {
		t.Fatalf("the run ended at once\n%s", run.printed.String())
	}
	watched := make(chan string, 2)
	for range 2 {
		go func() {
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append([]string{"sweep", "watch", "night", "--json"}, at...)...)
			output, err := cmd.Output()
			if err != nil {
				t.Errorf("watch: %v", err)
			}
			watched <- string(output)
		}()
	}
	run.succeed(t)
	total := statesOf(t, services)["night"].Total
	for range 2 {
		rollouts := make(map[string]bool)
		lines := strings.Split(strings.TrimSpace(<-watched), "\n")
		for _, line := range lines {
			var result struct{ Rollout string }
			if err := json.Unmarshal([]byte(line), &result); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			rollouts[result.Rollout] = true
		}
		if len(lines) != total || len(rollouts) != total {
			t.Errorf("results of a watch: got %d of %d rollouts, want %d, each once", len(lines), len(rollouts), total)
		}
	}
	if output := toolsandbox(t, append([]string{"sweep", "watch", "night"}, at...)...); !strings.HasPrefix(output, "sweep night has ended: "+strconv.Itoa(total)+" rollouts, ") {
		t.Errorf("watch after the end: got %q, want that it has ended", output)
	}
	if output := toolsandbox(t, append([]string{"sweep", "list"}, at...)...); !strings.Contains(strings.Join(strings.Fields(output), " "), fmt.Sprintf("night done %d/%d random scripted ", total, total)) {
		t.Errorf("list: got\n%s\nwant that the sweep is done", output)
	}
	scores := slices.Concat(at, []string{"--evaluator-addr", services.Address(cluster.Evaluator)})
	if output := toolsandbox(t, append([]string{"sweep", "watch", "night", "--rollout", "0", "--json"}, scores...)...); !strings.HasPrefix(output, `{"rollout":"night.0",`) ||
		!strings.HasSuffix(output, `"final":true}`+"\n") {
		t.Errorf("watch of a rollout after its end: got %q, want its final score", output)
	}
	wantFailure(t, "--rollout: night.999 has not started or does not exist", append([]string{"sweep", "watch", "night", "--rollout", "999"}, scores...)...)
	for _, verb := range []string{"watch", "cancel"} {
		wantFailure(t, `ID: there is no sweep "nigth": did you mean "night"?`, append([]string{"sweep", verb, "nigth"}, at...)...)
		wantFailure(t, `ID: there is no sweep "other": see toolsandbox sweep list`, append([]string{"sweep", verb, "other"}, at...)...)
		wantFailure(t, `ID: "a b" given, expected 1 to 100 characters of [A-Za-z0-9_-]`, append([]string{"sweep", verb, "a b"}, at...)...)
		wantFailure(t, `ID: missing`, append([]string{"sweep", verb}, at...)...)
	}
	wantFailure(t, "--remote: false given, expected true", "sweep", "list", "--remote=false")
	wantFailure(t, "orchestrator at 127.0.0.1:1 cannot be reached", "sweep", "list", "--orchestrator-addr", "127.0.0.1:1", "--remote-wait", "200ms")
}
