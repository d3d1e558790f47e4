package toolhost

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/original/importer"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
)

// transports are the two connections to a tool host: in process and over TCP. Both use the whole
// service, with a NATS server and a file.
func transports() map[string]func(*testing.B) toolhostv1.ToolHostServiceClient {
	return map[string]func(*testing.B) toolhostv1.ToolHostServiceClient{
		"bufconn": func(b *testing.B) toolhostv1.ToolHostServiceClient {
			b.Helper()
			cfg := DefaultConfig()
			cfg.Dir = b.TempDir()
			client, stop, ended := runService(b, cfg, b.TempDir())
			b.Cleanup(func() {
				stop()
				if err := ended(); err != nil {
					b.Errorf("Run: %v", err)
				}
			})
			return client
		},
		"tcp": func(b *testing.B) toolhostv1.ToolHostServiceClient {
			b.Helper()
			natsURL, _ := natstest.Listen(b)
			p := startProcess(b, natsURL, b.TempDir(), 0, (*exec.Cmd).Start)
			b.Cleanup(func() { p.stop(b) })
			return p.client
		},
	}
}

// latencies collects the latencies of calls.
type latencies []time.Duration

// report reports the median.
func (l latencies) report(b *testing.B) {
	b.Helper()
	slices.Sort(l)
	b.ReportMetric(float64(l[len(l)/2].Microseconds()), "p50-µs")
}

// BenchmarkExecute measures successive executions: the median latency, with gRPC, commit and
// announcement.
func BenchmarkExecute(b *testing.B) {
	sources := map[string]string{
		"read":  "print(repr(search_contacts(name='homer')))",
		"write": "print(repr(modify_contact('e3570ab6-0819-5032-be1e-2b366390c8ef', name='Mateo S')))",
	}
	setup := baseSetup(b)
	for transport, connect := range transports() {
		for name, source := range sources {
			b.Run(transport+"/"+name, func(b *testing.B) {
				client := connect(b)
				create(b, client, "s", setup)
				var took latencies
				index := int32(len(setup.GetMessages())) + 1
				for b.Loop() {
					start := time.Now()
					run(b, client, "s", index, call(index-1, worldv1.Role_ROLE_AGENT, source))
					took = append(took, time.Since(start))
					index += 2
				}
				took.report(b)
			})
		}
	}
}

// baseSetup returns the setup of the vectors' base world.
func baseSetup(b *testing.B) *setupv1.Setup {
	b.Helper()
	raw, err := os.ReadFile(vectortest.Dir(b, "tools/worlds.json"))
	if err != nil {
		b.Fatal(err)
	}
	var worlds map[string]struct{ Tables json.RawMessage }
	if err := json.Unmarshal(raw, &worlds); err != nil {
		b.Fatal(err)
	}
	setup := smallSetup("base")
	if setup.Tables, err = importer.Tables(worlds["base"].Tables); err != nil {
		b.Fatal(err)
	}
	return setup
}

// BenchmarkBatch measures parallel calls. Each batch has its own session.
func BenchmarkBatch(b *testing.B) {
	batches := map[string][]string{
		"8 independent": {
			"add_contact('Ada', '+14085551111')", "set_wifi_status(False)", "add_reminder('tea', 1716400000.0)", "get_current_timestamp()",
			"search_contacts(name='homer')", "set_location_service_status(False)", "timestamp_diff(1.0, 2.0)", "unit_conversion(1.0, 'inch', 'cm')",
		},
		"5 dependent": {
			"set_wifi_status(False)", "set_wifi_status(True)", "search_stock('Apple')", "search_location_around_lat_lon('bakery')", "search_holiday('Christmas')",
		},
		"5 dependent, last order fails": {
			"search_stock('Apple')", "search_location_around_lat_lon('bakery')", "search_weather_around_lat_lon()", "search_holiday('Christmas')", "set_wifi_status(False)",
		},
	}
	setup := baseSetup(b)
	for name, sources := range batches {
		b.Run(name, func(b *testing.B) {
			client := start(b)
			first := int32(len(setup.GetMessages()))
			var calls []*worldv1.Message
			for i, source := range sources {
				calls = append(calls, call(first+int32(i), worldv1.Role_ROLE_AGENT, "print(repr("+source+"))"))
			}
			var took latencies
			for b.Loop() {
				id := fmt.Sprintf("batch.%d", len(took))
				create(b, client, id, setup)
				start := time.Now()
				run(b, client, id, first+int32(len(calls)), calls...)
				took = append(took, time.Since(start))
			}
			took.report(b)
		})
	}
}

