package store

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// BenchmarkCommit measures Commit with so many callers at once among 20,000 sessions: 200 bytes of
// meta, an outcome of 300 bytes, and a table version of 1,000 bytes with every second. cpu-µs/op is
// the time of the whole process in user and system mode.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) { benchmarkCommit(b, writers) })
	}
}

func benchmarkCommit(b *testing.B, writers int) {
	const sessions = 20_000
	s, err := Open(Config{Path: filepath.Join(b.TempDir(), "bench.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	meta, data, outcome := bytes.Repeat([]byte("m"), 200), bytes.Repeat([]byte("v"), 1000), bytes.Repeat([]byte("o"), 300)
	id := func(n int) string { return fmt.Sprintf("%016x", uint64(n)*0x9e3779b97f4a7c15) }
	inParallel(64, sessions, func(n int) {
		if err := createWith(context.Background(), s, id(n), string(meta), Version{Index: -1, Data: data}); err != nil {
			b.Error(err)
		}
	})
	b.ResetTimer()
	before := cpuTime(b)
	inParallel(writers, b.N, func(n int) {
		var versions []Version
		if n%2 == 0 {
			versions = []Version{{Table: 1, Index: int32(n), Data: data}}
		}
		// Each caller works on a session for ten calls in a row, as a rollout does.
		session := (n%writers + n/writers/10*writers) % sessions
		if err := s.Commit(context.Background(), id(session), Execution{Index: int32(n), LastIndex: int32(n), Meta: meta, Versions: versions, Outcome: outcome}); err != nil {
			b.Error(err)
		}
	})
	b.StopTimer()
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
}

// inParallel calls f with 0 to n-1, number i in the goroutine i%workers.
func inParallel(workers, n int, f func(int)) {
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	group.Wait()
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
