package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// command runs the command line and returns exit code and output.
func command(args ...string) (code int, stdout, stderr string) {
	var out, output bytes.Buffer
	code = Main(args, &out, &output)
	return code, out.String(), output.String()
}

func mustRun(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := command(append([]string{"run"}, args...)...)
	if code != 0 {
		t.Fatalf("run %s: got code %d, want 0:\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

func readRunFile(t *testing.T, dir string) *results.Run {
	t.Helper()
	run, err := results.ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// TestRunRecord checks run.json: players, flags, seed and times. Repeated runs differ only in their
// times, and a resumed run keeps its first start.
func TestRunRecord(t *testing.T) {
	t.Setenv("TOOLSANDBOX_SEED", "7")
	t.Chdir(t.TempDir())
	args := []string{"--agent", "random", "--out", "out", "-p", "2", "turn_off_wifi"}
	var runs []*results.Run
	for range 2 {
		mustRun(t, args...)
		runs = append(runs, readRunFile(t, "out"))
		if len(runs) == 1 {
			if err := os.Rename("out", "first"); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := runs[0]
	if run.Ended == nil || run.Ended.Before(run.Started) || run.Seed != 7 || run.Agent.Name != "random" || run.User.Name != "scripted" {
		t.Errorf("got %+v, want players, seed and times", run)
	}
	if diff := cmp.Diff([]string{"agent", "out", "parallel", "seed"}, run.Given); diff != "" {
		t.Errorf("flags given (-want +got):\n%s", diff)
	}
	if f := run.Flags; f["parallel"] != "2" || f["seed"] != "7" || f["trials"] != "1" || f["variants"] != "[plain]" || f["out"] != "out" {
		t.Errorf("flags: got %v, want those given and the defaults", f)
	}
	if len(run.Packs) != 1 || run.Packs[0].From != "phone" || len(run.Packs[0].Digest) != 64 || run.Packs[0].Scenarios < 2 || run.Catalogue.Scenarios != 1 {
		t.Errorf("got packs %+v and catalogue %+v, want all scenarios and the selected one", run.Packs, run.Catalogue)
	}
	if diff := cmp.Diff(program(), run.Program); diff != "" || run.Program.Go == "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}
	runs[1].Started, runs[1].Ended, runs[1].Sessions, runs[1].Seconds = run.Started, run.Ended, run.Sessions, run.Seconds
	runs[1].Rollouts[0].Seconds = run.Rollouts[0].Seconds
	if diff := cmp.Diff(run, runs[1]); diff != "" {
		t.Errorf("the same again (-first +second):\n%s", diff)
	}
	mustRun(t, append(args, "--resume", "-p", "3")...)
	again := readRunFile(t, "out")
	if diff := cmp.Diff(run.Flags, again.Flags); diff != "" || !again.Started.Equal(readRunFile(t, "out").Started) || len(again.Resumptions) != 1 {
		t.Fatalf("resumed: got %+v, want the flags of the first start and one resumption (-want +got):\n%s", again, diff)
	}
	if diff := cmp.Diff(map[string]string{"parallel": "3"}, again.Resumptions[0].Flags); diff != "" || len(again.Sessions) != 2 || again.Sessions[1].Ended == nil {
		t.Errorf("flags of the resumption (-want +got):\n%s", diff)
	}
	mustRun(t, "--replay", "out", "--out", "replayed")
	if replayed := readRunFile(t, "replayed"); replayed.Seed != 7 || replayed.Packs != nil || replayed.Catalogue != run.Catalogue || replayed.Agent.Name != "random" {
		t.Errorf("replayed: got %+v, want what was replayed", replayed)
	}
}

// TestNoSecrets checks that no file of a run contains keys.
func TestNoSecrets(t *testing.T) {
	const key = "sk-very-secret"
	t.Setenv("OPENAI_API_KEY", key)
	server := httptest.NewServer(chatHandler(t))
	defer server.Close()
	out := filepath.Join(t.TempDir(), "out")
	mustRun(t, "--agent", "openai:m", "--user", "scripted", "--base-url", server.URL+"/v1", "--data-dir", filepath.Join(t.TempDir(), key), "--out", out, "turn_off_wifi")
	run := readRunFile(t, out)
	if m := run.Agent.Model; m == nil || m.Provider != "openai" || m.Model != "m" || m.BaseURL != server.URL+"/v1" {
		t.Errorf("model: got %+v, want provider and address", m)
	}
	err := filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(key)) {
			t.Errorf("%s holds the key:\n%s", path, raw)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLongResumeOther checks that --resume with other flags names the differences and changes
// nothing.
func TestLongResumeOther(t *testing.T) {
	t.Chdir(t.TempDir())
	turns := "- say: Wifi is off.\n"
	if err := errors.Join(os.WriteFile("turns.yaml", []byte(turns), 0o600), os.WriteFile("other.yaml", []byte("- say: No.\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	first := []string{"--agent", "scripted:turns.yaml", "--out", "out", "turn_off_wifi"}
	mustRun(t, first...)
	before := readRunFile(t, "out")
	const begin = "toolsandbox: --resume: the run in out started with other flags, which change results: "
	const end = ": repeat its flags, or choose another --out\n"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--agent", "oracle", "--out", "out", "turn_off_wifi"}, begin + "--agent was scripted:turns.yaml, is oracle" + end},
		{append(first, "--trials", "2", "--seed", "5", "--compat"), begin + "--trials was 1, is 2, --seed was 0, is 5, --compat was false, is true" + end},
		{append(first, "which_mateo"), begin + "NAME was turn_off_wifi, is turn_off_wifi which_mateo" + end},
		{append(first, "--max-rollout-bytes", "2048"), begin + "--max-rollout-bytes was 4194304, is 2048" + end},
		{append(first, "--services", "live"), begin + "--services was not given, is live" + end},
		{append(first, "--services", "live", "--toolhost-service-url", "http://localhost:1"), begin + "--services was not given, is live, --toolhost-service-url was not given, is http://localhost:1" + end},
		{append(first, "--sweep-id", "mine"), "toolsandbox: --sweep-id: mine given, but the run in out is called " + before.SweepID + "\n"},
		{append(first, "--data-dir", "nowhere"), "toolsandbox: --resume: the rollouts of the run in out are not in nowhere: repeat its --data-dir or --remote, or choose another --out\n"},
	} {
		code, _, stderr := command(append(append([]string{"run"}, test.args...), "--resume")...)
		if code != process.ExitUsage || stderr != test.want {
			t.Errorf("%v: got code %d and %q, want 2 and %q", test.args, code, stderr, test.want)
		}
	}
	if err := os.Rename("other.yaml", "turns.yaml"); err != nil {
		t.Fatal(err)
	}
	_, _, stderr := command(append(append([]string{"run"}, first...), "--resume")...)
	if want := "toolsandbox: --resume: files that flags name have changed since the run in out started: "; !strings.HasPrefix(stderr, want) {
		t.Errorf("a changed script: got %q, want %q", stderr, want)
	}
	if diff := cmp.Diff(before, readRunFile(t, "out")); diff != "" {
		t.Errorf("%s has changed (-before +after):\n%s", results.RunFile, diff)
	}
	if err := os.WriteFile("turns.yaml", []byte(turns), 0o600); err != nil {
		t.Fatal(err)
	}
	// These flags select the same scenarios or do not change results.
	mustRun(t, "--agent", "scripted:turns.yaml", "--out", "out", "--resume", "--scenarios", "turn_off_w*", "--log-level", "error", "--orchestrator-respond-timeout", "50s", "-p", "1")
}

// TestDirectoryOfAnotherProgram checks that run does not write to a directory with files that are
// not of a run.
func TestDirectoryOfAnotherProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.MkdirAll("mine/trajectories", 0o755), os.MkdirAll("notes", 0o755), os.WriteFile("notes/todo.txt", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for out, want := range map[string]string{
		"mine":  "--out: mine holds trajectories, which is not of a run: choose an empty or a new directory",
		"notes": "--out: notes holds todo.txt, which is not of a run: choose an empty or a new directory",
		"":      "--out: empty, expected a directory for the results",
	} {
		code, _, stderr := command("run", "--agent", "oracle", "--out", out, "turn_off_wifi")
		if code != process.ExitUsage || stderr != "toolsandbox: "+want+"\n" {
			t.Errorf("--out %q: got code %d and %q, want 2 and %q", out, code, stderr, want)
		}
	}
	entries, err := os.ReadDir("mine")
	if err != nil || len(entries) != 1 {
		t.Errorf("mine: got %v and %v, want it as it was", entries, err)
	}
	for _, left := range []string{".toolsandbox", "empty"} { // from a failed start
		if err := os.MkdirAll(filepath.Join("fresh", left), 0o755); err != nil {
			t.Fatal(err)
		}
		if left == "empty" {
			if err := os.Remove("fresh/empty"); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustRun(t, "--agent", "oracle", "--out", "fresh", "turn_off_wifi")
}

// TestLongDamagedFiles checks that one line says how to restore a truncated file.
func TestLongDamagedFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"--agent", "oracle", "--out", "out", "turn_off_wifi"}
	mustRun(t, args...)
	for _, file := range []string{"out/trajectories/turn_off_wifi/execution_context.json", "out/result_summary.json"} {
		complete, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []string{"", string(complete[:len(complete)/2]), "NaN"} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"score", "out"}, {"explain", "out", "turn_off_wifi"}} {
				code, _, stderr := command(args...)
				if code != 1 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "toolsandbox: "+file+" is damaged: ") ||
					!strings.HasSuffix(stderr, ": toolsandbox run --out out --resume with the run's flags writes it again, --accept-edits reads it as it is\n") {
					t.Errorf("%v with %q: got code %d and %q, want one line that says what to do", args, content, code, stderr)
				}
			}
		}
		mustRun(t, append(args, "--resume")...)
		again, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(complete, again) {
			t.Errorf("%s after --resume: got %s and %v, want %s", file, again, err, complete)
		}
	}
	record, err := os.ReadFile("out/run.json")
	if err != nil || !json.Valid(record) {
		t.Fatalf("got %s and %v, want JSON", record, err)
	}
	if err := os.WriteFile("out/run.json", record[:len(record)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := command(append(append([]string{"run"}, args...), "--resume")...)
	if want := "toolsandbox: --resume: out/run.json is damaged: "; code != process.ExitUsage || !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 ||
		!strings.HasSuffix(stderr, ": restore a copy of it, or start the run again with another --out\n") {
		t.Errorf("--resume: got code %d and %q, want %q and what to do", code, stderr, want)
	}
	for _, args := range [][]string{{"score", "out"}, {"explain", "out", "turn_off_wifi"}, {"report", "out"}, {"export", "out", "--to", "atif", "--out", "atif"}} {
		if code, _, stderr := command(args...); code != 1 || !strings.Contains(stderr, "out/run.json is damaged: ") ||
			!strings.HasSuffix(stderr, ": restore a copy of it; it has the digests of the other files, which are read unverified without it\n") {
			t.Errorf("%v: got code %d and %q, want that run.json is damaged", args, code, stderr)
		}
	}
}

// TestChangedSummary changes a digit of a summary. Every command that reads it refuses it, unless
// it is told that the change is on purpose.
func TestChangedSummary(t *testing.T) {
	t.Chdir(t.TempDir())
	mustRun(t, "--agent", "oracle", "--out", "out", "turn_off_wifi")
	const file = "out/result_summary.json"
	summary, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(summary, []byte(`"similarity": 1.0`), []byte(`"similarity": 0.9`), 1)
	if err := os.WriteFile(file, changed, 0o600); err != nil || bytes.Equal(changed, summary) {
		t.Fatalf("change of %s: got %v", summary, err)
	}
	for _, args := range [][]string{{"score", "out"}, {"explain", "out", "turn_off_wifi"}, {"compare", "out", "out"}} {
		if code, stdout, stderr := command(args...); code != 1 || stdout != "" || !strings.Contains(stderr, file+" is damaged: not as the run wrote it") {
			t.Errorf("%v: got code %d, %q and %q, want that the summary is not that of the run", args, code, stdout, stderr)
		}
		code, stdout, stderr := command(append(args, "--accept-edits")...)
		if code != 0 || stdout == "" || !strings.Contains(stderr, file+" was changed after the run") {
			t.Errorf("%v with --accept-edits: got code %d, %q and %q, want results and a warning", args, code, stdout, stderr)
		}
	}
	if code, _, stderr := command("score", "out", "--write", "--accept-edits"); code != process.ExitUsage || !strings.Contains(stderr, "--write: ") {
		t.Errorf("--write: got code %d and %q, want that changed files give no scores to write", code, stderr)
	}
}

// TestVersion checks that the command and the flag print version and commit in one line.
func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		if code, stdout, _ := command(arg); code != 0 || stdout != programText()+"\n" || !strings.HasPrefix(stdout, "toolsandbox ") || !strings.Contains(stdout, ", commit ") {
			t.Errorf("%s: got code %d and %q, want %q", arg, code, stdout, programText())
		}
	}
	if code, _, _ := command("version", "now"); code != process.ExitUsage {
		t.Errorf("version now: got code %d, want 2", code)
	}
}
