package bench

import (
	"runtime/metrics"
	"syscall"
	"time"
)

// usage is what this process used.
type usage struct {
	wall, processor    time.Duration
	allocations, bytes uint64
}

// usageNow returns what this process has used since its start, without wall.
func usageNow() usage {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	used := usage{allocations: samples[0].Value.Uint64(), bytes: samples[1].Value.Uint64()}
	var resources syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &resources); err == nil {
		used.processor = time.Duration(resources.Utime.Nano() + resources.Stime.Nano())
	}
	return used
}

func (u usage) since(before usage) usage {
	return usage{processor: u.processor - before.processor, allocations: u.allocations - before.allocations, bytes: u.bytes - before.bytes}
}
