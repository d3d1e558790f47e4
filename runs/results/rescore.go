package results

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// ReplaceSummary replaces a run's summary and keeps the old one as PreviousSummaryFile. RunFile
// gets run with the digest of the new one; run is nil for a run of the original, which has no
// RunFile.
func ReplaceSummary(dir string, run *Run, summary *resultfile.Summary) error {
	old, err := storage.ReadFile(storage.Join(dir, SummaryFile))
	if err != nil {
		return fmt.Errorf("replace summary: %w", err)
	}
	if !json.Valid(old) {
		return fmt.Errorf("replace summary %s: its content is no JSON", dir)
	}
	content, err := encodeSummary(summary)
	if err != nil {
		return fmt.Errorf("replace summary: %w", err)
	}
	if err := WriteFile(storage.Join(dir, PreviousSummaryFile), old); err != nil {
		return err
	}
	if run != nil {
		if run.Files == nil {
			run.Files = make(map[string]string)
		}
		for name, data := range content {
			run.Files[name] = digestOf(data)
		}
		if err := WriteRun(dir, run); err != nil {
			return err
		}
	}
	if err := WriteFile(storage.Join(dir, ScenarioTableFile), content[ScenarioTableFile]); err != nil {
		return err
	}
	return writeSummary(dir, content[SummaryFile])
}

// ConversationEnds returns how the conversations ended whose scoring alone failed, by the names of
// their rollouts.
func (r *Run) ConversationEnds() map[string]string {
	ends := make(map[string]string)
	if r != nil {
		for _, rollout := range r.Rollouts {
			if rollout.ConversationEnd != "" {
				ends[rollout.Name] = rollout.ConversationEnd
			}
		}
	}
	return ends
}

// AddScores records the rollouts that have got a score, by their names, since a measure that had
// failed no longer does. Their end is that of the conversation, which the failure had hidden.
func (r *Run) AddScores(scored map[string]bool) {
	if r.Totals != nil {
		r.Totals.Done, r.Totals.Scored, r.Totals.Ends, r.Totals.FailureClasses = 0, 0, map[string]int{}, map[string]int{}
	}
	for i := range r.Rollouts {
		o := &r.Rollouts[i]
		if scored[o.Name] {
			o.Scored, o.End, o.ConversationEnd, o.FailureClass = true, cmp.Or(o.ConversationEnd, o.End), "", ""
		}
		if r.Totals != nil {
			r.Totals.count(*o)
		}
	}
}
