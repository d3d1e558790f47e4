package ratelimit

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// exhaust begins requests at all replicas until each is refused, and returns their number and the
// error texts.
func exhaust(tb testing.TB, replicas []*Limiter, d Request, used Cost) (began int, reasons map[string]int) {
	tb.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	reasons = make(map[string]int)
	for _, limiter := range replicas {
		for range 10 {
			group.Go(func() {
				for {
					permit, err := limiter.Acquire(tb.Context(), d)
					mu.Lock()
					if err != nil {
						reasons[err.Error()]++
						if !errors.Is(err, ErrSpendLimit) {
							tb.Errorf("Acquire: got %v, want ErrSpendLimit", err)
						}
						mu.Unlock()
						return
					}
					began++
					mu.Unlock()
					sleep(tb.Context(), time.Second)
					recordings, _ := limiter.recordings.(*memory)
					recordings.record(d.Run.Sweep, limiter.replica, permit.Done(Outcome{Class: Succeeded, Cost: used}))
				}
			})
		}
	}
	group.Wait()
	return began, reasons
}

// costOf returns a limiter's spending of sweep s.
func costOf(limiter *Limiter) Cost {
	limiter.mu.Lock()
	defer limiter.mu.Unlock()
	return limiter.spends["s"].spent
}

// TestSpendOfOthers spends one sweep's limit at three replicas with a key each. Only running
// requests elsewhere exceed the limit.
func TestSpendOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		var replicas []*Limiter
		for n := range 3 {
			replicas = append(replicas, replica(t, store, fmt.Sprintf("r%d", n), nil))
		}
		d := request("s")
		d.Limit = Cost{Tokens: 100_000}
		began, _ := exhaust(t, replicas, d, Cost{Tokens: 800 + 200})
		synctest.Wait()
		if began < 100 || began > 140 {
			t.Errorf("requests of 1000 tokens within a limit of 100000: got %d, want 100 and at most what runs elsewhere", began)
		}
		for _, limiter := range replicas {
			if got := costOf(limiter); got.Tokens != int64(began)*1000 {
				t.Errorf("%s: got %v, want all that %d requests cost", limiter.replica, got, began)
			}
		}
	})
}

// TestSpendOfDeletedSweep gives the id of a deleted sweep, which has spent its limit, to another.
func TestSpendOfDeletedSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		limiter := replica(t, store, "r", nil)
		d := request("s")
		d.Limit = Cost{Tokens: 10_000}
		for sweep := range 2 {
			if began, _ := exhaust(t, []*Limiter{limiter}, d, Cost{Tokens: 1000}); began < 10 {
				t.Errorf("sweep %d: got %d requests of 1000 tokens within a limit of 10000, want 10", sweep, began)
			}
			limiter.Forget("s")
			synctest.Wait() // nobody follows the turns any more
			store.turns = nil
		}
	})
}

func TestSpendLimit(t *testing.T) {
	priced := request("s")
	priced.Estimate.Micros = 7000
	paid := Cost{Tokens: 800 + 200, Micros: 7000}
	usual, cheap, dear := Cost{Tokens: 800 + 200}, Cost{Tokens: 300 + 100}, Cost{Tokens: 800 + 400}
	for _, test := range []struct {
		name    string
		request Request
		limit   Cost
		used    Cost
		began   int
		slack   int // of began
		reason  string
	}{
		{"tokens", request("s"), Cost{Tokens: 100_000}, usual, 100, 0, "budget of openai: spend limit reached: 100000 tokens of 100000 tokens"},
		{"money", priced, Cost{Micros: 700_000}, paid, 100, 0, "budget of openai: spend limit reached: $0.70 of $0.70"},
		{"unknown price", request("s"), Cost{Micros: 1, Tokens: 50_000}, usual, 50, 0, "budget of openai: spend limit reached: 50000 tokens"},
		{"nobody says", request("s"), Cost{Tokens: 100_000}, Cost{}, 100, 0, "budget of openai: spend limit reached: 100000 tokens"},
		{"less than estimated", request("s"), Cost{Tokens: 100_000}, cheap, 249, 2, "budget of openai: spend limit reached: "},
		{"more than estimated", request("s"), Cost{Tokens: 100_000}, dear, 100 - 17, 20, "budget of openai: spend limit reached: "},
		{"less than one", request("s"), Cost{Tokens: 999}, usual, 0, 0, "budget of openai: spend limit reached: 0 tokens of 999 tokens, and the next request needs about 1000 tokens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := replica(t, newMemory(), "r0", nil)
				test.request.Limit = test.limit
				began, reasons := exhaust(t, []*Limiter{limiter}, test.request, test.used)
				if began < test.began-test.slack || began > test.began+test.slack {
					t.Errorf("requests that began: got %d, want %d within %d", began, test.began, test.slack)
				}
				for reason := range reasons {
					if !strings.HasPrefix(reason, test.reason) {
						t.Errorf("reason: got %q, want %q", reason, test.reason)
					}
				}
				want := test.used
				if want == (Cost{}) {
					want = test.request.Estimate
				}
				if spent := costOf(limiter); spent.Tokens != want.Tokens*int64(began) || spent.Micros != want.Micros*int64(began) {
					t.Errorf("spent: got %v, want %d times %v", spent, began, want)
				}
			})
		})
	}
}

