package orchestrator

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestWatchIsToldWhatIsToCome watches a sweep of which nobody has a result: the watch hears how many rollouts are taken and how many are not.
func TestWatchIsToldWhatIsToCome(t *testing.T) {
	i := installSilent(t, 50*time.Millisecond)
	i.create(t, "s", spec("one", "two", "three"))
	stream, err := i.client.WatchSweep(within(t), &orchestratorv1.WatchSweepRequest{SweepId: "s"})
	if err != nil {
		t.Fatal(err)
	}
	told := func(want *orchestratorv1.SweepProgress) {
		t.Helper()
		for {
			event, err := stream.Recv()
			if err != nil {
				t.Fatalf("before it was told %v: %v", want, err)
			}
			if proto.Equal(event.GetProgress(), want) {
				return
			}
		}
	}
	told(&orchestratorv1.SweepProgress{Total: 3})
	told(&orchestratorv1.SweepProgress{Total: 3, Queued: 3, Counted: true})
	queue, err := i.Bus().Jobs(t.Context(), "s", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Fetch(t.Context(), 2, time.Minute); err != nil {
		t.Fatal(err)
	}
	told(&orchestratorv1.SweepProgress{Total: 3, Playing: 2, Queued: 1, Counted: true})
	i.finish(t, "s.0", busv1.EndReason_END_REASON_FINISHED)
	told(&orchestratorv1.SweepProgress{Total: 3, Done: 1, Playing: 2, Queued: 1, Counted: true})
}
