package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	"github.com/toolsandbox/toolsandbox/runs/output"
)

// TestProgressMean checks the mean of scores, and a dash without scores.
func TestProgressMean(t *testing.T) {
	lost := Row{Name: "lost", Result: &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE}}}
	half := Row{Name: "half", Result: &busv1.Result{Similarity: 0.5, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}}
	zero := Row{Name: "zero", Result: &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}}
	wrong := Row{Name: "wrong", Result: &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_MODEL_FAILURE}}}
	for _, test := range []struct {
		rows []Row
		want string
	}{
		{[]Row{lost}, "1/1 rollouts, mean score –, 0 failed, 1 not scored, "},
		{[]Row{lost, half}, "2/2 rollouts, mean score 0.500, 0 failed, 1 not scored, "},
		{[]Row{zero, half, lost}, "3/3 rollouts, mean score 0.250, 0 failed, 1 not scored, "},
		{[]Row{zero}, "1/1 rollouts, mean score 0.000, 0 failed, 0 not scored, "},
		{[]Row{half, wrong}, "2/2 rollouts, mean score 0.250, 1 failed, 0 not scored, "},
	} {
		var out bytes.Buffer
		progress := NewProgress(&out, len(test.rows), 0)
		for _, row := range test.rows {
			progress.Add(row)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, test.want) {
			t.Errorf("got %q, want it to begin with %q", last, test.want)
		}
	}
}

// TestProgressOnTerminal checks the line on a terminal. It says what the other rollouts do, and
// follows finished rollouts until the next report.
func TestProgressOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		progress := &Progress{w: &out, terminal: output.NewWriter(&out), total: 4, began: time.Now()}
		check := func(want string) {
			t.Helper()
			lines := strings.Split(out.String(), "\r\x1b[2K")
			if got := lines[len(lines)-1]; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		add := func(name string) {
			time.Sleep(time.Second) //nolint:forbidigo // synctest's clock jumps
			progress.Add(Row{Name: name, Result: &busv1.Result{Similarity: 1, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}})
		}
		progress.Report(&orchestratorv1.SweepProgress{Total: 4})
		check("")
		progress.Report(&orchestratorv1.SweepProgress{Total: 4, Running: 2, Queued: 2, Asked: 2, Counted: true})
		check("0/4 rollouts, 2 running (2 wait for the model), 2 queued, 0s")
		add("a")
		check("1/4 rollouts, 2 running (2 wait for the model), 1 queued, mean score 1.000, 0 failed, 0 not scored, 1.0/s, about 3s left: a")
		progress.Report(&orchestratorv1.SweepProgress{Total: 4, Done: 1, Running: 2, Queued: 1, Asked: 2, Limited: 1, Counted: true})
		add("b")
		add("c")
		check("3/4 rollouts, 1 running (1 wait for the model), mean score 1.000, 0 failed, 0 not scored, 1.0/s, about 1s left: c")
		add("d")
		progress.End()
		check("4/4 rollouts, mean score 1.000, 0 failed, 0 not scored, 1.0/s, took 4s: d\n")
	})
}

// TestProgressPace checks rate and remaining time. Rollouts that were already done do not count for
// the rate.
func TestProgressPace(t *testing.T) {
	for _, test := range []struct {
		done, before, total int
		took                time.Duration
		want                string
	}{
		{10, 0, 100, 5 * time.Second, "2.0/s, about 45s left"},
		{60, 50, 100, 5 * time.Second, "2.0/s, about 20s left"},
		{40, 50, 100, time.Second, "played before"},
		{50, 50, 100, time.Second, "played before"},
		{2, 0, 6, 8 * time.Minute, "0.2/min, about 16m0s left"},
		{100, 0, 100, 20 * time.Second, "5.0/s, took 20s"},
		{1, 0, 1, 1234567890, "48.6/min, took 1.2s"},
	} {
		p := &Progress{done: test.done, before: test.before, total: test.total}
		if got := p.pace(test.took); got != test.want {
			t.Errorf("%d of %d, %d before, in %s: got %q, want %q", test.done, test.total, test.before, test.took, got, test.want)
		}
	}
}

// TestProgressLines checks that a log gets few lines for any number of rollouts, and that the last
// line counts all.
func TestProgressLines(t *testing.T) {
	for total, want := range map[int]int{1: 1, 7: 7, 20: 20, 1032: 20} {
		var out bytes.Buffer
		progress := NewProgress(&out, total, 0)
		for range total {
			progress.Add(Row{Name: "a", Result: &busv1.Result{End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}})
		}
		progress.End()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := lines[len(lines)-1]; len(lines) != want || !strings.HasPrefix(last, fmt.Sprintf("%d/%d rollouts, ", total, total)) {
			t.Errorf("%d rollouts: got %d lines, the last one %q, want %d and all rollouts in the last", total, len(lines), last, want)
		}
	}
}
