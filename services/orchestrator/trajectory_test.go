package orchestrator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
)

// TestWork checks when workers played a rollout that one left after its second entry and another
// continued an hour later.
func TestWork(t *testing.T) {
	at := func(minute, second int) time.Time { return time.Date(2026, 1, 2, 3, minute, second, 0, time.UTC) }
	claim := func(minute int) *busv1.LogEntry {
		return &busv1.LogEntry{Claim: &busv1.Claim{Started: timestamppb.New(at(minute, 0))}}
	}
	got := work(&bus.Log{
		Entries: []*busv1.LogEntry{claim(0), {}, claim(60), {}, {}},
		Times:   []time.Time{at(0, 1), at(0, 5), at(60, 1), at(60, 2), at(60, 9)},
	})
	want := []*orchestratorv1.Work{
		{Started: timestamppb.New(at(0, 0)), Ended: timestamppb.New(at(0, 5))},
		{Started: timestamppb.New(at(60, 0)), Ended: timestamppb.New(at(60, 9))},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
