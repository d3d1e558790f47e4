package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// dialectCase is a model that turns wifi off in its own format.
type dialectCase struct {
	player, call, begin string
	// second is the call's result in the second prompt.
	second string
}

// startModel serves a model with an OpenAI-compatible API. Its first turn is a call, its second a
// text.
func startModel(t *testing.T, c dialectCase) *httptest.Server {
	t.Helper()
	turn := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model, Prompt string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("request: %v", err)
		}
		if key := r.Header.Get("Authorization"); r.URL.Path != "/v1/completions" || key != "Bearer EMPTY" || body.Model == "" {
			t.Errorf("request: got %s, %q, model %q, want /v1/completions with an empty key", r.URL.Path, key, body.Model)
		}
		turn++
		text, holds := c.call, c.begin
		if turn > 1 {
			text, holds = "Wifi is off.", c.second
		}
		if !strings.Contains(body.Prompt, holds) {
			t.Errorf("prompt %d: got\n%s\nwant %q in it", turn, body.Prompt, holds)
		}
		_, _ = fmt.Fprintf(w, `{"choices": [{"text": %q, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}`, text)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestDialects runs a rollout with each dialect.
func TestDialects(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for _, c := range []dialectCase{
		{"hermes", "<tool_call>\n{\"arguments\": {\"on\": false}, \"name\": \"set_wifi_status\"}\n</tool_call>", "<|im_start|>system\n", `{"name": "set_wifi_status", "content": "None"}`},
		{"Gorilla", "<<function>>set_wifi_status(on=False)", "### Instruction: <<function>>[{", "<<question>>"},
		{"mistral:local", `[TOOL_CALLS] [{"name": "set_wifi_status", "arguments": {"on": false}}]`, "[AVAILABLE_TOOLS] [{", `[TOOL_RESULTS] {"content": "None"`},
		{"Cohere_Command_R", "Action: ```json\n[{\"tool_name\": \"set_wifi_status\", \"parameters\": {\"on\": false}}]```", "def set_wifi_status(on: boolean)", "<results>"},
	} {
		server := startModel(t, c)
		printed := toolsandbox(t, "run", "--probe=false", "--agent", c.player, "--base-url", server.URL+"/v1", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
		if !strings.Contains(strings.ReplaceAll(printed, " ", ""), "2/2") {
			t.Errorf("%s: got\n%s\nwant both milestones of turn_off_wifi reached", c.player, printed)
		}
	}
}

// TestTemplates replaces a prompt template, and checks that a broken one is rejected before any
// rollout.
func TestTemplates(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "hermes.tmpl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("My own prompt.{{range .Turns}}\n{{.Kind}}: {{.Text}}{{end}}")
	c := dialectCase{player: "hermes", call: `<tool_call>{"name": "set_wifi_status", "arguments": {"on": false}}</tool_call>`, begin: "My own prompt.\n", second: "\nresult: None"}
	server := startModel(t, c)
	arguments := []string{"run", "--probe=false", "--agent", c.player, "--base-url", server.URL + "/v1", "--agentgw-template-dir", dir, "turn_off_wifi", "--out"}
	toolsandbox(t, append(arguments, filepath.Join(t.TempDir(), "out"))...)
	write("My own prompt.\n{{range .Turns}}{{.Speaker}}{{end}}")
	out := filepath.Join(t.TempDir(), "out")
	printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append(arguments, out)...).CombinedOutput()
	if err == nil || !strings.Contains(string(printed), filepath.Join(dir, "hermes.tmpl")+":2:") {
		t.Errorf("broken template: got %v and\n%s\nwant an error that names file and line", err, printed)
	}
}
