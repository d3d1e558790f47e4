package bus_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestReadInterleavedLogs reads interleaved logs.
func TestReadInterleavedLogs(t *testing.T) {
	b := natstest.Start(t)
	ctx, start := t.Context(), time.Now()
	last, want := make(map[string]bus.Position), make(map[string][]string)
	for n := range 12 {
		id := fmt.Sprintf("s.%d", n%4%3) // s.0 has twice as many entries
		worker := fmt.Sprint("worker ", n)
		entry := &busv1.LogEntry{Claim: &busv1.Claim{Worker: worker}}
		if last[id].Sequence == 0 {
			entry.Start = &busv1.Start{Rollout: &busv1.Rollout{Id: id}}
		}
		end, err := b.Append(ctx, id, entry, last[id])
		if err != nil {
			t.Fatal(err)
		}
		last[id], want[id] = end, append(want[id], worker)
	}
	for id, want := range want {
		log, err := b.ReadLog(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range log.Entries {
			got = append(got, entry.GetClaim().GetWorker())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("entries of %s (-want +got):\n%s", id, diff)
		}
		if diff := cmp.Diff(last[id], log.End); diff != "" || len(log.Times) != len(log.Entries) || !log.Times[0].After(start) || !slices.IsSortedFunc(log.Times, time.Time.Compare) {
			t.Errorf("log of %s: got times %v, want one for each entry, after %s; end (-want +got):\n%s", id, log.Times, start, diff)
		}
	}
	if log, err := b.ReadLog(ctx, "s.3"); err != nil || len(log.Entries) != 0 || log.End.Sequence != 0 {
		t.Errorf("a log that does not exist: got %v and %v, want none", log, err)
	}
}
