package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// probedServer is a chat completions server that either drops tools, or returns calls as text. It
// counts the requests of probes apart from turns.
type probedServer struct {
	*httptest.Server
	drops         bool
	probes, turns atomic.Int32
}

func startProbed(t *testing.T, drops bool) *probedServer {
	t.Helper()
	s := &probedServer{drops: drops}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *probedServer) serve(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &request) != nil {
		http.NotFound(w, r)
		return
	}
	if strings.Contains(request.Messages[len(request.Messages)-1].Content, "Call your tool with") {
		s.probes.Add(1)
	} else {
		s.turns.Add(1)
	}
	words := 0
	for _, message := range request.Messages {
		words += len(strings.Fields(message.Content))
	}
	text := "I cannot."
	if !s.drops && len(request.Tools) > 0 {
		words += 50
		text = fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": {}}\n</tool_call>", request.Tools[0].Function.Name)
	}
	answer, err := json.Marshal(map[string]any{
		"choices": []any{map[string]any{"finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": text}}},
		"usage":   map[string]int{"prompt_tokens": words, "completion_tokens": 3},
	})
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(answer)
}

// TestProbeDropped runs a model that its server never shows the tools: nothing is played, unless
// that is allowed.
func TestProbeDropped(t *testing.T) {
	t.Parallel()
	server, out := startProbed(t, true), filepath.Join(t.TempDir(), "out")
	args := []string{"run", "--agent", "openai:m", "--base-url", server.URL + "/v1", "--out", out, "turn_off_wifi"}
	code, _, stderr := command(args...)
	const want = "toolsandbox: --agent openai:m: tools never reach the model: "
	if code != 1 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "--allow-no-tools") || server.turns.Load() != 0 {
		t.Errorf("got code %d after %d turns and\n%s\nwant 1 after none and %q with a remedy", code, server.turns.Load(), stderr, want)
	}
	if code, stdout, stderr := command(append(args, "--allow-no-tools")...); code != 0 || !strings.Contains(stderr, want) || server.turns.Load() == 0 {
		t.Errorf("allowed: got code %d after %d turns and\n%s%s\nwant 0 after some, and a warning", code, server.turns.Load(), stdout, stderr)
	}
	if p := readRunFile(t, out).Probe; p.User != nil || p.Agent.Tools != "dropped" || !strings.Contains(p.Agent.ToolsReason, "prompt tokens") {
		t.Errorf("%s: got %+v, want dropped tools with a reason", results.RunFile, p.Agent)
	}
	code, stdout, stderr := command("probe", "--agent", "openai:m", "--base-url", server.URL+"/v1")
	if code != 1 || !strings.Contains(stdout, "tools reach the model  no: ") || !strings.Contains(stderr, want) {
		t.Errorf("probe: got code %d and\n%s%s\nwant 1 and the verdict", code, stdout, stderr)
	}
}

// TestProbeCallsAsText runs a model whose calls come back as text: it is said before and after.
func TestProbeCallsAsText(t *testing.T) {
	t.Parallel()
	server, out := startProbed(t, false), filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := command("run", "--agent", "openai:m", "--user", "openai:m", "--base-url", server.URL+"/v1", "--repeat-limit", "3", "--out", out, "turn_off_wifi")
	if code != 0 || strings.Count(stderr, "probe of --agent openai:m, --user openai:m: 4 requests") != 1 ||
		!strings.Contains(stderr, "toolsandbox: --agent openai:m, --user openai:m: calls come back as text") ||
		!strings.Contains(stdout, "3 texts look like calls: is the server's tool parser on?\n") {
		t.Errorf("got code %d and\n%s%s\nwant one probe, a warning and a count", code, stdout, stderr)
	}
	if p := readRunFile(t, out).Probe; p.Agent == nil || !cmp.Equal(p.Agent, p.User) {
		t.Errorf("%s: got %+v, want one probe of both", results.RunFile, p)
	}
	code, stdout, _ = command("probe", "--user", "openai:m", "--user-base-url", server.URL+"/v1", "--json")
	var got results.Probes
	if err := json.Unmarshal([]byte(stdout), &got); code != 0 || err != nil || got.User == nil {
		t.Fatalf("probe --json: got code %d, %v and %s", code, err, stdout)
	}
	want := results.Probes{User: &results.Probe{
		Tools: "reach", ToolsReason: "the model wrote the name of one", Calls: "text", CallsReason: got.User.CallsReason,
		Seed: results.Unknown, Temperature: results.Unknown, Requests: 4, InputTokens: got.User.InputTokens, OutputTokens: 12,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("probe --json (-want +got):\n%s", diff)
	}
}

// TestNoProbe plays what is not probed: without, as the original plays, again, and further.
func TestNoProbe(t *testing.T) {
	t.Parallel()
	server, out := startProbed(t, true), filepath.Join(t.TempDir(), "out")
	model := []string{"--agent", "openai:m", "--base-url", server.URL + "/v1"}
	mustRun(t, append(model, "--probe=false", "--out", out, "turn_off_wifi")...)
	mustRun(t, append(model, "--probe=false", "--out", out, "--resume", "turn_off_wifi")...)
	mustRun(t, append(model, "--out", out, "--resume", "turn_off_wifi")...)
	mustRun(t, "--replay", out, "--out", out+"-replayed")
	mustRun(t, append(model, "--compat", "--out", out+"-compat", "turn_off_wifi")...)
	mustRun(t, append(model, "--builtin=false", "--pack", "../../../../packs/euroeval", "--out", out+"-euroeval", "irrelevance_da_1")...)
	if n := server.probes.Load(); n != 0 {
		t.Errorf("got %d requests of probes, want none", n)
	}
	if probe := readRunFile(t, out).Probe; probe != nil {
		t.Errorf("%s: got %+v, want no probe", results.RunFile, probe)
	}
}

// TestProbeFailing probes servers that answer nothing: it is said, and the run goes on.
func TestProbeFailing(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusBadRequest} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			t.Cleanup(server.Close)
			want := fmt.Sprintf("--agent openai:m could not be probed: HTTP %d: ", status)
			code, _, stderr := command("run", "--agent", "openai:m", "--base-url", server.URL+"/v1", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi")
			if code != 1 || !strings.HasPrefix(stderr, want) || !strings.Contains(stderr, "1 of 1 rollouts have no score") {
				t.Errorf("run: got code %d and\n%s\nwant 1, %q and a rollout without a score", code, stderr, want)
			}
			code, stdout, stderr := command("probe", "--agent", "openai:m", "--base-url", server.URL+"/v1")
			if code != 1 || !strings.HasPrefix(stdout, want) || stderr != "toolsandbox: a model answered nothing\n" {
				t.Errorf("probe: got code %d and\n%s%s\nwant 1 and %q", code, stdout, stderr, want)
			}
		})
	}
}

// TestProbeMistakes gives probe what it cannot probe.
func TestProbeMistakes(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--agent: missing":      nil,
		"--agent oracle: not a": {"--agent", "oracle"},
		"--user scripted: not":  {"--agent", "openai:m", "--user", "scripted"},
		"--agent: ":             {"--agent", "nobody"},
		"unexpected argument":   {"--agent", "openai:m", "turn_off_wifi"},
	} {
		if code, stdout, stderr := command(append([]string{"probe"}, args...)...); code != 2 || !strings.Contains(stderr, want) || stdout != "" {
			t.Errorf("probe %v: got code %d and %s%s, want 2 and %q", args, code, stdout, stderr, want)
		}
	}
}
