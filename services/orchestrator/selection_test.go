package orchestrator

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestSelectedRolloutsAreQueued queues parts of a sweep: none, some, and then the others.
func TestSelectedRolloutsAreQueued(t *testing.T) {
	i := installServer(t)
	for _, c := range []struct {
		selection *orchestratorv1.RolloutSelection
		want      []string
	}{
		{&orchestratorv1.RolloutSelection{}, nil},
		{&orchestratorv1.RolloutSelection{Numbers: []int32{2, 0, 7}}, []string{"s.0", "s.2"}},
		{nil, []string{"s.1"}},
	} {
		response, err := i.client.CreateSweep(within(t), &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one", "two", "three"), Rollouts: c.selection})
		if err != nil || response.GetTotal() != 3 {
			t.Fatalf("CreateSweep with %v: got %v and %v, want 3 rollouts", c.selection, response, err)
		}
		if diff := cmp.Diff(c.want, i.queued(t, len(c.want))); diff != "" {
			t.Errorf("jobs with %v (-want +got):\n%s", c.selection, diff)
		}
		for _, id := range c.want {
			i.finish(t, id, busv1.EndReason_END_REASON_FINISHED)
		}
	}
}
