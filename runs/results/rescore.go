package results

import (
	"encoding/json"
	"fmt"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
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

// AddScores records the rollouts that have got a score, since a measure that had failed no longer
// does. ends has how their conversations ended, by their names: the failure had hidden it.
func (r *Run) AddScores(ends map[string]busv1.EndReason) {
	if r.Totals != nil {
		r.Totals.Done, r.Totals.Scored, r.Totals.Ends, r.Totals.FailureClasses = 0, 0, map[string]int{}, map[string]int{}
	}
	for i := range r.Rollouts {
		o := &r.Rollouts[i]
		if end, ok := ends[o.Name]; ok {
			o.Scored, o.End, o.FailureClass = true, EndName(end), ""
		}
		if r.Totals != nil {
			r.Totals.count(*o)
		}
	}
}
