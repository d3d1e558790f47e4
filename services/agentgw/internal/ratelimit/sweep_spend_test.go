package ratelimit

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// exhaust lets workers at all replicas begin requests until each is refused, and returns how many
// began and the errors' texts.
func exhaust(tb testing.TB, replicas []*Limiter, d Request, usage *agentgwv1.Usage) (began int, reasons map[string]int) {
	tb.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	reasons = make(map[string]int)
	for _, g := range replicas {
		for range 10 {
			group.Go(func() {
				for {
					gr, err := g.Acquire(tb.Context(), d)
					mu.Lock()
					if err != nil {
						reasons[err.Error()]++
						if !errors.Is(err, ErrSpent) {
							tb.Errorf("Acquire: got %v, want ErrSpent", err)
						}
						mu.Unlock()
						return
					}
					began++
					mu.Unlock()
					rest(tb.Context(), time.Second)
					recordings, _ := g.recordings.(*memory)
					recordings.record(d.Sweep, g.replica, gr.Done(Outcome{Usage: usage}))
				}
			})
		}
	}
	group.Wait()
	return began, reasons
}

// spentOf returns what a limiter knows of the spending of sweep s.
func spentOf(g *Limiter) Spend {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.spends["s"].spent
}

// TestSpendOfOthers lets three replicas, each with a key of its own, spend for one sweep: beyond
// the limit goes only what runs elsewhere.
func TestSpendOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		var replicas []*Limiter
		for n := range 3 {
			replicas = append(replicas, replica(t, store, fmt.Sprintf("r%d", n), nil))
		}
		d := demand("s")
		d.Limit = Spend{Tokens: 100_000}
		began, _ := exhaust(t, replicas, d, &agentgwv1.Usage{InputTokens: 800, OutputTokens: 200})
		synctest.Wait()
		if began < 100 || began > 140 {
			t.Errorf("requests of 1000 tokens within a limit of 100000: got %d, want 100 and at most what runs elsewhere", began)
		}
		for _, g := range replicas {
			if got := spentOf(g); got.Tokens != int64(began)*1000 {
				t.Errorf("%s: got %v, want all that %d requests cost", g.replica, got, began)
			}
		}
	})
}

func TestSpendLimit(t *testing.T) {
	priced := demand("s")
	priced.Model = "gpt-4o-2024-05-13" // 800 tokens at 5 and 200 at 15 dollars a million: 7,000 micros
	usual, cheap, dear := &agentgwv1.Usage{InputTokens: 800, OutputTokens: 200}, &agentgwv1.Usage{InputTokens: 300, OutputTokens: 100}, &agentgwv1.Usage{InputTokens: 800, OutputTokens: 400}
	for _, test := range []struct {
		name   string
		demand Request
		limit  Spend
		usage  *agentgwv1.Usage
		began  int
		slack  int // of began
		reason string
	}{
		{"tokens", demand("s"), Spend{Tokens: 100_000}, usual, 100, 0, "budget of openai: spend limit reached: 100000 tokens of 100000 tokens"},
		{"money", priced, Spend{Micros: 700_000}, usual, 100, 0, "budget of openai: spend limit reached: $0.70 of $0.70"},
		{"unknown price", demand("s"), Spend{Micros: 1, Tokens: 50_000}, usual, 50, 0, "budget of openai: spend limit reached: 50000 tokens"},
		{"nobody says", demand("s"), Spend{Tokens: 100_000}, nil, 100, 0, "budget of openai: spend limit reached: 100000 tokens"},
		{"less than estimated", demand("s"), Spend{Tokens: 100_000}, cheap, 249, 2, "budget of openai: spend limit reached: "},
		{"more than estimated", demand("s"), Spend{Tokens: 100_000}, dear, 100 - 17, 20, "budget of openai: spend limit reached: "},
		{"less than one", demand("s"), Spend{Tokens: 999}, usual, 0, 0, "budget of openai: spend limit reached: 0 tokens of 999 tokens, and the next request needs about 1000 tokens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := replica(t, newMemory(), "r0", nil)
				test.demand.Limit = test.limit
				began, reasons := exhaust(t, []*Limiter{g}, test.demand, test.usage)
				if began < test.began-test.slack || began > test.began+test.slack {
					t.Errorf("requests that began: got %d, want %d within %d", began, test.began, test.slack)
				}
				for reason := range reasons {
					if !strings.HasPrefix(reason, test.reason) {
						t.Errorf("reason: got %q, want %q", reason, test.reason)
					}
				}
				want := actual(estimate(g.prices, test.demand), Spend{Tokens: 1000}, Outcome{Usage: test.usage})
				if spent := spentOf(g); spent.Tokens != want.Tokens*int64(began) || spent.Micros != want.Micros*int64(began) {
					t.Errorf("spent: got %v, want %d times %v", spent, began, want)
				}
			})
		})
	}
}