func TestSpendError(t *testing.T) {
	for _, test := range []struct {
		name               string
		spent, limit, need Cost
		want               string
	}{
		{"tokens", Cost{Tokens: 7, Micros: 5}, Cost{Tokens: 7}, Cost{Tokens: 3}, "7 tokens of 7 tokens: raise --spend-tokens"},
		{"money", Cost{Tokens: 114_562, Micros: 300_000}, Cost{Micros: 300_000}, Cost{Tokens: 3, Micros: 1}, "$0.30 of $0.30: raise --spend-usd"},
		{"both", Cost{Tokens: 7, Micros: 20_000}, Cost{Tokens: 9, Micros: 20_000}, Cost{}, "$0.02 of $0.02: raise --spend-usd"},
		{"both and the next", Cost{Tokens: 7, Micros: 20_000}, Cost{Tokens: 9, Micros: 20_000}, Cost{Tokens: 3}, "7 tokens of 9 tokens, and the next request needs about 3 tokens: raise --spend-tokens"},
		{"next tokens", Cost{Tokens: 5}, Cost{Tokens: 7}, Cost{Tokens: 3, Micros: 1}, "5 tokens of 7 tokens, and the next request needs about 3 tokens: raise --spend-tokens"},
		{"next money", Cost{Tokens: 5}, Cost{Micros: 10_000}, Cost{Tokens: 3, Micros: 20_000}, "$0.00 of $0.01, and the next request needs about $0.02: raise --spend-usd"},
	} {
		if got, want := spendError(test.spent, test.limit, test.need), "spend limit reached: "+test.want; !errors.Is(got, ErrSpendLimit) || got.Error() != want {
			t.Errorf("%s: got %q, want %q", test.name, got, want)
		}
	}
}

func TestHigherSpendLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		d := request("s")
		d.Limit = Cost{Tokens: 10_000}
		first := replica(t, store, "r0", nil)
		if began, _ := exhaust(t, []*Limiter{first}, d, Cost{}); began != 10 {
			t.Errorf("with the first limit: got %d, want 10", began)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := replica(t, store, "r1", nil)
		if began, _ := exhaust(t, []*Limiter{second}, d, Cost{}); began != 0 {
			t.Errorf("with the same limit at another replica: got %d, want 0", began)
		}
		d.Limit.Tokens = 15_000
		if began, _ := exhaust(t, []*Limiter{second}, d, Cost{}); began != 5 {
			t.Errorf("with the next limit: got %d, want 5", began)
		}
		other := d
		other.Run.Sweep = "t"
		if began, _ := exhaust(t, []*Limiter{second}, other, Cost{}); began != 15 {
			t.Errorf("another sweep: got %d, want 15", began)
		}
		d.Limit = Cost{}
		begin(t, second, d).Done(Outcome{Class: Succeeded})
	})
}

// TestSpendOfFailures checks that failed requests cost nothing, and abandoned or lost ones their
// estimate.
func TestSpendOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		d := request("s")
		d.Limit = Cost{Tokens: 100_000}
		for _, class := range []Class{Rejected, Failed, Unsent, Abandoned} {
			begin(t, limiter, d).Done(Outcome{Class: class})
		}
		begin(t, limiter, d).Done(Outcome{Class: Failed, Charged: true}) // no answer in time
		if spent := costOf(limiter); spent != (Cost{Tokens: 2000}) {
			t.Errorf("spent: got %v, want 2000 tokens", spent)
		}
	})
}
