package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// chatHandler is a chat completions server. Its agent turns wifi off, and its user ends the
// conversation.
func chatHandler(t *testing.T) http.HandlerFunc {
	t.Helper()
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet { // the probe asks what the server says about itself
			http.NotFound(w, r)
			return
		}
		var request struct {
			Messages []struct{ Role string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("request to %s: %v", r.URL, err)
			return
		}
		call := ""
		for _, tool := range request.Tools {
			switch {
			case tool.Function.Name == "end_conversation":
				call = `{"id":"call_1","type":"function","function":{"name":"end_conversation","arguments":"{}"}}`
			case tool.Function.Name == "set_wifi_status" && request.Messages[len(request.Messages)-1].Role == "user":
				call = `{"id":"call_1","type":"function","function":{"name":"set_wifi_status","arguments":"{\"on\": false}"}}`
			}
		}
		const usage = `"usage":{"prompt_tokens":1000,"completion_tokens":100}`
		answer := `{"choices":[{"message":{"role":"assistant","content":"Wifi is off."}}],` + usage + `}`
		if call != "" {
			answer = `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[` + call + `]}}],` + usage + `}`
		}
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}
}

// TestRunModel runs a scenario with a model and a user simulator on one server.
func TestRunModel(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(chatHandler(t))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	code := Main([]string{
		"run", "--agent", "openai:m", "--user", "GPT_4_o_2024_05_13", "--base-url", server.URL + "/v1", "--scenarios", "turn_off_wifi", "--out", out,
	}, &stdout, &stderr)
	if code != 0 {
		t.Fatalf("got code %d, want 0:\n%s%s", code, &stdout, &stderr)
	}
	conversation, err := os.ReadFile(filepath.Join(out, "trajectories", "turn_off_wifi", "conversation.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"set_wifi_status", "Wifi is off."} {
		if !strings.Contains(string(conversation), want) {
			t.Errorf("conversation: got no %q in %s", want, conversation)
		}
	}
	run, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	if u := run.Rollouts[0].Usage; *u.Agent.InputTokens != 2000 || *u.User.CostUSD != 0.0065 {
		t.Errorf("%s: got usage %+v and %+v, want 2000 tokens for two turns of the agent, and $0.0065 for one of the user", results.RunFile, u.Agent, u.User)
	}
	const want = "models: 3,000 tokens in, 300 out, about $0.0065 if the price table is right, without openai:m (no price)"
	if !strings.Contains(stdout.String(), want) {
		t.Errorf("got %s, want %q", &stdout, want)
	}
}

// TestRunModelFault runs two scenarios. The provider rejects the requests of one with its key in
// the error text. The other one has a score, and no file contains the key.
func TestRunModelFault(t *testing.T) {
	const key = "sk-very-secret"
	t.Setenv("OPENAI_API_KEY", key)
	answer := chatHandler(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(string(body), "set_wifi_status") {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"bad key `+key+`"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer(w, r)
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	code := Main([]string{
		"run", "--agent", "openai:m", "--base-url", server.URL + "/v1", "--scenarios", "turn_off_wifi,add_plumber", "--out", out,
	}, &stdout, &stderr)
	if code == 0 || !strings.Contains(stdout.String(), "not scored: openai, m: HTTP 401: bad key [key]") || !strings.Contains(stderr.String(), "1 of 2 rollouts have no score") {
		t.Errorf("got code %d, want an error, one refused rollout and one with its score:\n%s%s", code, &stdout, &stderr)
	}
	files := map[string]string{"stdout": stdout.String(), "stderr": stderr.String()}
	err := filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files[path] = string(raw)
		return err
	})
	if err != nil || len(files) < 5 {
		t.Fatalf("got %d files and %v, want those of the run", len(files), err)
	}
	for name, text := range files {
		if strings.Contains(text, key) {
			t.Errorf("%s holds the key", name)
		}
	}
}

func TestModelFlagErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--agent", "oracle", "--base-url", "http://h"}, "--base-url: given, but neither --agent nor --user is a model"},
		{[]string{"--agent", "openai:m", "--base-url", "h"}, `--base-url: base URL "h": expected http://, https:// or h2c://`},
		{[]string{"--agent", "openai:m", "--user-base-url", "http://h"}, `--user-base-url: base URL "http://h": player "scripted" is no model`},
		{[]string{"--agent", "oracle", "--temperature", "1"}, "--temperature: given, but --agent is not a model"},
		{[]string{"--agent", "openai:m", "--temperature", "3"}, "--temperature: 3 given, expected 0 to 2"},
		{[]string{"--agent", "openai:m", "--max-tokens", "-1"}, "--max-tokens: -1 given, expected 1 or more"},
		{[]string{"--agent", "oracle", "--model-timeout", "5m"}, "--model-timeout: given, but neither --agent nor --user is a model"},
		{[]string{"--agent", "openai:m", "--model-timeout", "999ms"}, "--model-timeout: 999ms given, expected 1s to 1h0m0s"},
		{[]string{"--agent", "openai:m", "--model-timeout", "0"}, "--model-timeout: 0s given, expected 1s to 1h0m0s"},
		{[]string{"--agent", "openai:m", "--model-timeout", "61m"}, "--model-timeout: 1h1m0s given, expected 1s to 1h0m0s"},
		{[]string{"--agent", "openai:m", "--orchestrator-respond-timeout", "0s"}, "--orchestrator-respond-timeout: 0s given, expected more than 0"},
		{[]string{"--agent", "oracle", "--reasoning-effort", "low"}, `--reasoning-effort: given, but player "oracle" is no model`},
		{[]string{"--agent", "openai:m", "--user-thinking-budget", "5"}, `--user-thinking-budget: given, but player "scripted" is no model`},
		{[]string{"--agent", "openai:m", "--reasoning-effort", "much"}, `--reasoning-effort: "much" given, expected one of none, minimal, low, medium, high, xhigh`},
		{[]string{"--agent", "openai:m", "--thinking-budget", "5"}, `--thinking-budget: given, but player "openai:m" takes none; expected --reasoning-effort`},
		{[]string{"--agent", "openai:m", "--reasoning-effort", "low", "--temperature", "1"}, `--temperature: given together with reasoning, which "openai:m" refuses`},
		{[]string{"--agent", "cohere:m", "--reasoning-effort", "low"}, `--reasoning-effort: given, but player "cohere:m" takes none; expected --thinking-budget`},
		{[]string{"--agent", "anthropic:m", "--reasoning-effort", "none"}, `--reasoning-effort: "none" given, expected one of low, medium, high, xhigh, max`},
		{[]string{"--agent", "anthropic:m", "--thinking-budget", "100"}, "--thinking-budget: 100 given, expected at least 1024 tokens"},
		{[]string{"--agent", "anthropic:m", "--thinking-budget", "2000", "--max-tokens", "2000"}, "--max-tokens: 2000 given, expected more than the 2000 tokens"},
		{[]string{"--agent", "google:m", "--thinking-budget", "2000", "--reasoning-effort", "low"}, "both given, expected one of them"},
		{[]string{"--agent", "cohere:m", "--thinking-budget", "-1"}, "--thinking-budget: -1 given, expected 1 or more tokens"},
	} {
		var stdout, stderr bytes.Buffer
		if code := Main(append([]string{"run"}, test.args...), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("run %v: got code %d, %s, want 2 and %q", test.args, code, &stderr, test.want)
		}
	}
}

