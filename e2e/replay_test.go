package e2e_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/sdk/go/agent"
)

// chatServer is a chat completions server. Its n-th answer contains n, so that repeated requests
// are visible.
type chatServer struct {
	*httptest.Server
	asked atomic.Int32
	// status is the HTTP status of its answers, 0 for success.
	status int
	// let, if set, decides whether to answer a request. Requests without an answer are not counted.
	let func(ctx context.Context) bool

	mu    sync.Mutex
	conns map[string]http.ConnState // by the client's address
}

func startChatServer(t *testing.T) *chatServer {
	t.Helper()
	c := &chatServer{conns: make(map[string]http.ConnState)}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(t, w, r) }))
	c.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns[conn.RemoteAddr().String()] = state
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// waitDisconnected waits until the server has noticed that its only client is dead and has finished
// all requests, including unread ones.
func (c *chatServer) waitDisconnected(t *testing.T) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	own := conn.LocalAddr().String() // after it is accepted, all earlier ones are too
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nobody is connected to the provider", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, accepted := c.conns[own]
		for _, state := range c.conns {
			accepted = accepted && state == http.StateClosed
		}
		return accepted
	})
}

func (c *chatServer) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	if r.Method == http.MethodGet { // the probe asks what the server says about itself
		http.NotFound(w, r)
		return
	}
	var request struct {
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		t.Errorf("request to %s: %v", r.URL, err)
	}
	if c.let != nil && !c.let(r.Context()) {
		return
	}
	n := c.asked.Add(1)
	if c.status != 0 {
		http.Error(w, fmt.Sprintf(`{"error":{"message":"refused for the %d. time"}}`, n), c.status)
		return
	}
	last := request.Messages[len(request.Messages)-1].Role
	message := fmt.Sprintf(`"content":"Words %d."`, n)
	for _, tool := range request.Tools {
		switch name := tool.Function.Name; {
		case name == "end_conversation" && len(request.Messages) > 5, name == "set_wifi_status" && last == "user":
			arguments := `{}`
			if name == "set_wifi_status" {
				arguments = `{\"on\": false}`
			}
			message = fmt.Sprintf(`"content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":%q,"arguments":"%s"}}]`, n, name, arguments)
		}
	}
	_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant",%s}}],"usage":{"prompt_tokens":%d,"completion_tokens":2}}`, message, n)
}

// replay replays a run and compares the files.
func replay(t *testing.T, run string, args ...string) (again string) {
	t.Helper()
	again = filepath.Join(t.TempDir(), "again")
	toolsandbox(t, append([]string{"run", "--replay", run, "--out", again}, args...)...)
	equalRuns(t, run, again)
	return again
}

// TestReplayModels runs both roles with models, in one process and with four, stops their server,
// and replays the runs both ways. The files are equal, and no request is sent.
func TestReplayModels(t *testing.T) {
	t.Parallel()
	services := start(t)
	for name, place := range map[string][]string{"one": nil, "four": services.ClientArgs()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startChatServer(t)
			out := filepath.Join(t.TempDir(), "out")
			toolsandbox(t, append([]string{
				"run", "--probe=false", "--agent", "openai:m", "--user", "openai:n", "--base-url", server.URL + "/v1", "--trials", "2", "--out", out,
				"turn_off_wifi", "is_cellular_on",
			}, place...)...)
			server.Close()
			requests := server.asked.Load()
			if lines := exchanges(t, out); lines != int(requests) || requests == 0 {
				t.Errorf("exchanges: got %d lines, want %d, one a request", lines, requests)
			}
			if err := os.RemoveAll(filepath.Join(out, ".toolsandbox", "nats")); err != nil { // a replay needs no data of the services
				t.Fatal(err)
			}
			again := replay(t, out)
			replay(t, again, services.ClientArgs()...)
			replay(t, out, services.ClientArgs()...) // with the next id
			if got := server.asked.Load(); got != requests {
				t.Errorf("requests of replays: got %d, want none", got-requests)
			}
			printed := toolsandbox(t, "session", "exchanges", firstRollout(t, again), "--out", again)
			if !strings.Contains(printed, `"path":"/chat/completions"`) || strings.Contains(printed, serviceKey) {
				t.Errorf("session exchanges: got\n%s\nwant lines without the key", printed)
			}
		})
	}
}

