package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/compare"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// unreliableModel is a chat completions server whose answers depend only on the conversation. After
// some requests it rejects requests or hangs.
type unreliableModel struct {
	*httptest.Server
	answered atomic.Int64
	// left is the number of requests to answer before rejecting the rest.
	left atomic.Int64
	// hangs, if not nil, makes it hang instead of rejecting, until the channel over is closed.
	hangs atomic.Pointer[hangState]
}

// hangState tracks one hang: its first request arrived, its client disconnected, and the hang
// ended.
type hangState struct{ reached, left, over chan struct{} }

const unlimited = 1 << 30

func startUnreliableModel(t *testing.T) *unreliableModel {
	t.Helper()
	m := &unreliableModel{}
	m.left.Store(unlimited)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(t, w, r) }))
	t.Cleanup(m.Close)
	return m
}

// hang makes the server answer n more requests and hang on the next one.
func (m *unreliableModel) hang(n int64) *hangState {
	h := &hangState{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	m.left.Store(n)
	m.hangs.Store(h)
	return h
}

// end answers hanging and later requests.
func (m *unreliableModel) end(h *hangState) {
	m.left.Store(unlimited)
	m.hangs.Store(nil)
	close(h.over)
}

func (m *unreliableModel) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	var request struct {
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		t.Errorf("request to %s: %v", r.URL, err)
	}
	if remaining := m.left.Add(-1); remaining < 0 {
		h := m.hangs.Load()
		if h == nil {
			http.Error(w, `{"error":{"message":"the key is wrong"}}`, http.StatusUnauthorized)
			return
		}
		if remaining == -1 {
			close(h.reached)
		}
		select {
		case <-h.over:
		case <-r.Context().Done():
			if remaining == -1 {
				close(h.left)
			}
			return
		}
	}
	m.answered.Add(1)
	n := len(request.Messages)
	message := fmt.Sprintf(`"content":"Words %d."`, n)
	for _, tool := range request.Tools {
		switch name := tool.Function.Name; {
		case name == "end_conversation" && n > 5:
			message = fmt.Sprintf(`"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":"{}"}}]`, n, name)
		case name == "set_wifi_status" && request.Messages[n-1].Role == "user":
			message = fmt.Sprintf(`"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":"{\"on\": false}"}}]`, n, name)
		}
	}
	_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant",%s}}],"usage":{"prompt_tokens":%d,"completion_tokens":2}}`, message, n)
}

// equalResults compares the result files of two runs without the exchanges, which differ after
// rejected requests.
func equalResults(t *testing.T, want, got string) {
	t.Helper()
	differences, err := compare.Runs(want, got)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range differences {
		if !strings.Contains(difference, "exchanges.jsonl") {
			t.Error(difference)
		}
	}
}

// TestLongResumeFailed resumes rollouts that a provider failed, several times and with a kill.
// Every paid reply is used, and the final files equal those of an undisturbed run.
func TestLongResumeFailed(t *testing.T) { //nolint:tparallel // its subtests share a model
	t.Parallel()
	services := start(t)
	server := startUnreliableModel(t)
	flags := []string{
		"run", "--probe=false", "--agent", "openai:m", "--user", "openai:n", "--base-url", server.URL + "/v1", "--trials", "3", "--parallel", "1",
		"turn_off_wifi", "is_cellular_on",
	}
	baseline := filepath.Join(t.TempDir(), "calm")
	toolsandbox(t, append(flags, "--out", baseline)...)
	paid := server.answered.Swap(0)
	if paid < 24 {
		t.Fatalf("requests of the calm run: got %d, want at least 24", paid)
	}
	for name, place := range map[string][]string{"one": nil, "four": services.ClientArgs()} {
		t.Run(name, func(t *testing.T) {
			server.answered.Store(0)
			out := filepath.Join(t.TempDir(), "out")
			args := append(append(flags, "--out", out), place...)
			again := slices.Concat(args, []string{"--resume"})
			mend := ": see the table, fix the cause, and --out " + out + " --resume plays them again"
			server.left.Store(7) // a rollout and a half
			wantFailure(t, "5 of 6 rollouts have no score because a service, a provider or a player failed"+mend, args...)
			wantFailure(t, "5 of 6 rollouts have no score because a service, a provider or a player failed"+mend, again...)
			if got := server.answered.Load(); got != 7 {
				t.Errorf("answers after a round in vain: got %d, want 7", got)
			}
			server.left.Store(5)
			wantFailure(t, "rollouts have no score because a service, a provider or a player failed"+mend, again...)
			killWhenHanging(t, server, 3, place == nil, again...)
			toolsandbox(t, again...)
			equalResults(t, baseline, out)
			if got := server.answered.Load(); got != paid {
				t.Errorf("answers: got %d, want %d as in the calm run", got, paid)
			}
			toolsandbox(t, again...) // all rollouts have a score
			equalResults(t, baseline, replay(t, out))
			if got := server.answered.Load(); got != paid {
				t.Errorf("answers after the replay: got %d, want %d", got, paid)
			}
		})
	}
}

