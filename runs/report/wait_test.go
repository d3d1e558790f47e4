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
		tell := func(times int, playing, queued int64) {
			for range times {
				time.Sleep(5 * time.Second) //nolint:forbidigo // synctest's clock jumps
				wait.Report(&out, &orchestratorv1.SweepProgress{Total: 9, Done: 2, Running: playing, Queued: queued})
			}
		}
		tell(1, 0, 0)
		tell(13, 3, 4)
		wait.Reset()
		tell(1, 0, 7)
		tell(1, 0, 0)
		tell(2, 0, 7)
		want := "waiting for results: 2 of 9 rollouts are done, orchestrators work on 3, 4 are queued\n"
		want += "waiting for results: 2 of 9 rollouts are done, 7 are queued, and no orchestrator takes them: check that one runs with --orchestrator-parallel above 0\n"
		if got := out.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
