package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// modelServer answers every request with a refusal of 1000 tokens, or with its status.
type modelServer struct {
	*httptest.Server
	asked, status atomic.Int32
	// cold counts requests with a temperature of 0.
	cold atomic.Int32
	// silent leaves the tokens out of answers.
	silent atomic.Bool
}

func newModelServer(t *testing.T) *modelServer {
	t.Helper()
	s := &modelServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status := int(s.status.Load()); status != 0 {
			http.Error(w, `{"error":{"message":"broken"}}`, status)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		s.asked.Add(1)
		if strings.Contains(string(body), `"temperature":0`) {
			s.cold.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		usage := `{"prompt_tokens":900,"completion_tokens":100,"total_tokens":1000}`
		if s.silent.Load() {
			usage = "null"
		}
		_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":"Sorry."},"finish_reason":"stop"}],"usage":%s}`, usage)
	}))
	t.Cleanup(s.Close)
	t.Setenv("OPENAI_API_KEY", "k")
	return s
}

// experiment runs the settings of mine.yaml.
func experiment(args ...string) (code int, stdout, stderr string) {
	return command(append([]string{"run", "--config", "mine.yaml", "--out", "out", "--probe=false", "--floors=false", "--wait", "0s"}, args...)...)
}

// TestExperiment plays agents with settings of their own. One that cannot play stops no other one;
// --resume plays it and asks no other model again.
func TestExperiment(t *testing.T) {
	works, broken := newModelServer(t), newModelServer(t)
	broken.status.Store(http.StatusUnauthorized)
	writeSettings(t, fmt.Sprintf(`scenarios: [turn_off_wifi]
agent:
  - oracle
  - {name: cold, agent: "openai:a", base-url: %q, temperature: 0}
  - {name: broken, agent: "openai:b", base-url: %q}
  - unhelpful
`, works.URL, broken.URL))
	code, _, stderr := experiment()
	if code != 1 || !strings.Contains(stderr, "toolsandbox: agent=broken: ") || !strings.Contains(stderr, "run 4 of 4: agent=unhelpful\n") {
		t.Errorf("with a broken server: got %d and\n%s\nwant 1 and the broken one", code, stderr)
	}
	asked := works.asked.Load()
	if cold := works.cold.Load(); asked == 0 || cold != asked {
		t.Errorf("requests with a temperature of 0: got %d of %d, want all", cold, asked)
	}
	for name, want := range map[string]string{"oracle": "oracle", "cold": "openai:a", "unhelpful": "unhelpful"} {
		run := readRunFile(t, filepath.Join("out", "agent="+name))
		if run.Agent.Name != want || run.Totals.Scored != 1 || run.Flags["agent"] != want {
			t.Errorf("%s: got agent %s, %d scored and --agent %s, want %s, 1 and the same", name, run.Agent.Name, run.Totals.Scored, run.Flags["agent"], want)
		}
	}
	broken.status.Store(0)
	if code, _, stderr := experiment("--resume"); code != 0 || works.asked.Load() != asked || broken.asked.Load() == 0 || broken.cold.Load() != 0 {
		t.Errorf("resumed: got %d, %d requests to the first server and %d to the other, %d of them cold, want 0, %d, some and 0\n%s",
			code, works.asked.Load(), broken.asked.Load(), broken.cold.Load(), asked, stderr)
	}
	if code, _, stderr := experiment(); code != process.ExitUsage || !strings.Contains(stderr, "--out: out holds an experiment: continue it with its --config and --resume") {
		t.Errorf("again without --resume: got %d and %s", code, stderr)
	}
}

// TestExperimentSpendLimit plays until the runs of an experiment together have reached the limit.
func TestExperimentSpendLimit(t *testing.T) {
	server := newModelServer(t)
	writeSettings(t, fmt.Sprintf("scenarios: [turn_off_wifi]\nagent: openai:a\nbase-url: %q\nseed: [1, 2, 3]\n", server.URL))
	code, _, stderr := experiment("--spend-tokens", "2500")
	if want := "toolsandbox: seed=3: budget of openai: spend limit reached: "; code != 1 || !strings.Contains(stderr, want) || server.asked.Load() != 2 {
		t.Errorf("got %d, %d requests and\n%s\nwant 1, 2 and\n%s", code, server.asked.Load(), stderr, want)
	}
	code, _, stderr = experiment("--spend-tokens", "500", "--resume")
	const reached = "toolsandbox: seed=1: the other runs of the experiment have reached its spend limit: raise it; the runs after it (2) have not been played: --out out --resume plays them\n"
	if code != 1 || !strings.HasSuffix(stderr, reached) || server.asked.Load() != 2 {
		t.Errorf("with a lower limit: got %d, %d requests and\n%s\nwant 1, 2 and\n%s", code, server.asked.Load(), stderr, reached)
	}
	if code, _, stderr = experiment("--spend-tokens", "15000", "--resume"); code != 0 || server.asked.Load() != 3 {
		t.Errorf("with a higher limit: got %d, %d requests and\n%s\nwant 0 and 3", code, server.asked.Load(), stderr)
	}
}

