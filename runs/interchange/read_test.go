package interchange

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// tau2 is a file of results as tau2 writes it, shortened.
const tau2 = `{
  "timestamp": "2026-01-01T00:00:00",
  "info": {
    "git_commit": "abc", "num_trials": 2, "max_steps": 100,
    "agent_info": {"implementation": "llm_agent", "llm": "model-a", "llm_args": {"temperature": 0.0}},
    "user_info": {"implementation": "user_simulator", "llm": "model-u", "llm_args": {}},
    "environment_info": {"domain_name": "telecom", "policy": "Be polite."}
  },
  "tasks": [{"id": "[mobile]x/1"}],
  "simulations": [
    {
      "id": "s1", "task_id": "[mobile]x/1", "trial": 0, "seed": 7, "duration": 2.5, "termination_reason": "user_stop", "agent_cost": 0.25,
      "reward_info": {"reward": 1.0, "info": {}},
      "messages": [
        {"role": "assistant", "content": "Hi! How can I help you today?", "turn_idx": 0, "tool_calls": null},
        {"role": "user", "content": "No data.", "turn_idx": 1},
        {"role": "user", "content": null, "tool_calls": [{"id": "u1", "name": "check_status", "arguments": {}, "requestor": "user"}]},
        {"role": "tool", "id": "u1", "content": "off", "requestor": "user", "error": false},
        {"role": "assistant", "content": null, "tool_calls": [
          {"id": "a1", "name": "get_line", "arguments": {"id": "L1"}, "requestor": "assistant"},
          {"id": "a2", "name": "get_bill", "arguments": {"id": 2}, "requestor": "assistant"}]},
        {"role": "tool", "tool_messages": [
          {"role": "tool", "id": "a1", "content": "{}", "requestor": "assistant", "error": false},
          {"role": "tool", "id": "a2", "content": "Error: no bill", "requestor": "assistant", "error": true}]},
        {"role": "user", "content": "###STOP###"}
      ]
    },
    {"id": "s2", "task_id": 5, "trial": 1, "termination_reason": "max_steps", "reward_info": null, "messages": []}
  ]
}`

// written returns the path of a new file.
func written(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, name, content string) (string, error) {
	t.Helper()
	path := written(t, name, content)
	_, err := Load(t.Context(), path, false, io.Discard)
	return path, err
}

// TestTau2 reads a file of results of tau2.
func TestTau2(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(path, []byte(tau2), 0o600); err != nil {
		t.Fatal(err)
	}
	run, err := Load(t.Context(), path, false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if run.Agent != "llm_agent model-a" || run.User != "user_simulator model-u" {
		t.Errorf("players: got %q and %q", run.Agent, run.User)
	}
	rollouts := run.Rollouts()
	if len(rollouts) != 2 || rollouts[0].Name != "_mobile_x_1_trial_0" || rollouts[1].Name != "5_trial_1" {
		t.Fatalf("rollouts: got %+v", rollouts)
	}
	first, second := rollouts[0], rollouts[1]
	if *first.Score != 1 || first.Turns != 7 || first.Outcome.Calls != 2 || first.Outcome.Seconds != 2.5 || *first.Outcome.Usage.Agent.CostUSD != 0.25 {
		t.Errorf("first: got %+v, %+v", first, first.Outcome)
	}
	if second.Score != nil || *second.Entry.ExceptionType != "max_steps" || second.Outcome.FailureClass != "unknown" {
		t.Errorf("second: got %+v, %+v", second, second.Outcome)
	}
	messages, err := run.Reader().Messages(first.Name)
	if err != nil {
		t.Fatal(err)
	}
	const user, agent, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	text := func(i int32, from, to worldv1.Role, text string) *worldv1.Message {
		return &worldv1.Message{Index: i, Sender: from, Recipient: to, Body: &worldv1.Message_Text{Text: text}}
	}
	call := func(i int32, from worldv1.Role, id, tool, arguments string) *worldv1.Message {
		return &worldv1.Message{Index: i, Sender: from, Recipient: environment, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: &id, Tool: tool, ArgumentsJson: arguments}}}
	}
	answer := func(i int32, to worldv1.Role, id, tool, text string, exception *string) *worldv1.Message {
		return &worldv1.Message{Index: i, Sender: environment, Recipient: to, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{Id: &id, Name: &tool, Text: &text, Exception: exception}}}
	}
	want := []*worldv1.Message{
		text(0, agent, user, "Hi! How can I help you today?"), text(1, user, agent, "No data."),
		call(2, user, "u1", "check_status", "{}"), answer(3, user, "u1", "check_status", "off", nil),
		call(4, agent, "a1", "get_line", `{"id": "L1"}`), call(5, agent, "a2", "get_bill", `{"id": 2}`),
		answer(6, agent, "a1", "get_line", "{}", nil), answer(7, agent, "a2", "get_bill", "Error: no bill", proto.String("Error: no bill")),
		text(8, user, agent, "###STOP###"),
	}
	if diff := cmp.Diff(want, messages, protocmp.Transform()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if _, err := run.Reader().Trajectory(first.Name, world.Builtin()); !errors.Is(err, results.ErrNoWorld) {
		t.Errorf("trajectory: got %v, want %v", err, results.ErrNoWorld)
	}
}

