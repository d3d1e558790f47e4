package toolhost

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/natstest"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/vector"
)

// BenchmarkExecute measures one execution after the other: the median latency, with gRPC, commit and announcement.
func BenchmarkExecute(b *testing.B) {
	sources := map[string]string{
		"read":  "print(repr(search_contacts(name='homer')))",
		"write": "print(repr(modify_contact('e3570ab6-0819-5032-be1e-2b366390c8ef', name='Homer S')))",
	}
	for name, source := range sources {
		b.Run(name, func(b *testing.B) {
			client := start(b)
			setup, err := vector.SetupOf("base", worlds(b)["base"], "", nil)
			if err != nil {
				b.Fatal(err)
			}
			create(b, client, "s", setup)
			var took []time.Duration
			index := int32(len(setup.GetMessages())) + 1
			for b.Loop() {
				began := time.Now()
				run(b, client, "s", index, call(index-1, worldv1.Role_ROLE_AGENT, source))
				took = append(took, time.Since(began))
				index += 2
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	}
}

// BenchmarkRollouts measures sessions that are made and executed in twice, 64 at a time. The processor time holds both ends
// of every call and the NATS server.
func BenchmarkRollouts(b *testing.B) {
	const parallel = 64
	client := start(b)
	setup, err := vector.SetupOf("base", worlds(b)["base"], "", nil)
	if err != nil {
		b.Fatal(err)
	}
	var number atomic.Int64
	first := int32(len(setup.GetMessages())) + 1
	before := cpu(b)
	b.SetParallelism(parallel / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprintf("sweep.%06d", number.Add(1))
			create(b, client, id, setup)
			run(b, client, id, first, call(first-1, worldv1.Role_ROLE_AGENT, "print(repr(set_wifi_status(False)))"))
			run(b, client, id, first+2, call(first+1, worldv1.Role_ROLE_USER, "print(repr(end_conversation()))"))
		}
	})
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/rollout")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rollouts/s")
}

// cpu returns the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkIdleSessions measures the memory of sessions that were executed in once and now wait.
func BenchmarkIdleSessions(b *testing.B) {
	const sessions, clients = 10_000, 64
	setup, err := vector.SetupOf("base", worlds(b)["base"], "", nil)
	if err != nil {
		b.Fatal(err)
	}
	index := int32(len(setup.GetMessages())) + 1
	for b.Loop() {
		bus := natstest.Start(b)
		fixture := serve(b, filepath.Join(b.TempDir(), storeFile), bus, ownsAll)
		before := heap()
		done := make(chan struct{})
		for client := range clients {
			go func() {
				defer func() { done <- struct{}{} }()
				for i := client; i < sessions; i += clients {
					id := fmt.Sprintf("sweep.%06d", i)
					create(b, fixture.client, id, setup)
					run(b, fixture.client, id, index, call(index-1, worldv1.Role_ROLE_AGENT, "print(repr(set_wifi_status(False)))"))
				}
			}()
		}
		for range clients {
			<-done
		}
		b.ReportMetric(float64(heap()-before)/sessions, "B/session")
		fixture.close()
	}
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
