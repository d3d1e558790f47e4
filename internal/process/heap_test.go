package process

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// restore puts the collector back as it was when the test ends.
func restore(t *testing.T) {
	t.Helper()
	percent, limit := debug.SetGCPercent(50), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}

// TestLimitLoading checks that the limit only falls, nests and returns.
func TestLimitLoading(t *testing.T) {
	restore(t)
	for _, c := range []struct{ before, want int64 }{{math.MaxInt64, loadLimit}, {1 << 30, loadLimit}, {loadLimit / 2, loadLimit / 2}} {
		debug.SetMemoryLimit(c.before)
		outer := LimitLoading()
		LimitLoading()()
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("limit %d while loading: got %d, want %d", c.before, got, c.want)
		}
		outer()
		if got := debug.SetMemoryLimit(-1); got != c.before {
			t.Errorf("limit after loading: got %d, want %d", got, c.before)
		}
	}
}

func unset(string) (string, bool) { return "", false }

func TestLimitHeap(t *testing.T) {
	restore(t)
	stop, err := LimitHeap(func(name string) (string, bool) { return "50", name == "GOGC" })
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if got := debug.SetGCPercent(50); got != 50 {
		t.Errorf("GOGC with one in the environment: got %d, want 50", got)
	}
	if got := debug.SetMemoryLimit(-1); got <= 0 || got == math.MaxInt64 {
		t.Errorf("soft memory limit: got %d, want a part of this machine's memory", got)
	}
	t.Setenv("AUTOMEMLIMIT", "2")
	if _, err := LimitHeap(func(string) (string, bool) { return "50", true }); !errors.Is(err, ErrUsage) {
		t.Errorf("AUTOMEMLIMIT=2: got %v, want a usage error", err)
	}
}

func TestCheckMemory(t *testing.T) {
	if err := checkMemory(minMemory); err != nil {
		t.Errorf("checkMemory(%d): got %v, want nil", uint64(minMemory), err)
	}
	const want = "the cgroup limits the memory to 64 MiB: raise its memory.max, or the container's limit, to at least 96 MiB"
	if err := checkMemory(64 << 20); err == nil || err.Error() != want {
		t.Errorf("checkMemory of 64 MiB: got %v, want %s", err, want)
	}
}

// TestAddressSpace runs this test again with a limited address space: the soft memory limit is nine
// tenths of what the runtime leaves of it, and less than minAddressSpace is an error.
func TestAddressSpace(t *testing.T) {
	if os.Getenv("LIMITED_SPACE") != "" {
		stop, err := LimitHeap(os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		stop()
		fmt.Println("soft limit", debug.SetMemoryLimit(-1)>>20)
		return
	}
	for kilobytes, want := range map[int]string{4 << 20: "soft limit 1843", 2 << 20: "the address space is limited to 2048 MiB"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" -test.run '^TestAddressSpace$'`, kilobytes), os.Args[0])
		cmd.Env = append(os.Environ(), "LIMITED_SPACE=1", "GOGC=100")
		if output, _ := cmd.CombinedOutput(); !strings.Contains(string(output), want) {
			t.Errorf("address space of %d KiB: got %s, want %s", kilobytes, output, want)
		}
	}
}

// TestHeapLimitFollowsLiveHeap lets much live: GOGC falls with the next collections, and rises
// again when it is gone.
func TestHeapLimitFollowsLiveHeap(t *testing.T) {
	restore(t)
	stop, err := LimitHeap(unset)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	small, kept := collected(t, func(percent int) bool { return percent == maxGrowth }), make([]byte, 2*maxHeadroom)
	large := collected(t, func(percent int) bool { return percent < maxGrowth/2 })
	runtime.KeepAlive(kept)
	again := collected(t, func(percent int) bool { return percent == maxGrowth })
	if small != maxGrowth || large != minGrowth || again != maxGrowth {
		t.Errorf("GOGC of a small, a large and a small heap: got %d, %d and %d, want %d, %d and %d", small, large, again, maxGrowth, minGrowth, maxGrowth)
	}
}

// TestHeapCollectsWhenIdle makes garbage below the headroom and then waits. A collection that runs
// meanwhile may keep the garbage alive, so it tries again.
func TestHeapCollectsWhenIdle(t *testing.T) {
	restore(t)
	kept := make([]*int, idleGarbage/8) // a scannable heap, so that the headroom exceeds the garbage
	runtime.GC()
	forced := []metrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(forced)
	before := forced[0].Value.Uint64()
	stop, err := LimitHeap(unset)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for until := time.Now().Add(time.Minute); forced[0].Value.Uint64() == before; {
		if time.Now().After(until) {
			t.Fatal("got no collection in a minute, want one")
		}
		for range 3 * idleGarbage / 2 >> 20 {
			runtime.KeepAlive(make([]byte, 1<<20))
		}
		for idle := time.Now().Add(5 * heapInterval); time.Now().Before(idle) && forced[0].Value.Uint64() == before; runtime.Gosched() {
			metrics.Read(forced)
		}
	}
	runtime.KeepAlive(kept)
}

// collected collects garbage until GOGC is as wanted, and returns it.
func collected(t *testing.T, wanted func(percent int) bool) int {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; runtime.Gosched() {
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		percent := int(sample[0].Value.Uint64())
		if wanted(percent) || time.Now().After(until) {
			return percent
		}
	}
}

func TestHeapGrowth(t *testing.T) {
	for _, test := range []struct {
		live, scan, stacks uint64
		want               int
	}{
		{0, 0, 0, maxGrowth},
		{16 << 20, 8 << 20, 0, maxGrowth},
		{128 << 20, 64 << 20, 0, 300},
		{512 << 20, 16 << 20, 0, 25},
		{512 << 20, 64 << 20, 48 << 20, 103},
		{512 << 20, 64 << 20, 128 << 20, 275},
		{1 << 40, 1 << 30, 0, minGrowth},
	} {
		if got := growth(test.live, test.scan, test.stacks); got != test.want {
			t.Errorf("growth(%d, %d, %d): got %d, want %d", test.live, test.scan, test.stacks, got, test.want)
		}
	}
}
