package play

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sweep"
)

// TestWritten finds the directory of the first rollout of a fork, whose trials continue those of
// its origin.
func TestWritten(t *testing.T) {
	t.Parallel()
	player := []*agentgwv1.Player{{Name: "p"}}
	spec := sweep.Spec{
		Scenarios: []*scenariov1.Scenario{{Setup: &setupv1.Setup{Name: "s"}}}, Agents: player, Users: player, Trials: 2, Fork: &busv1.Fork{Trial: 1},
	}
	d := &directory{path: t.TempDir()}
	if err := os.MkdirAll(d.trajectory("s_trial_1"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := d.written(spec, "sweep")
	if diff := cmp.Diff([]results.Outcome{{Name: "s_trial_1", ID: "sweep.0", Scored: true}}, got); err != nil || diff != "" {
		t.Errorf("rollouts (-want +got):\n%s%v", diff, err)
	}
}
