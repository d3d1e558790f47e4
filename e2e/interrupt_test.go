package e2e_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/runs/results"
)

// interruptTimeout is the maximum time to the end of an interrupted run on a busy machine. The run
// itself fetches rollouts for 3 s, and a turn in flight has a second.
const interruptTimeout = 15 * time.Second

// TestLongInterruptAndResume interrupts a run in one process. It soon ends with the finished
// rollouts. Resuming it with any parallelism yields the files of an uninterrupted run.
func TestLongInterruptAndResume(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"interrupt": os.Interrupt, "kill": os.Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plug, turns := rationed(t)
			flags := []string{"run", "--agent", plug, "--parallel", "2"}
			baseline, broken := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "broken")
			toolsandbox(t, append(flags, "--out", baseline)...)
			turns.set(240) // of 362
			stopped := interrupt(t, signal, append(flags, "--out", broken)...)
			if signal == os.Interrupt {
				checkInterrupted(t, stopped, broken)
			}
			first, err := results.ReadRun(broken)
			if err != nil || (first.Ended == nil) != (signal == os.Kill) {
				t.Fatalf("run: got %+v and %v, want an end unless it was killed", first, err)
			}
			turns.set(unlimited)
			toolsandbox(t, append(flags, "--out", broken, "--resume", "--parallel", "3")...)
			equalRuns(t, baseline, broken)
			checkResumed(t, baseline, broken, first)
		})
	}
}

// checkResumed checks the record of a run that was resumed once: it equals that of an uninterrupted
// run, except for times and paths.
func checkResumed(t *testing.T, baseline, broken string, first *results.Run) {
	t.Helper()
	want, err := results.ReadRun(baseline)
	if err != nil {
		t.Fatal(err)
	}
	got, err := results.ReadRun(broken)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Resumptions) != 1 || !got.Started.Equal(first.Started) || len(got.Sessions) != 2 || got.Resumptions[0].Flags["parallel"] != "3" {
		t.Errorf("got the start %s and %+v, want the first start, %s, and one resumption", got.Started, got.Resumptions, first.Started)
	}
	if s := got.Sessions; s[0].Ended == nil || s[0].Ended.Before(s[0].Started) || s[1].Started.Before(*s[0].Ended) || got.Seconds != s[0].Seconds+s[1].Seconds {
		t.Errorf("got %g s and %+v, want two sessions and their sum", got.Seconds, s)
	}
	got.Started, got.Ended, got.Resumptions, got.Flags["out"] = want.Started, want.Ended, want.Resumptions, want.Flags["out"]
	got.Sessions, got.Seconds = want.Sessions, want.Seconds
	for i := range got.Rollouts {
		got.Rollouts[i].Seconds = want.Rollouts[i].Seconds
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run.json (-calm +resumed):\n%s", diff)
	}
}

type interruptedRun struct {
	err    error
	stderr string
	took   time.Duration
}

// interrupt runs the command line and sends a signal at the second progress line.
func interrupt(t *testing.T, signal os.Signal, args ...string) interruptedRun {
	t.Helper()
	return interruptAt(t, signal, 2, args...)
}

// interruptAt runs the command line and sends a signal at a progress line.
func interruptAt(t *testing.T, signal os.Signal, line int, args ...string) interruptedRun {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	var sent time.Time
	seen := 0
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "rollouts, mean score") {
			seen++
		}
		if seen == line && sent.IsZero() {
			sent = time.Now()
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if sent.IsZero() {
		t.Fatalf("the run ended before it could be stopped: %v\n%s", err, printed.String())
	}
	return interruptedRun{err: err, stderr: printed.String(), took: time.Since(sent)}
}

func checkInterrupted(t *testing.T, stopped interruptedRun, out string) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(stopped.err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("exit: got %v, want code 1\n%s", stopped.err, stopped.stderr)
	}
	t.Logf("ended %s after the interrupt", stopped.took)
	if stopped.took > interruptTimeout {
		t.Errorf("end after the interrupt: got %s, want at most %s", stopped.took, interruptTimeout)
	}
	want := regexp.MustCompile(`toolsandbox: interrupted with (\d+) of (\d+) rollouts done: continue with --out \S+ --resume\n$`)
	match := want.FindStringSubmatch(stopped.stderr)
	if match == nil {
		t.Fatalf("stderr: got %q, want a match of %s", stopped.stderr, want)
	}
	summary, err := results.ReadSummary(out)
	if err != nil {
		t.Fatal(err)
	}
	directories, err := os.ReadDir(filepath.Join(out, results.TrajectoriesDirectory))
	if err != nil {
		t.Fatal(err)
	}
	kept := strconv.Itoa(len(summary.Scenarios))
	if kept == "0" || kept != match[1] || kept == match[2] || len(summary.Scenarios) != len(directories) {
		t.Errorf("results kept: got %s in the summary and %d trajectories, want %s, some and not all", kept, len(directories), match[1])
	}
}