// TestNonsense reports what is wrong with a file, and where.
func TestNonsense(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                                ":1:1 is not readable: unexpected end of JSON input; expected a file of ATIF",
		"text":                            ":1:2 is not readable: invalid character 'e'",
		"[]":                              ":1:1 is not readable: document: expected an object, got array",
		"{}":                              "it has neither schema_version, as ATIF has, nor simulations",
		"PK\x03\x04":                      "zip: not a valid zip file",
		`{"schema_version": "ATIF-v2.0"}`: `schema_version: expected ATIF-v1.0 to ATIF-v1.8, got "ATIF-v2.0"`,
		`{"schema_version": "ATIF-v1.9"}`: `schema_version: expected ATIF-v1.0 to ATIF-v1.8, got "ATIF-v1.9"`,
		`{"schema_version": 1}`:           "schema_version: expected a text, got number",
		`{"schema_version": "ATIF-v1.8"}`: "steps: expected at least one",
		`{"simulations": []}`:             "simulations: expected at least one",
		`{"simulations": [{}]}`:           "simulations.0.task_id: missing",
		"{\"simulations\":\n [{\"trial\": \"x\"}]}":                                                          ":2:15 is not readable: simulations.trial: expected a number, got string",
		`{"simulations": [{"task_id": 1, "trial": 1000000}]}`:                                                "simulations.0.trial: expected 0 to 100000, got 1000000",
		`{"simulations": [{"task_id": 1, "messages": [{"role": "cat"}]}]}`:                                   "simulations.0.messages.0.role: expected system, user, assistant or tool, got cat",
		`{"schema_version": "ATIF-v1.8", "steps": [{"source": "cat", "message": ""}]}`:                       `steps.0.source: expected system, user or agent, got "cat"`,
		`{"schema_version": "ATIF-v1.8", "steps": [{"source": "agent", "message": "", "tool_calls": [{}]}]}`: "steps.0.tool_calls.0.function_name: missing",
	} {
		path, err := load(t, "file", content)
		if !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", content, err, want)
		}
	}
}