func TestExceeded(t *testing.T) {
	for _, test := range []struct {
		name               string
		spent, limit, need Spend
		want               string
	}{
		{"tokens", Spend{Tokens: 7, Micros: 5}, Spend{Tokens: 7}, Spend{Tokens: 3}, "7 tokens of 7 tokens: raise --spend-tokens"},
		{"money", Spend{Tokens: 114_562, Micros: 300_000}, Spend{Micros: 300_000}, Spend{Tokens: 3, Micros: 1}, "$0.30 of $0.30: raise --spend-usd"},
		{"both", Spend{Tokens: 7, Micros: 20_000}, Spend{Tokens: 9, Micros: 20_000}, Spend{}, "7 tokens and $0.02 of 9 tokens and $0.02: raise --spend-usd"},
		{"both and the next", Spend{Tokens: 7, Micros: 20_000}, Spend{Tokens: 9, Micros: 20_000}, Spend{Tokens: 3}, "7 tokens and $0.02 of 9 tokens and $0.02: raise --spend-tokens and --spend-usd"},
		{"next tokens", Spend{Tokens: 5}, Spend{Tokens: 7}, Spend{Tokens: 3, Micros: 1}, "5 tokens of 7 tokens, and the next request needs about 3 tokens: raise --spend-tokens"},
		{"next money", Spend{Tokens: 5}, Spend{Micros: 10_000}, Spend{Tokens: 3, Micros: 20_000}, "$0.00 of $0.01, and the next request needs about $0.02: raise --spend-usd"},
		{"next is not known", Spend{Tokens: 5}, Spend{Tokens: 7}, Spend{}, "5 tokens of 7 tokens"},
	} {
		if got, want := exceeded(test.spent, test.limit, test.need), "spend limit reached: "+test.want; !errors.Is(got, ErrSpent) || got.Error() != want {
			t.Errorf("%s: got %q, want %q", test.name, got, want)
		}
	}
}

func TestSpendGoesOnWithAHigherLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		d := demand("s")
		d.Limit = Spend{Tokens: 10_000}
		first := replica(t, store, "r0", nil)
		if began, _ := exhaust(t, []*Limiter{first}, d, nil); began != 10 {
			t.Errorf("with the first limit: got %d, want 10", began)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := replica(t, store, "r1", nil)
		if began, _ := exhaust(t, []*Limiter{second}, d, nil); began != 0 {
			t.Errorf("with the same limit at another replica: got %d, want 0", began)
		}
		d.Limit.Tokens = 15_000
		if began, _ := exhaust(t, []*Limiter{second}, d, nil); began != 5 {
			t.Errorf("with the next limit: got %d, want 5", began)
		}
		other := d
		other.Sweep = "t"
		if began, _ := exhaust(t, []*Limiter{second}, other, nil); began != 15 {
			t.Errorf("another sweep: got %d, want 15", began)
		}
		d.Limit = Spend{}
		begin(t, second, d).Done(Outcome{})
	})
}

// TestSpendOfFailures checks that what failed costs nothing, and what was given up, or whose answer
// was lost, its estimate.
func TestSpendOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", nil)
		d := demand("s")
		d.Limit = Spend{Tokens: 100_000}
		for _, class := range []Class{Rejected, Failed, Unsent, Abandoned} {
			begin(t, g, d).Done(Outcome{Class: class})
		}
		begin(t, g, d).Done(Outcome{Class: Failed, Charged: true}) // no answer in time
		if spent := spentOf(g); spent != (Spend{Tokens: 2000}) {
			t.Errorf("spent: got %v, want 2000 tokens", spent)
		}
	})
}
