package report

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestWait checks that a wait is reported after a delay, then once a minute, and starts again after
// a result.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		var wait Wait
		tell := func(times int, progress *orchestratorv1.SweepProgress) {
			progress.Total, progress.Done = 9, 2
			for range times {
				time.Sleep(5 * time.Second) //nolint:forbidigo // synctest's clock jumps
				wait.Report(&out, progress)
			}
		}
		started := &orchestratorv1.SweepProgress{}
		tell(1, started)
		tell(13, &orchestratorv1.SweepProgress{Counted: true, Running: 3, Queued: 4})
		wait.Reset()
		tell(1, &orchestratorv1.SweepProgress{Counted: true, Queued: 7})
		tell(1, started)
		tell(2, &orchestratorv1.SweepProgress{Counted: true, Queued: 7})
		wait.Reset()
		tell(2, &orchestratorv1.SweepProgress{Counted: true, Running: 2, Asked: 1, Limited: 1, Scoring: 1, Retrying: 1, Queued: 3})
		want := "waiting for results: 2 of 9 rollouts are done, 3 running, 4 queued\n"
		want += "waiting for results: 2 of 9 rollouts are done, 7 queued, and no orchestrator takes them: check that one runs with --orchestrator-parallel above 0\n"
		want += "waiting for results: 2 of 9 rollouts are done, 2 running (1 wait for the model, 1 for its limits), 3 queued, 1 to be scored, 1 to be tried again\n"
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