// TestEnormous refuses files whose reading would take far more memory than they have bytes, and
// reads many rollouts of one name in time that is not quadratic.
func TestEnormous(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`{"simulations": [` + strings.Repeat("{},", maxValues/2) + "{}]}":                                          "values, expected at most",
		`{"schema_version": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}":                  "max depth",
		`{"simulations": [{"task_id": 1, "messages": [{"role": "user", "content": ` + strings.Repeat("[", 100_000): "max depth",
	} {
		if _, err := load(t, "file", content); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", content, err, want)
		}
	}
	const many = 100_000
	taken := make(map[string]int)
	for range many {
		scenarioName("same", taken)
	}
	if name := scenarioName("same", taken); name != "same-100001" || scenarioName("same-7", taken) != "same-7-2" {
		t.Errorf("name of one more: got %s, want same-100001", name)
	}
}

// TestTurns counts a turn for a message, a call and an answer from the agent's first turn on.
func TestTurns(t *testing.T) {
	t.Parallel()
	content := `{"schema_version": "ATIF-v1.8", "steps": [{"source": "system", "message": "x"}, {"source": "user", "message": "x"},
		{"source": "agent", "message": "", "tool_calls": [{"function_name": "f"}], "observation": {"results": [{"content": "1"}]}}, {"source": "user", "message": "x"}]}`
	run, err := Load(t.Context(), written(t, "file", content), false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Rollouts()[0].Turns; got != 3 {
		t.Errorf("turns: got %d, want 3", got)
	}
}

// TestScenariosAndTrials reads scenarios whose names differ only in letters that directories lack,
// and a trial that comes twice: none becomes a scenario of its own.
func TestScenariosAndTrials(t *testing.T) {
	t.Parallel()
	content := "\ufeff" + `{"simulations": [{"task_id": "é"}, {"task_id": "è", "trial": 1}, {"task_id": "é", "trial": 1}, {"task_id": "è"}, {"task_id": "é"}]}`
	run, err := Load(t.Context(), written(t, "results.json", content), false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range run.Rollouts() {
		got = append(got, r.Name+" of "+r.Base)
	}
	want := []string{"__trial_0 of _", "_-2_trial_1 of _-2", "__trial_1 of _", "_-2_trial_0 of _-2", "__trial_2 of _"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rollouts (-want +got):\n%s", diff)
	}
}

// TestDirectoryOfTwoAgents rejects trajectories of two agents as one run.
func TestDirectoryOfTwoAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, agent := range []string{"one", "two"} {
		content := `{"schema_version": "ATIF-v1.8", "agent": {"name": "` + agent + `"}, "steps": [{"source": "user", "message": "x"}]}`
		if err := os.WriteFile(filepath.Join(dir, agent+".json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(t.Context(), dir, false, io.Discard); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "two.json is not readable: its agent is two") {
		t.Errorf("got %v, want that the agents differ", err)
	}
}

// TestDirectoryOfOtherFiles reads all files of a directory that can be read, by their content, and
// names the others.
func TestDirectoryOfOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const content = `{"schema_version": "ATIF-v1.8", "agent": {"name": "one"}, "steps": [{"source": "user", "message": "x"}]}`
	for _, name := range []string{"a.json", "b.eval", "c.txt", "d.md", "e.gz", "f.zip", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var warnings strings.Builder
	run, err := Load(t.Context(), dir, false, &warnings)
	if err != nil || len(run.Rollouts()) != 2 {
		t.Fatalf("got %v and %v, want the rollouts of a.json and b.eval", run, err)
	}
	want := "toolsandbox: left out of " + dir + ", because only its .json and .eval files are read: c.txt, d.md, e.gz, 1 more\n"
	if warnings.String() != want {
		t.Errorf("warnings: got %q, want %q", warnings.String(), want)
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`"caf\u00e9 \"x\""`: `café "x"`, "7": "7", "null": "", "": ""} {
		if got := idOf(json.RawMessage(raw)); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

// FuzzParse reads what anybody may have written.
func FuzzParse(f *testing.F) {
	f.Add([]byte(tau2))
	f.Add([]byte(`{"schema_version": "ATIF-v1.8", "steps": [{"source": "agent", "message": [{"type": "text", "text": "x"}], "tool_calls": [{"function_name": "f", "arguments": [1]}]}], "extra": {"score": "x"}}`))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := parse("file", data)
		if err == nil {
			run.run("file")
		} else if !errors.Is(err, ErrFormat) {
			t.Errorf("got %v, want %v", err, ErrFormat)
		}
	})
}