// TestRunSampling plays two trials of a model with stop sequences and a seed. Each trial samples
// with a seed of its own, and run.json records both.
func TestRunSampling(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seeds, plain := make(map[float64]int), 0
	chat := chatHandler(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var request struct {
			Seed *float64
			Stop []string
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		mu.Lock()
		if request.Seed == nil {
			plain++
		} else {
			seeds[*request.Seed]++
		}
		mu.Unlock()
		if (request.Seed == nil) != (len(request.Stop) == 0) {
			t.Errorf("got %s, want a seed with stop sequences", body)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		chat(w, r)
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	args := []string{
		"run", "--agent", "openai:m", "--user", "openai:u", "--base-url", server.URL + "/v1", "--scenarios", "turn_off_wifi", "--out", out,
		"--probe=false", "--trials", "2", "--model-seed", "41", "--stop", "a,b", "--stop", "c",
	}
	if code := Main(args, &stdout, &stderr); code != 0 {
		t.Fatalf("got code %d, want 0:\n%s%s", code, &stdout, &stderr)
	}
	if len(seeds) != 2 || seeds[41] != seeds[42] || plain != 2 {
		t.Errorf("got %v requests by seed and %d of the user without, want as many with 41 as with 42, and 2", seeds, plain)
	}
	run, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	if m := run.Agent.Model; m.Seed == nil || *m.Seed != 41 || !slices.Equal(m.Stop, []string{"a,b", "c"}) || run.User.Model.Seed != nil {
		t.Errorf("%s: got agent %+v, user %+v, want the seed and the stop sequences of the agent", results.RunFile, m, run.User.Model)
	}
	stderr.Reset()
	if code := Main(append(args, "--resume", "--user-model-seed", "1"), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "--user-model-seed was not given, is 1") {
		t.Errorf("resumed with another seed: got code %d and %s, want 2 with the flag's name", code, &stderr)
	}
}

// TestRunNeverAnswered plays with a model whose answer never ends. The rollout ends after two
// time-outs as a failure of the provider, and --resume plays it again.
func TestRunNeverAnswered(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var healed atomic.Bool
	chat := chatHandler(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); healed.Load() {
			chat(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client is gone
		<-r.Context().Done()
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{
		"run", "--probe=false", "--agent", "openai:m", "--user", "openai:u", "--base-url", server.URL + "/v1", "--scenarios", "turn_off_wifi", "--out", out,
		"--model-timeout", "1s",
	}
	var stdout, stderr bytes.Buffer
	code := Main(args, &stdout, &stderr)
	run, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); code != 1 || n != 2 || run.Rollouts[0].End != "infrastructure" || run.Rollouts[0].FailureClass != "provider" {
		t.Errorf("got code %d after %d requests and %+v, want 1 after 2 and a failure of the provider:\n%s", code, n, run.Rollouts[0], &stderr)
	}
	const want = "no answer within 1s, not for the first time in this turn"
	if !strings.Contains(stdout.String(), want) {
		t.Errorf("got %s, want %q", &stdout, want)
	}
	healed.Store(true)
	if code := Main(append(args, "--resume"), &stdout, &stderr); code != 0 {
		t.Errorf("resumed: got code %d, want 0:\n%s%s", code, &stdout, &stderr)
	}
}

// lineWaiter is a writer that closes seen once a text has been written.
type lineWaiter struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen chan struct{}
	once sync.Once
}

func (w *lineWaiter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(text)
	if strings.Contains(w.all.String(), w.text) {
		w.once.Do(func() { close(w.seen) })
	}
	return len(text), nil
}

// TestLongProgress plays five rollouts, two at a time, with a model that answers once the run has
// said what they do.
func TestLongProgress(t *testing.T) {
	t.Parallel()
	stderr := &lineWaiter{text: "waiting for results: 0 of 5 rollouts are done, 2 running (2 wait for the model), 3 queued\n", seen: make(chan struct{})}
	chat := chatHandler(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // or the server does not notice that the client is gone
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case <-stderr.seen:
			chat(w, r)
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	args := []string{
		"run", "--agent", "openai:m", "--user", "openai:u", "--base-url", server.URL + "/v1", "--scenarios", "turn_off_wifi", "--trials", "5",
		"--parallel", "2", "--probe=false", "--model-timeout", "3m", "--out", filepath.Join(t.TempDir(), "out"),
	}
	if code := Main(args, io.Discard, stderr); code != 0 {
		t.Errorf("got code %d, want 0:\n%s", code, &stderr.all)
	}
}

// TestLongSlowServer plays 24 rollouts at once with a server that answers 20 requests in the time
// of one. Requests time out at first, a warning says what to do, and every rollout has a score.
func TestLongSlowServer(t *testing.T) {
	t.Parallel()
	const rollouts = 24
	var asked atomic.Int64
	slots := make(chan struct{}, 2)
	chat := chatHandler(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		select {
		case slots <- struct{}{}:
			<-time.After(100 * time.Millisecond) // the time for an answer
			chat(w, r)
			<-slots
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	var stdout, stderr bytes.Buffer
	code := Main([]string{
		"run", "--agent", "openai:m", "--user", "scripted", "--base-url", server.URL + "/v1", "--scenarios", "turn_off_wifi", "--out", out,
		"--trials", strconv.Itoa(rollouts), "--parallel", "64", "--model-timeout", "1s",
	}, &stdout, &stderr)
	if code != 0 {
		t.Errorf("got code %d, want 0:\n%s%s", code, &stdout, &stderr)
	}
	const turns = 2 // of the agent
	if n := asked.Load(); n <= rollouts*turns || n > 2*rollouts*turns {
		t.Errorf("got %d requests, want some time-outs, but fewer than answers", n)
	}
	const want = `msg="model server is too slow for its requests, so fewer are sent at once"`
	const remedy = `remedy="lower --parallel or raise --model-timeout"`
	if log := stderr.String(); !strings.Contains(log, want) || !strings.Contains(log, remedy) {
		t.Errorf("got %s, want a warning with a remedy", log)
	}
}
