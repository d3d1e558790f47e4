package process

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// maxGrowth is the GOGC of a small heap. While garbage is collected, everything else runs at
	// half its speed: at 200 the last of 5,000 rollouts at once end a second later than at 400.
	maxGrowth = 400
	// minGrowth is the GOGC of a large heap.
	minGrowth = 10
	// minHeadroom and maxHeadroom bound what may be allocated between two collections, in bytes,
	// where neither maxGrowth nor minGrowth counts.
	minHeadroom, maxHeadroom = 64 << 20, 512 << 20
	// scanHeadroom is that headroom as a multiple of what a collection has to scan, which is what
	// it costs: buffers of messages cost nothing.
	scanHeadroom = 8
	// retuned is the change of GOGC, in percent of itself, below which it stays: setting it stops
	// the process for a moment.
	retuned = 10
)

// The runtime's names for what the last collection found in use, and for what the next one has to
// scan.
const (
	liveHeap = "/gc/heap/live:bytes"
	scanHeap = "/gc/scan/heap:bytes"
)

// Heap bounds the memory of this process. The garbage collector's soft limit becomes nine tenths of
// what the cgroup or, without one, the machine has, unless GOMEMLIMIT in the environment says
// another. GOGC follows the heap in use, unless GOGC in the environment says another.
func Heap(env func(string) (string, bool)) error {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(maxGrowth)
		runtime.SetFinalizer(&cycle{growth: maxGrowth, heap: []metrics.Sample{{Name: liveHeap}, {Name: scanHeap}}}, (*cycle).end)
	}
	if _, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))); err != nil {
		return Usage("soft memory limit: %w: expected a part of the memory in AUTOMEMLIMIT, as 0.9, or a size in GOMEMLIMIT", err)
	}
	return nil
}

// cycle is garbage from the start: its finalizer runs once after each collection. It has a pointer,
// since the runtime puts small objects without any into one block with others, which may keep it.
type cycle struct {
	growth int
	heap   []metrics.Sample
}

// end sets GOGC for the next cycle.
func (c *cycle) end() {
	metrics.Read(c.heap)
	next := growth(c.heap[0].Value.Uint64(), c.heap[1].Value.Uint64())
	if change := next - c.growth; 100*max(change, -change) > retuned*c.growth {
		debug.SetGCPercent(next)
		c.growth = next
	}
	runtime.SetFinalizer(c, (*cycle).end)
}

// growth returns GOGC for a heap with so many bytes in use and to scan.
func growth(live, scan uint64) int {
	headroom := min(max(scanHeadroom*scan, minHeadroom), maxHeadroom)
	return int(min(max(100*headroom/max(live, 1), minGrowth), maxGrowth))
}
