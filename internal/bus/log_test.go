package bus_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/natstest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestReadLogAmongOthers reads logs whose entries lie between those of other rollouts.
func TestReadLogAmongOthers(t *testing.T) {
	b := natstest.Start(t)
	ctx := t.Context()
	last, want := make(map[string]uint64), make(map[string][]string)
	for n := range 12 {
		id := fmt.Sprintf("s.%d", n%4%3) // s.0 has twice as many entries as the others
		worker := fmt.Sprint("worker ", n)
		seq, err := b.Append(ctx, id, &busv1.LogEntry{Claim: &busv1.Claim{Worker: worker}}, last[id])
		if err != nil {
			t.Fatal(err)
		}
		last[id], want[id] = seq, append(want[id], worker)
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
		if log.Last != last[id] || !log.Begun.Before(log.Updated) {
			t.Errorf("log of %s: got last %d, begun %s, updated %s, want last %d and an order", id, log.Last, log.Begun, log.Updated, last[id])
		}
	}
	if log, err := b.ReadLog(ctx, "s.3"); err != nil || len(log.Entries) != 0 || log.Last != 0 {
		t.Errorf("a log that does not exist: got %v and %v, want none", log, err)
	}
}
