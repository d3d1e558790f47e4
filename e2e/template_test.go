package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// templateModel is a model behind a server that renders the model's chat template for each request,
// as vLLM and llama.cpp do, and refuses what the template refuses. It plays agent and user.
type templateModel struct {
	*httptest.Server
	// refusal is the server's error, with the template's words for %q.
	refusal string
	status  int

	mu      sync.Mutex // guards the renderer, too
	ask     *json.Encoder
	answers *bufio.Scanner
	refused int
	prompts []string
}

// chatMessage is a message of a request.
type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// startTemplateModel starts the renderer of a template in e2e/testdata/template, and the server.
func startTemplateModel(t *testing.T, template string, status int, refusal string) *templateModel {
	t.Helper()
	folder := filepath.Join("testdata", "template")
	cmd := pythonIn(t, "venv", filepath.Join(folder, "render.py"))
	cmd.Args = append(cmd.Args, filepath.Join(folder, template+".jinja"))
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &templateModel{refusal: refusal, status: status, ask: json.NewEncoder(input), answers: bufio.NewScanner(output)}
	m.answers.Buffer(nil, 1<<20)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(t, w, r) }))
	t.Cleanup(func() {
		m.Close()
		_ = cmd.Wait() // killed with the test's context
	})
	return m
}

func (m *templateModel) serve(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var body json.RawMessage
	var request struct{ Messages []chatMessage }
	var rendered struct{ Prompt, Refused string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || json.Unmarshal(body, &request) != nil {
		t.Errorf("request: got %v and %s", err, body)
	}
	if err := m.ask.Encode(body); err != nil || !m.answers.Scan() || json.Unmarshal(m.answers.Bytes(), &rendered) != nil {
		t.Errorf("render: got %v and %q", err, m.answers.Text())
	}
	w.Header().Set("Content-Type", "application/json")
	if rendered.Refused != "" {
		m.refused++
		w.WriteHeader(m.status)
		_, _ = fmt.Fprintf(w, m.refusal, rendered.Refused)
		return
	}
	m.prompts = append(m.prompts, rendered.Prompt)
	_, _ = fmt.Fprint(w, wifiTurn(request.Messages))
}

// wifiTurn returns the model's turn: as an agent it calls a tool that it does not have and turns
// wifi off, in one turn, and says so. As a user it ends the conversation when the agent is done.
func wifiTurn(messages []chatMessage) string {
	const answer = `{"choices": [{"message": {"content": %q, "tool_calls": [%s]}, "finish_reason": "stop"}]}`
	call := func(id, name, arguments string) string {
		return fmt.Sprintf(`{"id": %q, "type": "function", "function": {"name": %q, "arguments": %q}}`, id, name, arguments)
	}
	last := messages[len(messages)-1]
	switch {
	case strings.Contains(last.Content, "Wifi is now off"):
		return fmt.Sprintf(answer, "", call("call_end", "end_conversation", "{}"))
	case last.Role == "tool" || strings.Contains(last.Content, "[Result of "):
		return fmt.Sprintf(answer, "Wifi is now off.", "")
	}
	return fmt.Sprintf(answer, "", call("call_read", "get_wifi_status", "{}")+","+call("call_set", "set_wifi_status", `{"on": false}`))
}

// TestLongChatTemplates plays a scenario twice behind each template, with the model as agent and as
// user. Every rollout has the full score and the same messages whatever the template, the server
// refuses a request once for each thing that its template cannot take, with a warning, and nothing
// of the conversation is lost. A replay has the same messages, too.
func TestLongChatTemplates(t *testing.T) {
	t.Parallel()
	const vllm, llamaCpp = `{"object": "error", "message": %q, "type": "BadRequestError", "param": null, "code": 400}`,
		`{"error": {"code": 500, "message": %q, "type": "server_error"}}`
	conversations := make(map[string]string) // by role, behind the first template
	for _, test := range []struct {
		template     string
		status       int
		refusal      string
		agent, users int // refused requests
	}{
		{"qwen-2.5", http.StatusBadRequest, vllm, 0, 0},
		{"gemma-2", http.StatusInternalServerError, llamaCpp, 2, 1},
		{"mistral-7b-0.3", http.StatusBadRequest, vllm, 1, 1},
		{"llama-3.1", http.StatusInternalServerError, llamaCpp, 1, 0},
	} {
		for role, want := range map[string]int{"agent": test.agent, "user": test.users} {
			m := startTemplateModel(t, test.template, test.status, test.refusal)
			players := []string{"--agent", "openai:m", "--base-url", m.URL + "/v1"}
			if role == "user" {
				players = []string{"--agent", "oracle", "--user", "openai:m", "--user-base-url", m.URL + "/v1"}
			}
			played, printed := playTwice(t, players)
			if conversations[role] == "" {
				conversations[role] = played
			}
			if diff := cmp.Diff(conversations[role], played); diff != "" {
				t.Errorf("%s as %s: the messages depend on the template:\n%s", test.template, role, diff)
			}
			if warnings := strings.Count(printed, "they are sent in another form"); m.refused != want || warnings != want {
				t.Errorf("%s as %s: got %d refused requests and %d warnings, want %d", test.template, role, m.refused, warnings, want)
			}
			m.wantPrompts(t, test.template, role)
		}
	}
}

// wantPrompts checks that both rollouts had the same prompts, and that the last one has all of its
// conversation.
func (m *templateModel) wantPrompts(t *testing.T, template, role string) {
	t.Helper()
	half := len(m.prompts) / 2
	if diff := cmp.Diff(m.prompts[:half], m.prompts[half:]); diff != "" {
		t.Errorf("%s as %s: the second rollout has other prompts than the first:\n%s", template, role, diff)
	}
	parts := map[string][]string{
		"agent": {"through the tools you are given", "Turn the wifi off, please.", "get_wifi_status", "NameError", "set_wifi_status", "None"},
		"user":  {"Turn the wifi off, please.", "Wifi is now off"},
	}
	last := m.prompts[len(m.prompts)-1]
	for _, part := range parts[role] {
		if !strings.Contains(last, part) {
			t.Errorf("%s as %s: %q is missing in the last prompt:\n%s", template, role, part, last)
		}
	}
}

// playTwice plays a scenario in two trials, one after the other, and replays it. It returns the
// messages of both, and what the run printed.
func playTwice(t *testing.T, players []string) (messages, printed string) {
	t.Helper()
	dir := t.TempDir()
	out, again := filepath.Join(dir, "out"), filepath.Join(dir, "again")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"),
		append(append([]string{"run", "--probe=false"}, players...), "--out", out, "--trials", "2", "--parallel", "1", "turn_off_wifi")...)
	cmd.Env = append(os.Environ(), "OPENAI_API_KEY=k")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	toolsandbox(t, "run", "--replay", out, "--out", again)
	var results struct {
		Rows []struct{ Similarity float64 } `json:"per_scenario_results"`
	}
	raw, err := os.ReadFile(filepath.Join(out, "result_summary.json"))
	if err != nil || json.Unmarshal(raw, &results) != nil || len(results.Rows) != 2 || results.Rows[0].Similarity != 1 || results.Rows[1].Similarity != 1 {
		t.Errorf("%v: got %v and %s\nwant two rollouts of the full score", players, err, raw)
	}
	files, err := filepath.Glob(filepath.Join(out, "trajectories", "*", "conversation.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("got %v and %v, want two conversations", files, err)
	}
	for _, file := range files {
		conversation, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := os.ReadFile(strings.Replace(file, out, again, 1))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(conversation), string(replayed)); diff != "" {
			t.Errorf("%v: the replay differs (-run +replay):\n%s", players, diff)
		}
		messages += string(conversation)
	}
	return messages, string(output)
}
