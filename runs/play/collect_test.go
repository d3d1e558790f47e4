package play

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/euroeval"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// TestTablesCannotBeClosed takes the tables away before the end of a run, which then has not ended.
func TestTablesCannotBeClosed(t *testing.T) {
	dir, scenario := t.TempDir(), &scenariov1.Scenario{Setup: &setupv1.Setup{Name: "s"}}
	spec := sweep.Spec{
		Scenarios: []*scenariov1.Scenario{scenario}, Agents: []*agentgwv1.Player{{Name: "a"}}, Users: []*agentgwv1.Player{{Name: "u"}}, Trials: 1,
	}
	record := &results.Run{Results: []string{results.FormatParquet}}
	c := newCollector(t.Context(), spec, euroeval.DefaultSettings(), &directory{path: dir}, record)
	if err := c.open(io.Discard); err != nil {
		t.Fatal(err)
	}
	c.start(nil, nil, report.NewProgress(io.Discard, 1, 0))
	rollout := results.Rollout{Rollout: resultfile.Rollout{Scenario: scenario, Result: &busv1.Result{
		Rollout: c.plannedRollout("sweep.0"), End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
	}}}
	if err := c.tables.Add(rollout, nil); err != nil {
		t.Fatal(err)
	}
	c.finished[0] = rollout
	if err := os.RemoveAll(filepath.Join(dir, results.TablesDirectory)); err != nil {
		t.Fatal(err)
	}
	if err := c.finish(); err == nil {
		t.Error("finish without tables: got no error")
	}
	if record.Ended != nil || record.Totals != nil {
		t.Errorf("end of the run: got %v and %v, want none", record.Ended, record.Totals)
	}
}
