package report

import (
	"fmt"
	"io"
	"time"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// waitEvery is the interval of messages about a wait for results.
const waitEvery = time.Minute

// Wait reports that a run waits for results. The zero value has reported nothing. It is not safe
// for concurrent use.
type Wait struct {
	silent int // progress reports since the last result
	told   time.Time
}

// Report prints the pending rollouts at the second progress report without a result in between, and
// then once a minute.
func (w *Wait) Report(out io.Writer, progress *orchestratorv1.SweepProgress) {
	if progress.GetRunning()+progress.GetQueued() == 0 { // the watch has just started
		w.silent = 0
		return
	}
	if w.silent++; w.silent < 2 || time.Since(w.told) < waitEvery {
		return
	}
	w.told = time.Now()
	why := fmt.Sprintf("orchestrators work on %d, %d are queued", progress.GetRunning(), progress.GetQueued())
	if progress.GetRunning() == 0 {
		why = fmt.Sprintf("%d are queued, and no orchestrator takes them: check that one runs with --orchestrator-parallel above 0", progress.GetQueued())
	}
	_, _ = fmt.Fprintf(out, "waiting for results: %d of %d rollouts are done, %s\n", progress.GetDone(), progress.GetTotal(), why)
}

// Reset resets the wait after a result.
func (w *Wait) Reset() { *w = Wait{} }
