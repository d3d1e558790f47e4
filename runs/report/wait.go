package report

import (
	"fmt"
	"io"
	"strings"
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
	paused bool // by the last report
}

// Report prints what the rollouts without a result do, at the second progress report without a
// result in between and then once a minute, and when the sweep is paused or continued.
func (w *Wait) Report(out io.Writer, progress *orchestratorv1.SweepProgress) {
	if w.due(progress) {
		_, _ = fmt.Fprintf(out, "waiting for results: %d of %d rollouts are done, %s\n", progress.GetDone(), progress.GetTotal(), counts(progress))
	}
}

// due reports whether a message is due.
func (w *Wait) due(progress *orchestratorv1.SweepProgress) bool {
	if !progress.GetCounted() { // the watch has just started
		w.silent = 0
		return false
	}
	turned := progress.GetPaused() != w.paused
	w.paused = progress.GetPaused()
	if w.silent++; !turned && (w.silent < 2 || time.Since(w.told) < waitEvery) {
		return false
	}
	w.told = time.Now()
	return true
}

// Reset resets the wait after a result.
func (w *Wait) Reset() { *w = Wait{paused: w.paused} }

// counts says what the rollouts without a result do.
func counts(progress *orchestratorv1.SweepProgress) string {
	if progress.GetPaused() {
		return fmt.Sprintf("paused with %d running and %d queued, until toolsandbox sweep resume", progress.GetRunning(), progress.GetQueued())
	}
	if progress.GetRunning()+progress.GetScoring()+progress.GetRetrying() == 0 && progress.GetQueued() > 0 {
		return fmt.Sprintf("%d queued, and no orchestrator takes them: check that one runs with --orchestrator-parallel above 0", progress.GetQueued())
	}
	running := fmt.Sprintf("%d running", progress.GetRunning())
	var requests []string
	for _, part := range []struct {
		n    int64
		what string
	}{{progress.GetAsked(), "wait for the model"}, {progress.GetLimited(), "for its limits"}} {
		if part.n > 0 {
			requests = append(requests, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(requests) > 0 {
		running += " (" + strings.Join(requests, ", ") + ")"
	}
	parts := []string{running}
	for _, part := range []struct {
		n    int64
		what string
	}{{progress.GetQueued(), "queued"}, {progress.GetScoring(), "to be scored"}, {progress.GetRetrying(), "to be tried again"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}
