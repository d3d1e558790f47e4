//go:build llama

package e2e_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// template is a chat template with tools for the model of these tests.
var template = filepath.Join("testdata", "llama", "tools.jinja")

// startLlama starts llama.cpp's server with a small model and returns its address. `make
// test-model` installs both.
func startLlama(t *testing.T, args ...string) (address string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("..", ".bin", "llama", "bin", "python"), append([]string{filepath.Join("testdata", "llama", "serve.py")}, args...)...)
	cmd.Stderr = os.Stderr
	end, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	printed, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = end.Close()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(printed)
	if !lines.Scan() {
		t.Fatalf("llama.cpp ended: %v", lines.Err())
	}
	return lines.Text() + "/v1"
}

// slowRun returns the arguments of a run with a model that is slow.
func slowRun(address string, args ...string) []string {
	return append([]string{"run", "--base-url", address, "--model-timeout", "10m", "--parallel", "2"}, args...)
}

// probeOf returns the probe of a run. A machine that is too slow for it leaves words unknown.
func probeOf(t *testing.T, out string) *results.Probe {
	t.Helper()
	run, err := results.ReadRun(out)
	if err != nil || run.Probe == nil {
		t.Fatalf("got %+v and %v, want a probe", run, err)
	}
	p := run.Probe.Agent
	if p == nil {
		p = run.Probe.User
	}
	if *p.Slots != 2 || *p.ContextTokens != 4096 {
		t.Errorf("got %+v, want two slots of 4096 tokens", p)
	}
	return p
}

// wantWord fails the test if a probe knows another word, or none although all was answered.
func wantWord(t *testing.T, p *results.Probe, name, got, want string) {
	t.Helper()
	if got != want && (got != results.Unknown || p.Problem == "") {
		t.Errorf("%s: got %s, want %s: %+v", name, got, want, p)
	}
}

// modelTurn is an exchange with the agent's model, as far as causes need it.
type modelTurn struct {
	Request struct {
		Tools []struct{ Function struct{ Name string } }
	}
	Attempts []struct {
		Answer struct {
			Choices []struct {
				Reason  string `json:"finish_reason"`
				Message struct {
					Content string
					Calls   []json.RawMessage `json:"tool_calls"`
				}
			}
		}
	}
}

// causesIn counts, in the exchanges of a rollout with the agent's model, what its causes count.
func causesIn(t *testing.T, out, rollout string) map[string]int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(out, "trajectories", rollout, "exchanges.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	counts, calls := make(map[string]int), 0
	for line := range strings.Lines(string(raw)) {
		var turn modelTurn
		if err := json.Unmarshal([]byte(line), &turn); err != nil {
			t.Fatal(err)
		}
		choice := turn.Attempts[len(turn.Attempts)-1].Answer.Choices[0]
		calls += len(choice.Message.Calls)
		isText := len(choice.Message.Calls) == 0
		names := regexp.MustCompile(`"name"\s*:\s*"(\w+)"|\b(\w+)\(`).FindAllStringSubmatch(choice.Message.Content, -1)
		called := slices.ContainsFunc(turn.Request.Tools, func(tool struct{ Function struct{ Name string } }) bool {
			return slices.ContainsFunc(names, func(match []string) bool { return slices.Contains(match[1:], tool.Function.Name) })
		})
		switch {
		case isText && choice.Message.Content == "":
			counts["empty_answer"]++
		case isText && called:
			counts["call_as_text"]++
		case !isText && choice.Reason == "length":
			counts["cut_off"]++
		}
	}
	if calls == 0 {
		counts["no_tool_called"]++
	}
	return counts
}

// checkCauses compares the causes of a run's rollouts with their exchanges.
func checkCauses(t *testing.T, out string) (total map[string]int) {
	t.Helper()
	run, err := results.ReadRun(out)
	if err != nil {
		t.Fatal(err)
	}
	total = make(map[string]int)
	for i, rollout := range run.Rollouts {
		if score, err := readSummary(t, out).Scenarios[i].Similarity.Float64(); err != nil || score == 1 {
			if err != nil || len(rollout.Causes) > 0 {
				t.Errorf("%s: got %+v and %v, want a score, and no causes beside a full one", rollout.Name, rollout, err)
			}
			continue
		}
		got := make(map[string]int)
		for _, cause := range rollout.Causes {
			if slices.Contains([]string{"empty_answer", "call_as_text", "cut_off", "no_tool_called"}, cause.Kind) {
				got[cause.Kind] += cause.Count
				total[cause.Kind] += cause.Count
			}
			if cause.Kind == rollout.End {
				total[cause.Kind]++
			} else if slices.Contains([]string{"repeated_turn", "message_limit"}, cause.Kind) {
				t.Errorf("%s: got the cause %s, but the end %s", rollout.Name, cause.Kind, rollout.End)
			}
		}
		if diff := cmp.Diff(causesIn(t, out, rollout.Name), got); diff != "" {
			t.Errorf("%s: causes (-exchanges +run.json):\n%s", rollout.Name, diff)
		}
	}
	return total
}