// TestExperimentEstimates counts the estimates of tokens that a server does not report against the
// limit of all runs, as it does within a run.
func TestExperimentEstimates(t *testing.T) {
	server := newModelServer(t)
	server.silent.Store(true)
	writeSettings(t, fmt.Sprintf("scenarios: [turn_off_wifi]\nagent: openai:a\nbase-url: %q\nseed: [1, 2, 3]\n", server.URL))
	_, _, stderr := experiment("--spend-tokens", "1")
	_, needs, _ := strings.Cut(stderr, "the next request needs about ")
	var estimate int
	if _, err := fmt.Sscanf(needs, "%d tokens", &estimate); err != nil {
		t.Fatalf("got %s, want an estimate: %v", stderr, err)
	}
	code, _, stderr := experiment("--resume", "--spend-tokens", strconv.Itoa(2*estimate+estimate/2))
	if want := "toolsandbox: seed=3: budget of openai: spend limit reached: "; code != 1 || !strings.Contains(stderr, want) || server.asked.Load() != 2 {
		t.Errorf("got %d, %d requests and\n%s\nwant 1, 2 and\n%s", code, server.asked.Load(), stderr, want)
	}
}

// TestExperimentErrors checks that mistakes are reported with their place before anything is
// played.
func TestExperimentErrors(t *testing.T) {
	long := strings.Repeat("n", 60)
	for text, want := range map[string]string{
		strings.ReplaceAll("agent: [{name: N, agent: oracle}]\nseed: [{name: N, seed: 1}]\nuser-prompt: [{name: N, user-prompt: goal}]\nuser-sees: [{name: N, user-sees: calls}]\n", "N", long): "mine.yaml:4:1: user-sees: with it a combination has a name of 276 bytes, expected at most 255, as a directory's: give alternatives shorter names",
		"agent: [oracle, orcale]\nseed: [1, 2]\n":                                     `mine.yaml:1:17: --agent: unknown agent "orcale"; `,
		"agent: [oracle, {agent: unhelpful, temperature: 1}]\n":                       "mine.yaml:1:36: --temperature: given, but --agent is not a model",
		"agent: oracle\nuser: [scripted, {name: again, user: scripted, trials: 0}]\n": "mine.yaml:2:48: --trials: 0 given, expected 1 to 100000",
		"agent: oracle\nseed: [1, 010]\n":                                             `mine.yaml:2:11: seed: "010" given, expected a whole number, e.g. 3`,
		"agent: oracle\ntrials: 010\n":                                                `mine.yaml:2:1: trials: "010" given, expected a whole number, e.g. 3`,
		"agent: [oracle]\nsweep-id: night\n":                                          "mine.yaml:2:1: --sweep-id: given, but the settings file lists alternatives",
		"agent: [oracle, unhelpful]\nagainst: [oracle]\n":                             "mine.yaml:2:1: --against: given, but the settings file lists alternatives",
		"agent: [oracle, unhelpful]\nuntil-decided: true\n":                           "mine.yaml:2:1: --until-decided: given, but the settings file lists alternatives",
		"agent: [oracle, unhelpful]\nuntil-width: 0.1\n":                              "mine.yaml:2:1: --until-width: given, but the settings file lists alternatives",
		"agent: [oracle]\nparallel: [1, 2]\n":                                         "mine.yaml:2:1: parallel: a list given, expected a whole number, e.g. 64",
		"agent: [{agent: oracle, parallel: 2}]\n":                                     "mine.yaml:1:25: parallel: one value holds for all alternatives: set it at the top of the file",
	} {
		writeSettings(t, text)
		code, _, stderr := experiment("turn_off_wifi")
		if _, err := os.Stat("out"); code != process.ExitUsage || !strings.HasPrefix(stderr, "toolsandbox: "+want) || strings.Count(stderr, "\n") != 1 || err == nil {
			t.Errorf("%q: got code %d, %q and a directory %t, want 2, %s and none", text, code, stderr, err == nil, want)
		}
	}
}