// firstRollout returns the id of the first rollout of a run.
func firstRollout(t *testing.T, run string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(run, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		SweepID string `json:"sweep_id"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		t.Fatal(err)
	}
	return stored.SweepID + ".0"
}

// exchanges counts the lines of all exchanges of a run. Each is a JSON object.
func exchanges(t *testing.T, run string) (lines int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(run, "trajectories", "*", "exchanges.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var exchange struct {
				Request  struct{ Model string }
				Attempts []struct{ Status int }
			}
			if err := json.Unmarshal([]byte(line), &exchange); err != nil || exchange.Request.Model == "" || len(exchange.Attempts) != 1 || exchange.Attempts[0].Status != 200 {
				t.Errorf("%s: got %s (%v), want a request to a model and one try that succeeded", file, line, err)
			}
			lines++
		}
	}
	return lines
}

// TestReplayPlugin replays a run of a stopped plug-in.
func TestReplayPlugin(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	var requests atomic.Int32
	go func() {
		served <- agent.ServeListener(ctx, listener, agent.Func(func(_ context.Context, c *agent.Conversation) (agent.Reply, error) {
			n := requests.Add(1)
			if c.Turn == 0 {
				return agent.Call("set_wifi_status", map[string]any{"on": n%2 == 0}), nil
			}
			return agent.Say(fmt.Sprintf("Answer %d.", n)), nil
		}))
	}()
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--agent", "grpc://"+listener.Addr().String(), "--trials", "3", "--out", out, "turn_off_wifi")
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	replay(t, out)
	if got := exchanges(t, out); got != 0 {
		t.Errorf("exchanges: got %d, want none: no model played", got)
	}
}

// TestReplayServices replays a run without its hosted services.
func TestReplayServices(t *testing.T) {
	server, requests := startServices(t)
	t.Setenv("RAPID_API_KEY", serviceKey)
	t.Setenv("TOOLSANDBOX_TOOLHOST_SERVICE_URL", server.URL)
	for _, services := range []string{"live", "record"} {
		out := filepath.Join(t.TempDir(), services)
		toolsandbox(t, "run", "--agent", "oracle", "--services", services, "--pack", writePack(t, exchange), "--out", out)
		before := requests.Load()
		replay(t, replay(t, out))
		if got := requests.Load(); got != before || got == 0 {
			t.Errorf("%s: requests: got %d before and %d after, want some and no more", services, before, got)
		}
	}
}

// TestReplayFailure replays a run whose provider rejected requests. The failures are equal, and no
// request is sent.
func TestReplayFailure(t *testing.T) {
	t.Parallel()
	server := startChatServer(t)
	server.status = http.StatusUnauthorized
	out, again := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "again")
	const want = "2 of 2 rollouts have no score because a service, a provider or a player failed"
	wantFailure(t, want, "run", "--agent", "openai:m", "--base-url", server.URL, "--out", out, "turn_off_wifi", "is_cellular_on")
	requests := server.asked.Load()
	wantFailure(t, want, "run", "--replay", out, "--out", again)
	equalRuns(t, out, again)
	if got := server.asked.Load(); got != requests {
		t.Errorf("requests: got %d, want %d", got, requests)
	}
}

// wantFailure runs the command line and expects exit code 1 and a text.
func wantFailure(t *testing.T, want string, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), want) {
		t.Errorf("toolsandbox %s: got %v and\n%s\nwant a failure with %q", strings.Join(args, " "), err, out, want)
	}
}

// TestReplayMissing removes the last reply of a recording, then all of it. The rollout fails with
// the missing index, and no request is sent. Without a recording no rollout starts.
func TestReplayMissing(t *testing.T) {
	t.Parallel()
	server := startChatServer(t)
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--probe=false", "--agent", "openai:m", "--base-url", server.URL, "--out", out, "turn_off_wifi")
	requests := server.asked.Load()
	file := filepath.Join(out, ".toolsandbox", "recording", "0")
	before := fileDigest(t, file)
	index := dropReply(t, file)
	replaceIn(t, filepath.Join(out, "run.json"), before, fileDigest(t, file))
	again := filepath.Join(t.TempDir(), "again")
	wantFailure(t, "1 of 1 rollouts have no score", "run", "--replay", out, "--out", again, "--sweep-id", "night")
	summary, err := os.ReadFile(filepath.Join(again, "result_summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("replay: nothing is recorded for message %d of rollout night.0", index); !strings.Contains(string(summary), want) {
		t.Errorf("summary: got\n%s\nwant %q in it", summary, want)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	wantFailure(t, "1 rollouts of the run in "+out+" have no recording, among them one of turn_off_wifi: complete it",
		"run", "--replay", out, "--out", filepath.Join(t.TempDir(), "third"))
	if got := server.asked.Load(); got != requests {
		t.Errorf("requests: got %d, want %d", got, requests)
	}
}

// fileDigest returns the hex digest of a file.
func fileDigest(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))
}

// dropReply removes the last reply of a rollout's recording and returns its index.
func dropReply(t *testing.T, path string) (index int32) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var items []*orchestratorv1.RecordedItem
	last := -1
	for in := bufio.NewReader(file); ; {
		item := &orchestratorv1.RecordedItem{}
		if err := protodelim.UnmarshalFrom(in, item); err != nil {
			break
		}
		if item.GetTurn().GetReply() != nil {
			last = len(items)
		}
		items = append(items, item)
	}
	if last < 0 {
		t.Fatalf("%s: got no reply, want some", path)
	}
	var kept strings.Builder
	for i, item := range items {
		if i == last {
			continue
		}
		if _, err := protodelim.MarshalTo(&kept, item); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte(kept.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return items[last].GetIndex()
}

// TestReplayOfChangedRecording changes a reply of a recording, its specification, and the digest of
// the first conversation, which stands for another version of the program.
func TestReplayOfChangedRecording(t *testing.T) {
	t.Parallel()
	server := startChatServer(t)
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--probe=false", "--agent", "openai:m", "--base-url", server.URL, "--out", out, "turn_off_wifi")
	for _, change := range []struct{ file, old, new, want string }{
		{".toolsandbox/recording/0", "Words", "Sword", "recording/0 is damaged: its SHA-256 is "},
		{".toolsandbox/recording/specification", "wifi", "wify", "recording/specification is damaged: its SHA-256 is "},
		{"run.json", `"execution_context_sha256": "`, `"execution_context_sha256": "0`, "different: turn_off_wifi: its messages or its world differ\n"},
	} {
		edited := filepath.Join(t.TempDir(), "edited")
		if err := os.CopyFS(edited, os.DirFS(out)); err != nil {
			t.Fatal(err)
		}
		replaceIn(t, filepath.Join(edited, change.file), change.old, change.new)
		wantFailure(t, change.want, "run", "--replay", edited, "--out", filepath.Join(t.TempDir(), "again"))
	}
}

// TestRecordingStays loses the replies and exchanges in the streams after a run has ended. Resuming
// it keeps their files.
func TestRecordingStays(t *testing.T) {
	t.Parallel()
	server := startChatServer(t)
	out, calm := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "calm")
	flags := []string{"run", "--probe=false", "--agent", "openai:m", "--base-url", server.URL, "--out", out, "turn_off_wifi"}
	toolsandbox(t, flags...)
	if err := os.CopyFS(calm, os.DirFS(out)); err != nil {
		t.Fatal(err)
	}
	if err := removeAll(filepath.Dir(blocksOf(storesOf(out), "RECORDING"))); err != nil {
		t.Fatal(err)
	}
	requests := server.asked.Load()
	toolsandbox(t, append(flags, "--resume")...)
	equalRuns(t, calm, out)
	replay(t, out)
	if got := server.asked.Load(); got != requests {
		t.Errorf("requests after the run: got %d, want none", got-requests)
	}
}

// replaceIn replaces a text in a file, which must have it.
func replaceIn(t *testing.T, path, old, replacement string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(raw), old, replacement)
	if changed == string(raw) {
		t.Fatalf("%s: no %q to change", path, old)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}
