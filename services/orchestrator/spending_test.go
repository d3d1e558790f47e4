package orchestrator

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestWatchEndsWhenSpent watches a sweep that spends its limit: the watch ends once nothing of it
// is played any more. Creating it in a later round sets the limit anew.
func TestWatchEndsWhenSpent(t *testing.T) {
	i := installServer(t)
	request := &orchestratorv1.CreateSweepRequest{SweepId: "s", Spec: spec("one", "two"), SpendLimit: &agentgwv1.SpendLimit{Tokens: 5}}
	create := func(round int32) {
		t.Helper()
		request.Round = round
		if _, err := i.client.CreateSweep(within(t), request); err != nil {
			t.Fatal(err)
		}
		stored, err := i.Bus().Control(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&busv1.SweepControl{SpendLimit: request.GetSpendLimit(), LimitsRound: &round, Rollouts: 2}, stored, protocmp.Transform(),
			protocmp.IgnoreFields(&busv1.SweepControl{}, "rounds", "earlier_limit")); diff != "" {
			t.Errorf("control after CreateSweep (-want +got):\n%s", diff)
		}
	}
	create(0)
	const reason = "5 of 5 tokens"
	if err := i.Bus().UpdateControl(t.Context(), "s", func(c *busv1.SweepControl) bool { c.Exhausted = reason; return true }); err != nil {
		t.Fatal(err)
	}
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	stream, err := i.client.WatchSweep(within(t), &orchestratorv1.WatchSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	i.queued(t, 2) // nothing is left in the queue
	var results []string
	var end *orchestratorv1.SweepEnd
	for end == nil {
		event, err := stream.Recv()
		if err != nil {
			t.Fatalf("watch after the results of %v: %v", results, err)
		}
		if result := event.GetResult(); result != nil {
			results = append(results, result.GetRollout().GetId())
		}
		end = event.GetEnd()
	}
	if diff := cmp.Diff([]string{"s.0"}, results); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&orchestratorv1.SweepEnd{Exhausted: reason}, end, protocmp.Transform()); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
	create(1)
	request.SpendLimit = nil
	create(2)
}
