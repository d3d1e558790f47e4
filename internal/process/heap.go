package process

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// maxGrowth is the GOGC of a small heap. During garbage collection everything else runs at half
	// speed: with 200 the last of 5,000 concurrent rollouts ends a second later than with 400.
	maxGrowth = 400
	// minGrowth is the GOGC of a large heap.
	minGrowth = 10
	// minHeadroom and maxHeadroom bound the bytes that may be allocated between two collections,
	// within minGrowth and maxGrowth.
	minHeadroom, maxHeadroom = 64 << 20, 512 << 20
	// scanHeadroom is the headroom as a multiple of the scannable bytes, which determine the cost of a
	// collection. Message buffers are not scanned.
	scanHeadroom = 8
	// minGrowthChange is the smallest change of GOGC, in percent, that is applied. Each change stops
	// the process for a moment.
	minGrowthChange = 10
)

// The runtime's metrics for the live heap after the last collection, and for the bytes that the
// next one has to scan.
const (
	liveHeap = "/gc/heap/live:bytes"
	scanHeap = "/gc/scan/heap:bytes"
)

// Heap bounds the memory of this process. It sets the soft memory limit to nine tenths of the
// memory of the cgroup, or of the machine without one, unless GOMEMLIMIT is set. It adapts GOGC to
// the live heap, unless GOGC is set.
func Heap(env func(string) (string, bool)) error {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(maxGrowth)
		runtime.SetFinalizer(&gcCycle{growth: maxGrowth, heap: []metrics.Sample{{Name: liveHeap}, {Name: scanHeap}}}, (*gcCycle).end)
	}
	if _, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))); err != nil {
		return Usage("soft memory limit: %w: expected a part of the memory in AUTOMEMLIMIT, as 0.9, or a size in GOMEMLIMIT", err)
	}
	return nil
}

// gcCycle is garbage from the start, so its finalizer runs after each collection. It contains a
// pointer, because the runtime may keep small pointer-free objects alive together with others.
type gcCycle struct {
	growth int
	heap   []metrics.Sample
}

// end sets GOGC for the next cycle.
func (c *gcCycle) end() {
	metrics.Read(c.heap)
	next := growth(c.heap[0].Value.Uint64(), c.heap[1].Value.Uint64())
	if change := next - c.growth; 100*max(change, -change) > minGrowthChange*c.growth {
		debug.SetGCPercent(next)
		c.growth = next
	}
	runtime.SetFinalizer(c, (*gcCycle).end)
}

// growth returns GOGC for a heap with live and scannable bytes.
func growth(live, scan uint64) int {
	headroom := min(max(scanHeadroom*scan, minHeadroom), maxHeadroom)
	return int(min(max(100*headroom/max(live, 1), minGrowth), maxGrowth))
}