// TestExperimentOfAnotherShape resumes with a settings file that lists other alternatives: a new
// one is played, and the run of one that has gone stays part of the experiment.
func TestExperimentOfAnotherShape(t *testing.T) {
	writeSettings(t, "agent: [oracle, unhelpful]\nscenarios: [turn_off_wifi]\n")
	if code, _, stderr := experiment(); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.WriteFile("mine.yaml", []byte("agent: [oracle, random]\nscenarios: [turn_off_wifi]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := experiment("--resume"); code != 0 {
		t.Fatal(stderr)
	}
	runs, without, err := results.RunsOf("out")
	if want := "out/agent=oracle out/agent=random out/agent=unhelpful"; err != nil || strings.Join(runs, " ") != want || len(without) > 0 {
		t.Errorf("runs: got %v, %v without results, %v, want %s", runs, without, err, want)
	}
	code, _, stderr := experiment("--resume", "--trials", "2")
	if code != process.ExitUsage || !strings.Contains(stderr, "out/agent=oracle started with other flags, which change results: --trials was 1, is 2") {
		t.Errorf("with other trials: got %d and %s", code, stderr)
	}
}

// TestExperimentReportedInPart reports an experiment some of whose runs have no results: it names
// them. Files of a run that was killed are none.
func TestExperimentReportedInPart(t *testing.T) {
	writeSettings(t, "agent: [oracle, unhelpful, random]\nscenarios: [turn_off_wifi]\nresults: [parquet]\n")
	if code, _, stderr := experiment(); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.RemoveAll("out/agent=random"); err != nil {
		t.Fatal(err)
	}
	killed := readRunFile(t, "out/agent=unhelpful")
	killed.Totals, killed.Ended = nil, nil
	if err := results.WriteRun("out/agent=unhelpful", killed); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command("report", "out")
	const want = "toolsandbox: 2 of the 3 runs of the experiment in out have no results, and are missing here: agent=unhelpful, agent=random; toolsandbox run --out out --resume with its flags plays them\n"
	if code != 0 || !strings.HasPrefix(stdout, "A: out/agent=oracle, ") || strings.Contains(stdout, "B: ") || stderr != want {
		t.Errorf("got %d, %s and\n%s\nwant 0, one run and\n%s", code, stdout, stderr, want)
	}
}

// TestSettingsSchema compares the schema beside the example with the flags of the program, and
// settings that it accepts or rejects with those that run does.
func TestSettingsSchema(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "examples", "experiment")
	code, printed, stderr := command("config", "--schema")
	if code != 0 {
		t.Fatal(stderr)
	}
	if *update {
		if err := os.WriteFile(filepath.Join(dir, "schema.json"), []byte(printed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(filepath.Join(dir, "schema.json"))
	if err != nil || string(committed) != printed {
		t.Errorf("examples/experiment/schema.json: got %v and another schema; go test ./cmd/toolsandbox/internal/cli -run TestSettingsSchema -update writes it", err)
	}
	schema := compiledSchema(t, printed)
	example, err := os.ReadFile(filepath.Join(dir, "experiment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		string(example): true,
		"agent: oracle\ntrials: 3\nscenarios: a,b\n":     true,
		"seed: [1, 2]\ntemperature: 0.5\n":               true,
		"agent: [{agent: a, scenarios: [x], name: a}]\n": true,
		"toolhost-cached-sessions: 5\n":                  true,
		"agent: [{scenarios: [x]}]\n":                    false,
		"agent: []\n":                                    false,
		"parallel: [1, 2]\n":                             false,
		"agent: [{agent: a, parallel: 2}]\n":             false,
		"agent: [{agent: a, name: a/b}]\n":               false,
		"trials: many\n":                                 false,
		"trails: 3\n":                                    false,
	} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != valid {
			t.Errorf("%q: schema: got %v, want valid %t", text, err, valid)
		}
		path := filepath.Join(t.TempDir(), "settings.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := command("config", "--config", path); (code == 0) != valid {
			t.Errorf("%q: config: got %d and %s, want valid %t", text, code, stderr, valid)
		}
	}
}

func compiledSchema(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSessionsOfExperiment names a rollout of one run of an experiment, whose runs share their
// data.
func TestSessionsOfExperiment(t *testing.T) {
	writeSettings(t, "scenarios: [turn_off_wifi]\nagent: [oracle, unhelpful]\n")
	if code, _, stderr := experiment("--trials", "2"); code != 0 {
		t.Fatalf("got %d and\n%s", code, stderr)
	}
	for _, agent := range []string{"oracle", "unhelpful"} {
		run, err := results.ReadRun(filepath.Join("out", "agent="+agent))
		if err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := command("session", "show", "turn_off_wifi_trial_1", "--table", "SETTING", "--out", filepath.Join("out", "agent="+agent))
		if want := "session " + run.Rollouts[1].ID + ","; code != 0 || !strings.HasPrefix(stdout, want) {
			t.Errorf("%s: got %d,\n%s%s\nwant %s", agent, code, stdout, stderr, want)
		}
		code, stdout, stderr = command("session", "exchanges", "turn_off_wifi_trial_1", "--out", filepath.Join("out", "agent="+agent))
		if want := "no exchange with a model is recorded of session " + run.Rollouts[1].ID; code != 0 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: exchanges: got %d,\n%s%s\nwant %s", agent, code, stdout, stderr, want)
		}
	}
}
