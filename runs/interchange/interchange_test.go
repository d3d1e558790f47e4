package interchange

import (
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestInterruptedRun exports a run that lacks trials. The others keep their numbers, and the log of
// Inspect says that it is not complete.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	const name = "a_trial_1"
	run := &results.Run{Trials: 3, Ended: &time.Time{}, Totals: &results.Totals{Rollouts: 3, Done: 1}, Rollouts: []results.Outcome{{Name: name}}}
	summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: name, Similarity: "0.5"}}}
	messages := map[string][]*worldv1.Message{name: {said(fromUser, fromAgent, "Hello")}}
	e := &exporter{reader: results.NewReader("run", run, summary, messages), run: run, summary: summary}
	exported := 0
	if err := e.each(func(r rollout) error {
		if exported++; e.inspectSample(r).Epoch != 2 {
			t.Errorf("%s: got epoch %d, want 2", r.name.Rollout, e.inspectSample(r).Epoch)
		}
		return nil
	}); err != nil || exported != 1 {
		t.Errorf("exported: got %d and %v, want 1", exported, err)
	}
	if status := e.inspectHeader().Status; status != "cancelled" {
		t.Errorf("status: got %s, want cancelled", status)
	}
}
