package process

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

const (
	// maxGrowth is the GOGC of a small heap. A collection slows down everything else.
	maxGrowth = 400
	// minGrowth is the GOGC of a large heap.
	minGrowth = 10
	// minHeadroom and maxHeadroom bound the bytes that may be allocated between two collections,
	// within minGrowth and maxGrowth.
	minHeadroom, maxHeadroom = 64 << 20, 384 << 20
	// scanHeadroom is the headroom as a multiple of the scannable bytes, which determine the cost of a
	// collection. Message buffers are not scanned.
	scanHeadroom = 8
	// stackHeadroom is the minimum headroom as a multiple of the bytes of stacks. It has no maximum.
	// Rollouts that wait for a model together have a stack each, and leave their garbage together.
	stackHeadroom = 11

	// heapInterval is how often the heap is measured. A process that allocates less than idleRate
	// bytes in it is idle. The shorter gaps within a wave of work are too short for a collection.
	heapInterval, idleRate = 500 * time.Millisecond, 4 << 20
	// idleGarbage is the number of bytes beyond the live heap from which an idle process collects.
	// Many rollouts that wait for a model together wake up together: a collection between two waves
	// slows down neither.
	idleGarbage = 128 << 20

	// loadLimit is the soft memory limit while scenarios are loaded, in bytes. The collector takes up
	// to half of the processors for a live heap that comes near it.
	loadLimit = 448 << 20
	// followLimit is the soft memory limit of a process that only follows rollouts, and rolloutLimit
	// what each rollout adds to it, in bytes: a third more than what it keeps of it.
	followLimit, rolloutLimit = 80 << 20, 1000

	// minAddressSpace is the smallest limit of the address space, in bytes. The Go runtime reserves
	// far more than it uses, and ends the process without a message of ours if it cannot.
	minAddressSpace = 3 << 30
	// reservedSpace is the part of a limited address space that is not for the heap: program, stacks
	// and what the Go runtime reserves.
	reservedSpace = 2 << 30
	// minMemory is the smallest memory of a cgroup, in bytes. One rollout in one process takes 80 MiB.
	minMemory = 96 << 20
)

// heapMetrics are the runtime's metrics for the live heap at the last collection, the scannable
// bytes and all bytes of the current heap, all allocated bytes, the roots of a collection, and the
// number of collections.
var heapMetrics = [...]string{
	"/gc/heap/live:bytes", "/gc/scan/heap:bytes", "/memory/classes/heap/objects:bytes", "/gc/heap/allocs:bytes", "/gc/scan/stack:bytes", "/gc/scan/globals:bytes",
	"/gc/cycles/total:gc-cycles",
}

// LimitHeap bounds the memory of this process. It fails if the cgroup or the address space is too
// small. It sets the soft memory limit to nine tenths of the memory of the cgroup, or of the
// machine without one, and of a limited address space, unless GOMEMLIMIT is set. Unless GOGC is
// set, it adapts GOGC to the live heap and collects garbage while the process is idle. The caller
// calls stop, which waits until that has ended.
func LimitHeap(env func(string) (string, bool)) (stop func(), err error) {
	addressSpace, err := addressSpaceLimit()
	if err != nil {
		return nil, err
	}
	if memory, err := memlimit.FromCgroup(); err == nil {
		if err := checkMemory(memory); err != nil {
			return nil, err
		}
	}
	available := func() (uint64, error) {
		memory, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
		return min(memory, addressSpace-reservedSpace), err
	}
	if _, err := memlimit.Set(memlimit.WithProvider(available)); err != nil {
		return nil, UsageErrorf("soft memory limit: %w: expected a part of the memory in AUTOMEMLIMIT, as 0.9, or a size in GOMEMLIMIT", err)
	}
	if _, set := env("GOGC"); set {
		return func() {}, nil
	}
	debug.SetGCPercent(maxGrowth)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { (&gcPacer{growth: maxGrowth}).run(ctx) })
	return func() { cancel(); group.Wait() }, nil
}

// LimitLoading lowers the soft memory limit until restore is called. Loading scenarios allocates
// much more than it keeps, and the limit makes the collector run more often. Calls may nest; they
// must not overlap.
func LimitLoading() (restore func()) { return limitTo(loadLimit) }

// LimitFollowing lowers the soft memory limit until restore is called, for a process that only
// follows rollouts of other processes and has time to collect garbage. The calls of LimitLoading
// apply to it.
func LimitFollowing(rollouts int) (restore func()) {
	return limitTo(followLimit + int64(rollouts)*rolloutLimit)
}

func limitTo(bytes int64) (restore func()) {
	limit := debug.SetMemoryLimit(-1) // returns the limit
	debug.SetMemoryLimit(min(limit, bytes))
	return func() { debug.SetMemoryLimit(limit) }
}

// gcPacer paces garbage collection.
type gcPacer struct {
	growth    int    // GOGC
	allocated uint64 // all bytes allocated until the last measurement
	cycles    uint64 // collections until the last measurement
}

func (c *gcPacer) run(ctx context.Context) {
	ticker := time.NewTicker(heapInterval)
	defer ticker.Stop()
	samples := make([]metrics.Sample, len(heapMetrics))
	for i, name := range heapMetrics {
		samples[i].Name = name
	}
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		metrics.Read(samples)
		live, scan, heap, allocated := samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64(), samples[3].Value.Uint64()
		// Later in a cycle the scannable bytes include those of garbage.
		if cycles := samples[6].Value.Uint64(); cycles != c.cycles {
			stacks, globals := samples[4].Value.Uint64(), samples[5].Value.Uint64()
			c.adapt(growth(live+stacks+globals, scan, stacks))
			c.cycles = cycles
		}
		if idle := allocated-c.allocated < idleRate; idle && heap > live+idleGarbage {
			runtime.GC()
		}
		c.allocated = allocated
	}
}

// adapt applies a new GOGC, which stops the process for a moment.
func (c *gcPacer) adapt(next int) {
	if next != c.growth {
		debug.SetGCPercent(next)
		c.growth = next
	}
}

// growth returns GOGC for live bytes, roots included, of which GOGC is a percentage, for scannable
// bytes, and for bytes of stacks.
func growth(live, scan, stacks uint64) int {
	headroom := max(min(max(scanHeadroom*scan, minHeadroom), maxHeadroom), stackHeadroom*stacks)
	return int(min(max(100*headroom/max(live, 1), minGrowth), maxGrowth))
}

// addressSpaceLimit returns the limit of the address space in bytes, and an error if it is too low.
// Beyond it the Go runtime ends the process with a trace, which nothing can replace by a line.
func addressSpaceLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		return math.MaxUint64, nil // without an answer there is no limit to obey
	}
	if limit.Cur < minAddressSpace {
		return 0, fmt.Errorf("the address space is limited to %d MiB: raise it with ulimit -v unlimited, at least %d MiB are needed; GOMEMLIMIT limits the memory instead",
			limit.Cur>>20, minAddressSpace>>20)
	}
	return limit.Cur, nil
}

// checkMemory returns an error if the memory of the cgroup is too small to play a rollout: the
// kernel would kill the process without a word.
func checkMemory(memory uint64) error {
	if memory < minMemory {
		return fmt.Errorf("the cgroup limits the memory to %d MiB: raise its memory.max, or the container's limit, to at least %d MiB", memory>>20, minMemory>>20)
	}
	return nil
}
