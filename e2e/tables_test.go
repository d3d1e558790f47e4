package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/s3test"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/runs/interchange"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestLongTablesSurviveKills kills a run whose results are tables several times. The finished parts
// are readable after each kill. After the last --resume every rollout is there once, as an
// undisturbed run with files has it.
func TestLongTablesSurviveKills(t *testing.T) {
	t.Parallel()
	flags := []string{"run", "--agent", "random", "--parallel", "4"}
	calm, broken := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "broken")
	toolsandbox(t, append(flags, "--out", calm)...)
	flags = append(flags, "--out", broken, "--results", "parquet")
	interruptAt(t, os.Kill, 1, flags...)
	for i, line := range []int{3, 5, 6, 8} {
		signal := os.Kill
		if i == 2 {
			signal = os.Interrupt
		}
		before, err := results.ReadRun(broken)
		if err != nil {
			t.Fatal(err)
		}
		interruptAt(t, signal, line, append(flags, "--resume")...)
		after, err := results.ReadRun(broken)
		if err != nil {
			t.Fatal(err)
		}
		if len(after.Rollouts) < len(before.Rollouts) {
			t.Errorf("kill %d: got %d rollouts, then %d", i, len(before.Rollouts), len(after.Rollouts))
		}
	}
	toolsandbox(t, append(flags, "--resume")...)
	equalTables(t, calm, broken)
	if parts, err := filepath.Glob(filepath.Join(broken, results.TablesDirectory, "*", "*")); err != nil || len(parts) > 30 {
		t.Errorf("got %d files and %v, want at most 5 parts: %v", len(parts), err, parts)
	}
	toolsandbox(t, append(flags, "--resume")...) // of a complete run
	equalTables(t, calm, broken)
}

// TestLongBucketSurvivesKills kills a run whose results go to a bucket. Finished parts are readable
// after each kill. After the last --resume every rollout is there once, as an undisturbed run has
// it. Meanwhile no other run may write there.
func TestLongBucketSurvivesKills(t *testing.T) {
	address := s3test.Start(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // the services' data
	plug, turns := rationed(t)
	flags := []string{"run", "--agent", plug, "--parallel", "4"}
	calm := filepath.Join(t.TempDir(), "calm")
	const broken = "s3://bucket/runs/broken"
	toolsandbox(t, append(flags, "--out", calm)...)
	flags = append(flags, "--out", broken, "--results", "files,parquet")
	turns.set(240) // of 362
	interruptAt(t, os.Kill, 3, flags...)
	turns.set(unlimited)
	if record, err := results.ReadRunFile(broken); err != nil || record.Ended != nil {
		t.Fatalf("after the kill: got %v, want a run without an end", err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), flags...)
	printed, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || !strings.Contains(string(printed), broken+" holds a run") {
		t.Errorf("another run: got %v\n%s", err, printed)
	}
	if strings.Contains(string(printed), s3test.Environment(address)["AWS_SECRET_ACCESS_KEY"]) {
		t.Error("the secret key is printed")
	}
	interruptAt(t, os.Kill, 6, append(flags, "--resume")...)
	toolsandbox(t, append(flags, "--resume")...)
	equalTables(t, calm, broken)
	for _, command := range [][]string{{"report", broken}, {"score", broken}, {"compare", calm, broken}, {"export", broken, "--to", "csv", "--table", "causes"}} {
		if toolsandbox(t, command...) == "" {
			t.Errorf("%q prints nothing", command)
		}
	}
}

// equalTables compares a run with files and one with tables as every command reads them.
func equalTables(t *testing.T, files, tables string) {
	t.Helper()
	var readers []*results.Reader
	for _, dir := range []string{files, tables} {
		reader, err := results.Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, reader)
	}
	want, got := readers[0].Run(), readers[1].Run()
	if diff := cmp.Diff(want.Rollouts, got.Rollouts, cmpopts.IgnoreFields(results.Outcome{}, "Seconds")); diff != "" {
		t.Errorf("rollouts (-files +tables):\n%s", diff)
	}
	if diff := cmp.Diff(want.Totals, got.Totals); diff != "" {
		t.Errorf("totals (-files +tables):\n%s", diff)
	}
	summaries := make([]any, 2)
	for i, reader := range readers {
		summary, err := reader.Summary()
		if err != nil {
			t.Fatal(err)
		}
		summaries[i] = summary.With(summary.Scenarios)
	}
	if diff := cmp.Diff(summaries[0], summaries[1]); diff != "" {
		t.Errorf("summary (-files +tables):\n%s", diff)
	}
	for _, rollout := range want.Rollouts {
		var trajectories []any
		for _, reader := range readers {
			trajectory, err := reader.Trajectory(rollout.Name, world.Builtin())
			if err != nil {
				t.Fatal(err)
			}
			trajectories = append(trajectories, trajectory)
		}
		if diff := cmp.Diff(trajectories[0], trajectories[1], protocmp.Transform()); diff != "" {
			t.Fatalf("%s (-files +tables):\n%s", rollout.Name, diff)
		}
	}
}