// BenchmarkOpenClose measures the creation and deletion of sessions: one after the other, and 64 at
// a time.
func BenchmarkOpenClose(b *testing.B) {
	setup := baseSetup(b)
	for _, parallel := range []int{1, 64} {
		b.Run(fmt.Sprint(parallel, " at a time"), func(b *testing.B) {
			client := start(b)
			var number atomic.Int64
			var group sync.WaitGroup
			for range parallel {
				group.Go(func() {
					for {
						i := number.Add(1)
						if i > int64(b.N) {
							return
						}
						id := fmt.Sprintf("open.%d", i)
						create(b, client, id, setup)
						if _, err := client.DeleteSession(b.Context(), &toolhostv1.DeleteSessionRequest{SessionId: id}); err != nil {
							b.Errorf("delete %s: %v", id, err)
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
		})
	}
}

// BenchmarkCreate measures the creation of sessions, with a complete setup and with the digest of a
// setup. The processor time is that of this process: over bufconn both ends of the call and the
// commit, over TCP the client's end.
func BenchmarkCreate(b *testing.B) {
	setup := baseSetup(b)
	for transport, connect := range transports() {
		client := connect(b)
		create(b, client, "first", setup)
		whole := &toolhostv1.CreateSessionRequest{Setup: setup}
		named := &toolhostv1.CreateSessionRequest{SetupDigest: digestOf(b, setup)}
		number := 0
		for name, request := range map[string]*toolhostv1.CreateSessionRequest{"whole": whole, "named": named} {
			b.Run(transport+"/"+name, func(b *testing.B) {
				var took latencies
				before := cpu(b)
				for b.Loop() {
					number++
					request.SessionId = fmt.Sprintf("create.%d", number)
					start := time.Now()
					if _, err := client.CreateSession(b.Context(), request); err != nil {
						b.Fatal(err)
					}
					took = append(took, time.Since(start))
				}
				b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/session")
				took.report(b)
			})
		}
	}
}

// BenchmarkRollouts measures sessions with two executions, 64 at a time. The processor time
// includes both ends of every call and the NATS server.
func BenchmarkRollouts(b *testing.B) {
	const parallel = 64
	client := start(b)
	setup := baseSetup(b)
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

// cpu returns the processor time of this process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkIdleSessions measures the memory of idle sessions after one execution: in memory and
// evicted. It includes the NATS server's data about their announcements.
func BenchmarkIdleSessions(b *testing.B) {
	const sessions, most = 10_000, 64 << 10
	setup := baseSetup(b)
	for name, live := range map[string]int{"in memory": sessions, "evicted": 16} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				perSession := idle(b, setup, sessions, live)
				b.ReportMetric(perSession, "B/session")
				if perSession > most {
					b.Errorf("memory per session: got %.0f bytes, want at most %d", perSession, most)
				}
			}
		})
	}
}

// idle creates sessions and executes once in each. It returns the memory per session.
func idle(b *testing.B, setup *setupv1.Setup, sessions, live int) float64 {
	b.Helper()
	const clients = 64
	index := int32(len(setup.GetMessages())) + 1
	bus := natstest.Start(b)
	fixture := serve(b, filepath.Join(b.TempDir(), storeFile), bus, ownsAll, func(cfg *host.Config) { cfg.CachedSessions = live })
	defer fixture.close()
	before := heap()
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for i := client; i < sessions; i += clients {
				id := fmt.Sprintf("sweep.%06d", i)
				create(b, fixture.client, id, setup)
				run(b, fixture.client, id, index, call(index-1, worldv1.Role_ROLE_AGENT, "print(repr(set_wifi_status(False)))"))
			}
		})
	}
	group.Wait()
	return float64(heap()-before) / float64(sessions)
}

// heap returns the bytes of live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