// TestLlamaAgent plays a small model as the agent, and replays the run.
func TestLlamaAgent(t *testing.T) {
	address, out := startLlama(t, template), filepath.Join(t.TempDir(), "out")
	toolsandbox(t, slowRun(address, "--agent", "openai:m", "--max-tokens", "48", "--out", out, "turn_off_wifi")...)
	p := probeOf(t, out)
	wantWord(t, p, "tools", p.Tools, "reach")
	wantWord(t, p, "calls", p.Calls, "call")
	checkCauses(t, out)
	replay(t, out)
}

// TestLlamaUser plays a small model as the user, and as both.
func TestLlamaUser(t *testing.T) {
	address := startLlama(t, template)
	for _, agent := range []string{"oracle", "openai:m"} {
		out := filepath.Join(t.TempDir(), "out")
		toolsandbox(t, slowRun(address, "--agent", agent, "--user", "openai:m", "--user-max-tokens", "48", "--repeat-limit", "3", "--out", out, "turn_off_wifi")...)
		p := probeOf(t, out)
		wantWord(t, p, "tools", p.Tools, "reach")
		if got := readSummary(t, out); got.infrastructure() != 0 || exchanges(t, out) == 0 {
			t.Errorf("%s: got %+v, want a score and exchanges", agent, got)
		}
		replay(t, out)
	}
}

// TestLlamaResume kills a run and resumes it. Each turn of the model is asked for once.
func TestLlamaResume(t *testing.T) {
	address, out := startLlama(t, template), filepath.Join(t.TempDir(), "out")
	args := slowRun(address, "--agent", "openai:m", "--max-tokens", "48", "--trials", "3", "--out", out, "turn_off_wifi", "is_cellular_on")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "1/6 rollouts") {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code, stderr := attempt(t, append(args, "--resume")...); code != 0 || strings.Contains(stderr, "probe of") {
		t.Fatalf("resume: got code %d and\n%s\nwant 0 and no other probe", code, stderr)
	}
	if got := readSummary(t, out); len(got.Scenarios) != 6 || got.infrastructure() != 0 || exchanges(t, out) == 0 {
		t.Errorf("got %+v, want six scores", got)
	}
	checkCauses(t, out)
	replay(t, out)
}

// TestLlamaFaults plays the model where its server drops tools, and where it returns calls as text.
func TestLlamaFaults(t *testing.T) {
	for _, test := range []struct {
		fault, cause string
		args         []string
	}{
		{"tools are dropped", "no_tool_called", nil},
		{"calls are text", "call_as_text", []string{template, "--as-text"}},
	} {
		address, out := startLlama(t, test.args...), filepath.Join(t.TempDir(), "out")
		args := slowRun(address, "--agent", "openai:m", "--max-tokens", "48", "--trials", "3", "--out", out, "turn_off_wifi", "is_cellular_on")
		code, stderr := attempt(t, append(args, "--allow-no-tools")...)
		p := probeOf(t, out)
		if test.args == nil {
			wantWord(t, p, "tools", p.Tools, "dropped")
		} else {
			wantWord(t, p, "tools", p.Tools, "reach")
			wantWord(t, p, "calls", p.Calls, "text")
		}
		warned := strings.Contains(stderr, "tools never reach the model") || strings.Contains(stderr, "calls come back as text")
		if total := checkCauses(t, out); code != 0 || warned != (p.Tools == "dropped" || p.Calls == "text") || total[test.cause] == 0 {
			t.Errorf("%s: got code %d, causes %v and\n%s\nwant 0, a warning and the cause %s", test.fault, code, total, stderr, test.cause)
		}
	}
}

// TestLlamaEuroEval plays a record of EuroEval's task, which needs no probe.
func TestLlamaEuroEval(t *testing.T) {
	address, out := startLlama(t), filepath.Join(t.TempDir(), "out")
	toolsandbox(t, slowRun(address, "--agent", "openai:m", "--max-tokens", "64", "--pack", filepath.Join("..", "packs", "euroeval"), "--builtin=false", "--iterations", "3", "--out", out, "irrelevance_en_1")...)
	run, err := results.ReadRun(out)
	if err != nil || run.Probe != nil || run.Totals.Scored != 1 {
		t.Errorf("got %+v and %v, want a score and no probe", run, err)
	}
	if _, err := os.Stat(filepath.Join(out, results.EuroEvalFile)); err != nil {
		t.Error(err)
	}
	replay(t, out, "--iterations", "3")
}
