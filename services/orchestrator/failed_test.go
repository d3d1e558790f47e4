package orchestrator

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestTrajectoryOfLostLog asks for rollouts of whose logs the beginning, or everything, is
// lost: once they are given up it is known how they ended.
func TestTrajectoryOfLostLog(t *testing.T) {
	i := installServer(t)
	i.create(t, "s", spec("one", "two", "three"))
	for _, id := range []string{"s.0", "s.2"} {
		if _, err := i.Bus().Append(t.Context(), id, &busv1.LogEntry{Claim: &busv1.Claim{}}, bus.Position{}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(id string, code codes.Code, reason busv1.EndReason) {
		t.Helper()
		got, err := i.client.GetTrajectory(within(t), &orchestratorv1.GetTrajectoryRequest{RolloutId: id})
		if status.Code(err) != code || got.GetEnd().GetReason() != reason || code == codes.OK && got.GetRollout().GetId() != id {
			t.Errorf("GetTrajectory of %s: got %v, %v, want %v, %v", id, got, err, code, reason)
		}
	}
	const none, lost = busv1.EndReason_END_REASON_UNSPECIFIED, busv1.EndReason_END_REASON_INFRASTRUCTURE
	check("s.0", codes.DataLoss, none)
	check("s.1", codes.NotFound, none)
	i.finish(t, "s.0", lost)
	i.finish(t, "s.1", lost)
	i.finish(t, "s.2", busv1.EndReason_END_REASON_FINISHED)
	check("s.0", codes.OK, lost)
	check("s.1", codes.OK, lost)
	check("s.2", codes.DataLoss, none)
}
