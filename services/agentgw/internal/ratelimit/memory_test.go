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
	"github.com/toolsandbox/toolsandbox/internal/pricing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store in this process, for tests in which time is not real. Reading and writing take
// a while there.
type memory struct {
	latency time.Duration

	mu        sync.Mutex
	documents map[string][]byte
	revisions map[string]uint64
	down      error
	lose      int // acknowledgements to lose
	writes    int
}

func newMemory() *memory {
	return &memory{latency: time.Millisecond, documents: make(map[string][]byte), revisions: make(map[string]uint64)}
}

func (m *memory) set(change func(m *memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *memory) Read(ctx context.Context, name string) ([]byte, uint64, error) {
	if !rest(ctx, m.latency) {
		return nil, 0, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.documents[name], m.revisions[name], m.down
}

func (m *memory) Write(ctx context.Context, name string, raw []byte, revision uint64) error {
	if !rest(ctx, m.latency) {
		return ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return m.down
	}
	if m.revisions[name] != revision {
		return bus.ErrFenced
	}
	m.documents[name] = raw
	m.revisions[name]++
	m.writes++
	if m.lose > 0 {
		m.lose--
		return context.DeadlineExceeded
	}
	return nil
}

// replica returns a limiter whose jitter is fixed. It is closed at the end of the test, unless it
// was before.
func replica(tb testing.TB, store Store, name string, change func(c *Config)) *Limiter {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.Replica, cfg.Jitter = name, func() float64 { return 0.5 }
	if change != nil {
		change(&cfg)
	}
	g, err := New(cfg, listPrices(tb), store, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return g
}

// listPrices returns the prices that are built in.
func listPrices(tb testing.TB) *pricing.Table {
	tb.Helper()
	prices, err := pricing.Load("")
	if err != nil {
		tb.Fatal(err)
	}
	return prices
}

// limited sets the limit of the test's provider.
func limited(limit Limit) func(c *Config) {
	return func(c *Config) { c.Limits = map[string]Limit{"openai": limit} }
}

func demand(sweep string) Request {
	return Request{Key: Key{Provider: "openai", Fingerprint: "k"}, Sweep: sweep, Model: "unknown", InputTokens: 800, OutputTokens: 200}
}

// begin acquires and fails the test if that does not go.
func begin(tb testing.TB, g *Limiter, d Request) *Permit {
	tb.Helper()
	gr, err := g.Acquire(tb.Context(), d)
	if err != nil {
		tb.Fatalf("Acquire: %v", err)
	}
	return gr
}

// percentiles adds the median and the 99th percentile of times to a benchmark.
func percentiles(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}
