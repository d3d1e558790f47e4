package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// writeSettings writes a settings file to a temporary directory and changes to it.
func writeSettings(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("mine.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSettingsFile runs with a settings file. The command line overrides the environment, and the
// environment overrides the file. The file may contain other commands' settings.
func TestSettingsFile(t *testing.T) {
	writeSettings(t, "agent: unhelpful\ntrials: 3\nseed: 5\nscenarios: [turn_off_wifi]\nout: out\ntoolhost-cached-sessions: 5\n")
	t.Setenv("TOOLSANDBOX_CONFIG", "mine.yaml")
	t.Setenv("TOOLSANDBOX_TRIALS", "2")
	mustRun(t, "--agent", "oracle")
	run := readRunFile(t, "out")
	if run.Agent.Name != "oracle" || run.Trials != 2 || run.Seed != 5 || run.Catalogue.Scenarios != 1 {
		t.Errorf("got %s, %d trials, seed %d and %d scenarios, want oracle, 2, 5 and 1", run.Agent.Name, run.Trials, run.Seed, run.Catalogue.Scenarios)
	}
	if given := strings.Join(run.Given, " "); given != "agent out scenarios seed trials" {
		t.Errorf("given: got %s, want the settings of file, environment and command line", given)
	}
}

// TestSettingsFileErrors checks that one line names file, line and key of a mistake, and no run
// starts.
func TestSettingsFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"trails: 3\n":                                "mine.yaml:1:1: trails: no setting has this name; did you mean trials?",
		"agent: oracle\ntrials: many\n":              `mine.yaml:2:1: trials: "many" given, expected a whole number, e.g. 3`,
		"agent: oracle\ntrials: 0\n":                 "mine.yaml:2:1: --trials: 0 given, expected 1 to 100000",
		"agent: orcale\n":                            `mine.yaml:1:1: --agent: unknown agent "orcale"; `,
		"output-dir: out\n":                          "mine.yaml:1:1: output-dir: no setting has this name",
		"scenario-dir: out\n":                        "mine.yaml:1:1: scenario-dir: no setting has this name",
		"agent: oracle\npreferred-tool-backend: X\n": "mine.yaml:2:1: --preferred-tool-backend: X given, but no tool in the built-in catalogue has",
		"config: other.yaml\n":                       "mine.yaml:1:1: config: no setting has this name",
		"rollouts: 5\n":                              "mine.yaml:1:1: rollouts: no setting has this name", // a flag of bench only
		"sync: never\n":                              `mine.yaml:1:1: sync: "never" given, expected interval or always`,
		"agentgw-limit: [opnai=rpm:5]\n":             `mine.yaml:1:1: agentgw-limit: no provider is called "opnai"`,
	} {
		writeSettings(t, text)
		code, _, stderr := command("run", "--config", "mine.yaml", "--out", "out", "turn_off_wifi")
		if _, err := os.Stat("out"); code != process.ExitUsage || !strings.HasPrefix(stderr, "toolsandbox: "+want) || strings.Count(stderr, "\n") != 1 || err == nil {
			t.Errorf("%q: got code %d, %q and a directory %t, want 2, %s and none", text, code, stderr, err == nil, want)
		}
	}
	if code, _, stderr := command("run", "--config", "missing.yaml"); code != process.ExitUsage || stderr != "toolsandbox: --config: open missing.yaml: no such file or directory\n" {
		t.Errorf("a missing file: got code %d and %q", code, stderr)
	}
}

// TestSettingsFileOfOtherCommands passes the file to other commands than run.
func TestSettingsFileOfOtherCommands(t *testing.T) {
	writeSettings(t, "max-message-bytes: 7\nagent: oracle\n")
	const want = "toolsandbox: mine.yaml:1:1: --max-message-bytes: 7 given, expected at least 65536\n"
	for _, line := range []string{
		"score out", "explain out turn_off_wifi", "sweep list", "session list", "tools --remote", "serve evaluator", "serve orchestrator",
	} {
		code, _, stderr := command(append(strings.Fields(line), "--config", "mine.yaml")...)
		if code != process.ExitUsage || stderr != want {
			t.Errorf("%s: got code %d and %q, want 2 and %q", line, code, stderr, want)
		}
	}
}