// killWhenHanging runs the command line and kills it when the server hangs after n more answers. If
// the command line itself sends the hanging request, it is cancelled; otherwise services continue
// and the request is answered.
func killWhenHanging(t *testing.T, server *unreliableModel, n int64, asks bool, args ...string) {
	t.Helper()
	hang := server.hang(n)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-hang.reached:
	case err := <-ended:
		t.Fatalf("the run ended before it could be killed: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the killed run: got nil, want an error")
	}
	if asks {
		<-hang.left // the server sees it later than the kernel
	}
	server.end(hang)
}

// TestResumePlugin resumes rollouts whose agent ended them.
func TestResumePlugin(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	var ill atomic.Bool
	go func() {
		served <- agent.ServeListener(ctx, listener, agent.Func(func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
			switch {
			case c.Turn == 0:
				return agent.Call("set_wifi_status", map[string]any{"on": false}), nil
			case ill.Load():
				return agent.Reply{}, status.Error(codes.Aborted, "its model is away")
			}
			return agent.Say("It is off."), nil
		}))
	}()
	flags := []string{"run", "--agent", "grpc://" + listener.Addr().String(), "--trials", "2", "turn_off_wifi", "--out"}
	baseline, out := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "out")
	toolsandbox(t, append(flags, baseline)...)
	ill.Store(true)
	wantFailure(t, "2 of 2 rollouts have no score because a service, a provider or a player failed", append(flags, out)...)
	ill.Store(false)
	toolsandbox(t, append(flags, out, "--resume")...)
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	equalRuns(t, baseline, out)
	replay(t, out)
}

// TestResumeCancelled cancels a run, which prints how to resume it, and resumes it.
func TestResumeCancelled(t *testing.T) {
	t.Parallel()
	services := start(t)
	server := startUnreliableModel(t)
	flags := []string{"run", "--probe=false", "--agent", "openai:m", "--base-url", server.URL + "/v1", "--trials", "4", "--parallel", "2", "turn_off_wifi", "--out"}
	baseline, out := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "out")
	toolsandbox(t, append(flags, baseline)...)
	args := append(append(flags, out, "--sweep-id", "night"), services.ClientArgs()...)
	hang := server.hang(3)
	var output strings.Builder
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	cmd.Stderr = &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-hang.reached:
	case err := <-ended:
		t.Fatalf("the run ended before it could be cancelled: %v\n%s", err, output.String())
	}
	cancel(t, services, "night")
	err := <-ended
	server.end(hang) // afterwards, because rollouts could end before the cancellation
	if err == nil || !strings.Contains(output.String(), "the sweep was cancelled with ") ||
		!strings.Contains(output.String(), " of 4 rollouts scored: --out "+out+" --resume plays the others") {
		t.Errorf("the cancelled run: got %v and\n%s\nwant a failure that says how it goes on", err, output.String())
	}
	toolsandbox(t, append(args, "--resume")...)
	equalResults(t, baseline, out)
}

func cancel(t *testing.T, services *cluster.Cluster, sweepID string) {
	t.Helper()
	conn, err := grpc.NewClient(services.Address(cluster.Orchestrator), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = orchestratorv1.NewOrchestratorServiceClient(conn).CancelSweep(t.Context(), &orchestratorv1.CancelSweepRequest{SweepId: sweepID})
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
}
