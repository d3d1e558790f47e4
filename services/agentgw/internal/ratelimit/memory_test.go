package ratelimit

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolsandbox/toolsandbox/internal/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory holds recordings in memory, for tests in a synctest bubble.
type memory struct {
	mu      sync.Mutex
	turns   []recordedTurn
	changed chan struct{}
	down    error
}

type recordedTurn struct {
	sweep, by string
	added     bus.Cost
}

func newMemory() *memory { return &memory{changed: make(chan struct{})} }

func (m *memory) record(sweep, by string, added Cost) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, recordedTurn{sweep, by, bus.Cost(added)})
	close(m.changed)
	m.changed = make(chan struct{})
}

// since returns the turns of a sweep after a revision, and a channel that is closed when another is
// recorded.
func (m *memory) since(sweep string, revision uint64) (turns []recordedTurn, last uint64, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, turn := range m.turns[revision:] {
		if turn.sweep == sweep {
			turns = append(turns, turn)
		}
	}
	return turns, uint64(len(m.turns)), m.changed
}

func (m *memory) Spending(_ context.Context, sweep string) (sum bus.Cost, revision uint64, err error) {
	turns, revision, _ := m.since(sweep, 0)
	for _, turn := range turns {
		sum = sum.Plus(turn.added)
	}
	return sum, revision, m.down
}

func (m *memory) FollowSpending(ctx context.Context, sweep string, revision uint64, visit func(string, bus.Cost)) error {
	for ctx.Err() == nil {
		turns, last, changed := m.since(sweep, revision)
		for _, turn := range turns {
			visit(turn.by, turn.added)
		}
		revision = last
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return nil
}

// sleep waits, or until ctx ends. It makes no timer that is due at once: several of those at the
// same time crash the race detector in synctest bubbles (golang/go#78156).
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// replica returns a limiter with fixed jitter. The test's end closes it if the test has not.
func replica(tb testing.TB, recordings Recordings, name string, change func(c *Config)) *Limiter {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.Jitter = func() float64 { return 0.5 }
	if change != nil {
		change(&cfg)
	}
	limiter, err := New(cfg, recordings, name, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := limiter.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return limiter
}

// limited sets the limit of the test's provider.
func limited(limit Limit) func(c *Config) {
	return func(c *Config) { c.Limits = Limits{"openai": limit} }
}

func request(sweep string) Request {
	return Request{Key: Key{Provider: "openai", Fingerprint: "k"}, Run: SweepRound{Sweep: sweep}, Model: "unknown", Estimate: Cost{Tokens: 1000}}
}

// begin acquires a permit or fails the test.
func begin(tb testing.TB, limiter *Limiter, d Request) *Permit {
	tb.Helper()
	permit, err := limiter.Acquire(tb.Context(), d)
	if err != nil {
		tb.Fatalf("Acquire: %v", err)
	}
	return permit
}

// percentiles reports the median and the 99th percentile of a benchmark.
func percentiles(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}