// TestLongTablesInPython reads the tables of a run with pandas, polars, DuckDB and pyarrow.
func TestLongTablesInPython(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	toolsandbox(t, "run", "--agent", "random", "--trials", "2", "--results", "files,parquet", "--out", out)
	script := pythonIn(t, "readers", filepath.Join("testdata", "readers", "tables.py"))
	script.Args = append(script.Args, out)
	if printed, err := script.CombinedOutput(); err != nil || !strings.Contains(string(printed), "matched milestones") {
		t.Errorf("got %v\n%s", err, printed)
	}
}

// TestLongFormatsInPython exports a run and reads it with harbor, Inspect and the schemas of Every
// Eval Ever. An export replaces no file.
func TestLongFormatsInPython(t *testing.T) {
	t.Parallel()
	out, exports := filepath.Join(t.TempDir(), "out"), t.TempDir()
	toolsandbox(t, "run", "--agent", "random", "--trials", "2", "--out", out)
	for _, format := range interchange.Formats() {
		export := []string{"export", out, "--to", format, "--out", filepath.Join(exports, format)}
		toolsandbox(t, export...)
		if code, printed := attempt(t, export...); code != 2 || !strings.Contains(printed, "file already exists") {
			t.Errorf("second export to %s: got code %d and %s, want 2 and the file that exists", format, code, printed)
		}
	}
	script := pythonIn(t, "readers", filepath.Join("testdata", "readers", "formats.py"))
	script.Args = append(script.Args, out, exports)
	if printed, err := script.CombinedOutput(); err != nil || !strings.Contains(string(printed), "all read") {
		t.Errorf("got %v\n%s", err, printed)
	}
	readForeign(t, out, exports)
	if err := os.RemoveAll(filepath.Join(out, results.TrajectoriesDirectory, "turn_off_wifi_trial_1")); err != nil {
		t.Fatal(err)
	}
	for _, format := range interchange.Formats() {
		if code, printed := attempt(t, "export", out, "--to", format, "--out", filepath.Join(exports, "less", format)); code != 1 || !strings.Contains(printed, "turn_off_wifi_trial_1") {
			t.Errorf("export to %s without a trajectory: got code %d and %s, want 1 and its name", format, code, printed)
		}
		if entries, err := os.ReadDir(filepath.Join(exports, "less")); len(entries) > 0 {
			t.Errorf("export to %s without a trajectory: left %v, %v", format, entries, err)
		}
		file := filepath.Join(out, results.RunFile)
		if code, printed := attempt(t, "export", out, "--to", format, "--out", file); code != 2 || !strings.Contains(printed, file+" is no directory") {
			t.Errorf("export to %s into a file: got code %d and %s, want 2", format, code, printed)
		}
	}
}

// readForeign reads what the libraries of other tools have written, and a run's own exports, whose
// scores do not change.
func readForeign(t *testing.T, run, exports string) {
	t.Helper()
	dir := t.TempDir()
	script := pythonIn(t, "readers", filepath.Join("testdata", "readers", "foreign.py"))
	script.Args = append(script.Args, dir)
	if printed, err := script.CombinedOutput(); err != nil || !strings.Contains(string(printed), "written") {
		t.Fatalf("got %v\n%s", err, printed)
	}
	logs, err := filepath.Glob(filepath.Join(exports, interchange.Inspect, "*.eval"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs: got %v and %v, want one", logs, err)
	}
	printed := toolsandbox(t, "compare", run, filepath.Join(exports, interchange.ATIF), logs[0], "--json")
	if strings.Contains(printed, `"better": 1`) || strings.Contains(printed, `"worse": 1`) {
		t.Errorf("scores of exports differ from those of the run:\n%s", printed)
	}
	log, trajectory := filepath.Join(dir, "log.eval"), filepath.Join(dir, "trajectory.json")
	printed = toolsandbox(t, "report", log, trajectory)
	for _, want := range []string{"agent mock/model, user unknown, 4 rollouts", "agent other-agent some-model, user unknown, 1 rollouts, 1 without a score", "ALL_CATEGORIES    A       4     2  0.500"} {
		if !strings.Contains(printed, want) {
			t.Errorf("report: got\n%s\nwant %q in it", printed, want)
		}
	}
	address := startView(t, dir, log, trajectory)
	for name, wants := range map[string][]string{
		"B/session_1.html":     {"another tool", "Be helpful.", "[image]", "look", "a cat"},
		"A/a_cat_trial_0.html": {"It has a tail.", "I look.", "smell", "no nose"},
	} {
		eventually(t, fmt.Sprintf("%s has %q", name, wants), func() bool {
			page := fetch(t, address+name)
			return !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(page, want) })
		})
	}
}

func fetch(t *testing.T, address string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return string(body)
}
