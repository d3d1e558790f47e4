package ratelimit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// severed is a store whose connection can be cut.
type severed struct {
	Store
	cut chan struct{}
}

var errSevered = errors.New("no connection")

func (s severed) Read(ctx context.Context, name string) ([]byte, uint64, error) {
	select {
	case <-s.cut:
		return nil, 0, errSevered
	default:
		return s.Store.Read(ctx, name)
	}
}

func (s severed) Write(ctx context.Context, name string, raw []byte, revision uint64) error {
	select {
	case <-s.cut:
		return errSevered
	default:
		return s.Store.Write(ctx, name, raw, revision)
	}
}

func TestAKilledReplicasShareComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		dead := severed{store, make(chan struct{})}
		one := replica(t, dead, "r0", limited(Limit{Concurrency: 4}))
		two := replica(t, store, "r1", limited(Limit{Concurrency: 4}))
		for range 4 {
			begin(t, one, demand("s"))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if gr, err := two.Acquire(ctx, demand("s")); err == nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire while the other has all: got %v, %v, want it to wait", gr, err)
		}
		close(dead.cut)
		killed := time.Now()
		for range 4 {
			begin(t, two, demand("s"))
		}
		if waited := time.Since(killed); waited < time.Second || waited > 3500*time.Millisecond {
			t.Errorf("share of the killed replica came back after %s, want 1 s to 3.5 s, for the lease is 3 s and renewed each second", waited)
		}
	})
}

func TestWithoutStoreTheLastLeaseCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		g := replica(t, store, "r0", limited(Limit{Concurrency: 4}))
		begin(t, g, demand("s")).Done(Outcome{})
		store.set(func(m *memory) { m.down = errSevered })
		begin(t, g, demand("s")).Done(Outcome{})
		<-time.After(4 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := g.Acquire(ctx, demand("s"))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the other replicas cannot be heard (no connection)") {
			t.Errorf("Acquire after the lease: got %v, want context.DeadlineExceeded and why", err)
		}
		store.set(func(m *memory) { m.down = nil })
		begin(t, g, demand("s")).Done(Outcome{})
	})
}

// TestLostAcknowledgement checks that a report whose acknowledgement was lost is booked once.
func TestLostAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		g := replica(t, store, "r0", limited(Limit{Requests: 600}))
		for range 20 {
			begin(t, g, demand("s")).Done(Outcome{})
			store.set(func(m *memory) { m.lose = 1 })
			<-time.After(time.Second)
		}
		<-time.After(2 * time.Second)
		if spent, err := g.Spent(t.Context(), "s"); err != nil || spent.Tokens != 20_000 {
			t.Errorf("Spent: got %v, %v, want 20000 tokens", spent, err)
		}
	})
}

func TestUnreadableDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.documents["budget.openai.k"] = []byte("{")
		g := replica(t, store, "r0", nil)
		if _, err := g.Acquire(t.Context(), demand("s")); !errors.Is(err, errDocument) || !strings.Contains(err.Error(), "budget.openai.k") {
			t.Errorf("Acquire: got %v, want errDocument with its name", err)
		}
		store.set(func(m *memory) { delete(m.documents, "budget.openai.k") })
		<-time.After(5 * time.Second)
		begin(t, g, demand("s")).Done(Outcome{})
	})
}

func TestIdleBudgetsAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		g := replica(t, store, "r0", limited(Limit{Concurrency: 1}))
		for range 3 {
			begin(t, g, demand("s")).Done(Outcome{})
			<-time.After(2 * time.Minute)
			g.mu.Lock()
			if len(g.budgets)+len(g.sweepSpends) > 0 {
				t.Errorf("kept after two minutes without use: got %v and %v, want none", g.budgets, g.sweepSpends)
			}
			g.mu.Unlock()
		}
		var raw []byte
		store.set(func(m *memory) { raw = m.documents["budget.openai.k"] })
		l, err := decodeLedger(raw)
		if err != nil || len(l.Replicas) > 1 {
			t.Errorf("replicas that are remembered: got %v, %v, want at most the last", l.Replicas, err)
		}
	})
}
