package results

import (
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestShared shares the equal parts of two results and keeps different ones.
func TestShared(t *testing.T) {
	first := tableRollout(0, true).Result
	first.Milestones = []*busv1.Match{{Node: 1, Index: 2, Similarity: 1}, {Node: 2, Index: 3, Similarity: 0.5}}
	second := proto.CloneOf(first)
	second.Milestones[1].Similarity, second.Causes[0].Detail = 0.25, "other"
	want := proto.CloneOf(second)
	known := NewShared()
	known.Result(first)
	known.Result(second)
	if !proto.Equal(second, want) {
		t.Errorf("second result: got %v, want %v", second, want)
	}
	if first.GetEnd() != second.GetEnd() || first.GetMilestones()[0] != second.GetMilestones()[0] {
		t.Error("equal end and match: got two copies, want one")
	}
	if first.GetMilestones()[1] == second.GetMilestones()[1] || first.GetCauses()[0] == second.GetCauses()[0] {
		t.Error("different match and cause: got one, want two")
	}
}

// TestRolloutMemory bounds what a rollout that tables hold keeps in memory, by which
// process.LimitFollowing counts.
func TestRolloutMemory(t *testing.T) {
	const rollouts, most = 2000, 1000
	dir := t.TempDir()
	tables, _, _ := openTestTables(t, dir)
	r := tableRollout(0, true)
	r.Usage = nil
	for range 4 {
		r.Result.Milestones = append(r.Result.Milestones, &busv1.Match{Node: int32(len(r.Result.Milestones)), Index: 3, Similarity: 0.5})
	}
	for n := range rollouts {
		next := tableRollout(n, true)
		r.Directory, r.Result.Rollout = next.Directory, next.Result.Rollout
		if err := tables.Add(r, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tables.Close(); err != nil {
		t.Fatal(err)
	}
	before := heap()
	_, played, _, err := OpenTables(dir, "d", nil)
	if err != nil || len(played) != rollouts {
		t.Fatalf("OpenTables: got %d rollouts and %v, want %d", len(played), err, rollouts)
	}
	if got := int(heap()-before) / rollouts; got > most {
		t.Errorf("bytes of a rollout: got %d, want at most %d", got, most)
	}
	runtime.KeepAlive(played)
	runtime.KeepAlive(tables)
}

// heap returns the bytes that are in use after a collection.
func heap() int64 {
	runtime.GC()
	runtime.GC() // also what pools have kept
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
