package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// TestExitCodes runs each command that has an exit code of its own.
func TestExitCodes(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	t.Setenv("OPENAI_API_KEY", "k")
	t.Setenv("OPENAI_BASE_URL", server.URL)
	for name, text := range map[string]string{
		"broken.yaml": "mine: [\n", "loose.yaml": "mine:   {user: {goal: Greet., says: Hello}}\n", "broken.json": "{",
		"broken/pack.yaml": "name: broken\n", "broken/mine.yaml": "mine: {user: 3}\n",
		"unproven/pack.yaml": "name: unproven\n", "unproven/mine.yaml": unproven,
	} {
		if folder, _, ok := strings.Cut(name, "/"); ok {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := map[string]string{
		"run":               "run --agent openai:m --out failed turn_off_wifi",
		"scenario validate": "scenario validate --pack broken",
		"pack validate":     "pack validate broken",
		"scenario prove":    "scenario prove --pack unproven",
		"pack prove":        "pack prove unproven",
		"scenario fmt":      "scenario fmt --check loose.yaml",
		"scenario import":   "scenario import broken.json --out imported",
		"bench":             "bench --agent openai:m --rollouts 1 turn_off_wifi",
	}
	elsewhere := []string{"session replay", "sweep watch"} // TestReplayFindsDifferences of runs/session, TestSweepCommands of e2e
	for _, exit := range exitCodes() {
		for _, name := range exit.commands {
			cmd, rest, err := newRoot().Find(strings.Fields(name))
			if err != nil || len(rest) > 0 || !strings.Contains(strings.ReplaceAll(cmd.Long, "\n", " "), exit.meaning) {
				t.Errorf("%s: got the command %v, %v and its help %q, want %q in it", name, cmd.CommandPath(), err, cmd.Long, exit.meaning)
			}
			line, ok := lines[name]
			if !ok && slices.Contains(elsewhere, name) || exit.code == process.ExitCancelled { // TestLongCancelledSweep of e2e
				continue
			}
			if code, stdout, stderr := command(strings.Fields(line)...); code != exit.code {
				t.Errorf("%s: got code %d, want %d\n%s%s", line, code, exit.code, stdout, stderr)
			}
		}
	}
	for line, want := range map[string]int{"version": 0, "run": 2, "nonsense": 2, "completion bash nonsense": 2, "run --agent oracle --pack nowhere": 2, "explain nowhere x": 2, "scenario show nothing": 2} {
		if code, _, stderr := command(strings.Fields(line)...); code != want {
			t.Errorf("%s: got code %d, want %d\n%s", line, code, want, stderr)
		}
	}
}

// TestExitCodeOfOtherKind gives commands a file in place of a directory, or the other way round.
func TestExitCodeOfOtherKind(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, stderr := command("run", "--agent", "oracle", "--out", "out", "turn_off_wifi"); code != 0 {
		t.Fatalf("got code %d\n%s", code, stderr)
	}
	if err := os.WriteFile("file", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"run --agent oracle --out file turn_off_wifi", "run --agent oracle --out file/out turn_off_wifi", "run --agent oracle --out file --resume turn_off_wifi",
		"run --agent oracle --out new --data-dir file turn_off_wifi", "run --replay file --out new", "run --fork file/turn_off_wifi@1 --out new",
		"score file", "explain file turn_off_wifi", "explain out turn_off_wifi --html out", "export file --to csv --out new", "export out --to atif --out file",
		"view out --export file", "report out --plots file", "session list --out file", "sweep list --out file", "pack new file",
	} {
		if code, stdout, stderr := command(strings.Fields(line)...); code != process.ExitUsage || !strings.Contains(stderr, "file") && !strings.Contains(stderr, "out") {
			t.Errorf("%s: got code %d and\n%s%s\nwant %d and the path", line, code, stdout, stderr, process.ExitUsage)
		}
	}
	if _, _, stderr := command("score", "file"); !strings.Contains(stderr, "RUN: file holds no finished run") {
		t.Errorf("score file: got %s, want that it holds no run", stderr)
	}
}

// unproven is a scenario without a solution.
const unproven = `mine:
  clock: {now: 2025-01-02T09:00:00, time_zone: UTC}
  tables: {setting: [{wifi: true}]}
  categories: [SINGLE_USER_TURN]
  extra_tools: all
  user: {goal: Be greeted., says: Hello}
  milestones:
    greeted: {says: Hello}
`
