package ratelimit

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const second = int64(1000)

func newLedger(tb testing.TB) *ledger {
	tb.Helper()
	l, err := decodeLedger(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// caller numbers the reports of one replica.
type caller struct {
	name string
	seq  uint64
}

func (c *caller) tell(l *ledger, now int64, limit Limit, r report) allotment {
	c.seq++
	r.replica, r.seq, r.lease = c.name, c.seq, 3*second
	return l.settle(now, limit, r)
}

func TestBudgetIsCutOnceForWhatWasOnItsWay(t *testing.T) {
	l, a, b := newLedger(t), caller{name: "a"}, caller{name: "b"}
	limit := Limit{Concurrency: 100}
	a.tell(l, second, limit, report{running: 30, more: 10})
	b.tell(l, second, limit, report{running: 10, more: 10})
	cut := a.tell(l, 2*second, limit, report{running: 25, tally: tally{refused: 5, began: 1500, pause: 4000}})
	// Half of the 40 that were running are left, and b may have 20.
	if want := (allotment{Pause: 4000, Allowed: 20, Streak: 1}); cut != want {
		t.Errorf("after a refusal with 40 running: got %+v, want %+v", cut, want)
	}
	late := b.tell(l, 3*second, limit, report{running: 5, tally: tally{refused: 5, began: 1900}})
	if late.Allowed != 20 || late.Pause != 3000 {
		t.Errorf("after the refusal of what began before the cut: got %+v, want 20 allowed and 3 s of the pause left", late)
	}
	for range 19 {
		a.tell(l, 7*second, limit, report{running: 1, tally: tally{successes: 1}})
	}
	if got := a.tell(l, 7*second, limit, report{running: 1}); got.Allowed != 20 {
		t.Errorf("after 19 successes: got %d allowed, want 20", got.Allowed)
	}
	if got := a.tell(l, 7*second, limit, report{running: 1, tally: tally{successes: 1}}); got.Allowed != 22 || got.Streak != 0 {
		t.Errorf("after 20 successes: got %+v, want 22 allowed, a twentieth of 40 more", got)
	}
	if got := a.tell(l, 8*second, limit, report{running: 1, tally: tally{successes: 100_000}}); got.Allowed != 100 {
		t.Errorf("after many successes: got %d allowed, want the limit of 100", got.Allowed)
	}
	for n := range int64(20) {
		a.tell(l, (9+n)*second, limit, report{tally: tally{refused: 1, began: (9 + n) * second}})
	}
	if got := a.tell(l, 40*second, limit, report{running: 1}); got.Allowed != 1 || l.Rate != minRate {
		t.Errorf("after refusals only: got %d allowed at a rate of %v, want 1 and %v", got.Allowed, l.Rate, minRate)
	}
}

func TestReportIsBookedOnce(t *testing.T) {
	l := newLedger(t)
	r := report{replica: "a", seq: 1, lease: second, more: 1, requests: 5}
	first := l.settle(second, Limit{Requests: 600, Concurrency: 10}, r)
	again := l.settle(2*second, Limit{Requests: 600, Concurrency: 10}, r)
	if first != again || first.Requests != 5 {
		t.Errorf("the same report again: got %+v, want %+v", again, first)
	}
	if got := l.Requests.since(0); got != 5 {
		t.Errorf("requests taken: got %d, want 5", got)
	}
}

// TestTurns checks that replicas that all want more take turns when not each can have one.
func TestTurns(t *testing.T) {
	l := newLedger(t)
	callers := []*caller{{name: "a"}, {name: "b"}, {name: "c"}}
	had := make(map[string]int)
	running := make(map[string]int)
	for now := int64(0); now < 60*second; now += 100 {
		for _, c := range callers {
			got := c.tell(l, now, Limit{Concurrency: 1}, report{running: running[c.name], more: 3})
			running[c.name] = got.Slots
			had[c.name] += got.Slots
		}
		held := 0
		for _, s := range l.Replicas {
			held += s.Got.Slots
		}
		if held > 1 {
			t.Fatalf("at %d ms: %d may run, want 1", now, held)
		}
	}
	for name, n := range had {
		if n < 120 {
			t.Errorf("replica %s: had its turn in %d of 600 reports, want about 200", name, n)
		}
	}
}

// TestRatesAreShared checks that a replica that asks first does not get everything.
func TestRatesAreShared(t *testing.T) {
	l := newLedger(t)
	callers := []*caller{{name: "a"}, {name: "b"}, {name: "c"}}
	had := make(map[string]int64)
	for now := int64(0); now < 300*second; now += 100 {
		for _, c := range callers {
			had[c.name] += c.tell(l, now, Limit{Requests: 600, Concurrency: 100}, report{more: 20, requests: 20}).Requests
		}
	}
	for _, c := range callers {
		if n := had[c.name]; n < 900 || n > 1100 {
			t.Errorf("replica %s: got %d of 3000 requests, want a third within a tenth", c.name, n)
		}
	}
}

// TestSlotsNeverExceedTheLimit lets replicas act on answers that are late, with random demands.
func TestSlotsNeverExceedTheLimit(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		l, limit := newLedger(t), Limit{Concurrency: 1 + r.IntN(20)}
		slots, running := make([]int, 4), make([]int, 4)
		callers := []*caller{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}
		for now := second; now < 200*second; now += int64(1 + r.IntN(300)) {
			n := r.IntN(4)
			told := report{running: running[n], more: r.IntN(10)}
			running[n] += r.IntN(max(slots[n]-running[n], 0) + 1) // begun while the report is on its way
			slots[n] = callers[n].tell(l, now, limit, told).Slots
			running[n] -= r.IntN(running[n] + 1)
			sum := 0
			for i := range running {
				sum += max(running[i], slots[i])
				if running[i] > 0 || slots[i] > 0 { // each renews in time
					slots[i] = callers[i].tell(l, now, limit, report{running: running[i], more: slots[i]}).Slots
				}
			}
			if sum > limit.Concurrency {
				t.Fatalf("seed %d at %d ms: %v run and %v may, want at most %d", seed, now, running, slots, limit.Concurrency)
			}
		}
	}
}

func TestWrongClock(t *testing.T) {
	l, a, b := newLedger(t), caller{name: "a"}, caller{name: "b"}
	limit := Limit{Requests: 60, Concurrency: 10}
	hour := 3600 * second
	if got := a.tell(l, hour, limit, report{more: 1, requests: 2}); got.Requests != 2 {
		t.Fatalf("requests: got %+v, want 2", got)
	}
	got := b.tell(l, 10*second, limit, report{more: 1})
	if l.At != 10*second || l.Replicas["a"].Expires != 13*second || l.Requests.since(0) != 2 {
		t.Errorf("an hour back: got %+v and the ledger %+v, want all times an hour earlier", got, l)
	}
	b.tell(l, 5*second, limit, report{})
	if l.At != 10*second {
		t.Errorf("five seconds back: got %d, want time to stand still at 10000", l.At)
	}
}

func TestWindow(t *testing.T) {
	var w window
	w = w.add(100, 3).add(101, 4).add(101, 1)
	if diff := cmp.Diff(window{{100, 3}, {101, 5}}, w); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	w.refund(100, 2)
	w.refund(7, 2)
	for _, test := range []struct{ now, limit, need, want int64 }{
		{101, 250, 1, 4},   // a burst of 10
		{101, 250, 20, 20}, // a large request fits while the burst is not used up
		{101, 100, 1, 0},
		{103, 100, 1, 4},
		{103, 8, 5, 2}, // what the minute leaves
		{162, 8, 5, 3},
		{163, 8, 5, 5},
	} {
		if got := w.free(test.now, test.limit, test.need); got != test.want {
			t.Errorf("free(%d, %d, %d): got %d, want %d", test.now, test.limit, test.need, got, test.want)
		}
	}
	if got := w.when(103, 8, 5); got != 163 {
		t.Errorf("when: got %d, want 163", got)
	}
	if got := len(w.prune(162)); got != 1 {
		t.Errorf("pruned: got %d, want 1", got)
	}
}

func FuzzLedger(f *testing.F) {
	f.Add([]byte(`{"at":1,"requests":[{"s":1,"n":5}],"concurrency":3,"rate":0.5,"replicas":{"a":{"seq":1,"expires":9}}}`), int64(5))
	f.Add([]byte(`{"concurrency":-1,"rate":7}`), int64(-5))
	f.Fuzz(func(t *testing.T, raw []byte, now int64) {
		l, err := decodeLedger(raw)
		if err != nil {
			return
		}
		got := l.settle(now, Limit{Requests: 60, Tokens: 6000, Concurrency: 4}, report{replica: "a", seq: 1 << 60, lease: 1, more: 9, requests: 9, tokens: 900, need: 100})
		if got.Slots < 0 || got.Slots > 4 || got.Requests < 0 || got.Requests > 60 || got.Tokens < 0 || got.Tokens > 6000 || got.Pause < 0 {
			t.Errorf("of %q: got %+v, want it within the limit", raw, got)
		}
		if _, err := encode(l); err != nil {
			t.Error(err)
		}
	})
}

func FuzzAccount(f *testing.F) {
	f.Add([]byte(`{"spent":{"tokens":5},"replicas":{"a":{"seq":1,"got":{"tokens":4},"expires":9}}}`), int64(5))
	f.Fuzz(func(t *testing.T, raw []byte, now int64) {
		a, err := decodeAccount(raw)
		if err != nil {
			return
		}
		a.settle(now, Spend{Tokens: 100}, claim{replica: "b", seq: 1, lease: 1, want: Spend{Tokens: 5}, need: Spend{Tokens: 5}})
		if _, err := encode(a); err != nil {
			t.Error(err)
		}
	})
}

// rounds counts how often all allowed requests have to succeed until as many as wanted are allowed.
func (c *caller) rounds(tb testing.TB, l *ledger, from int64, want int) int {
	tb.Helper()
	limit := Limit{Concurrency: maxConcurrency}
	got := c.tell(l, from, limit, report{})
	for n := range 10_000 {
		if got.Allowed >= want {
			return n
		}
		from += 5 * second
		got = c.tell(l, from, limit, report{running: got.Allowed, more: 1, tally: tally{successes: got.Allowed}})
	}
	tb.Fatalf("after 10,000 rounds: got %d allowed, want %d", got.Allowed, want)
	return 0
}

// TestConcurrencyComesBack cuts the budget to one request at once, by an outage or bit by bit, and
// counts how long it takes to come back.
func TestConcurrencyComesBack(t *testing.T) {
	for name, test := range map[string]struct{ successes, most int }{"outage": {0, 25}, "bit by bit": {1, 80}} {
		l, a := newLedger(t), caller{name: "a"}
		running := 5000
		for n := range int64(15) {
			at := (n + 1) * 60 * second
			got := a.tell(l, at, Limit{Concurrency: maxConcurrency}, report{running: running, more: 10, tally: tally{refused: 1, began: at}})
			running = got.Allowed - 1
			a.tell(l, at+second, Limit{Concurrency: maxConcurrency}, report{running: running, more: 10, tally: tally{successes: test.successes}})
		}
		if l.Concurrency > 3 {
			t.Errorf("%s: got %v at once, want it to be cut to a few", name, l.Concurrency)
		}
		if got := a.rounds(t, l, 20*60*second, 500); got > test.most {
			t.Errorf("%s: got 500 at once after %d rounds, want at most %d", name, got, test.most)
		}
	}
}

// TestHigherLimitHoldsAtOnce checks that only refusals are learned from, and no limit that somebody
// gave before.
func TestHigherLimitHoldsAtOnce(t *testing.T) {
	l, a := newLedger(t), caller{name: "a"}
	a.tell(l, second, Limit{Concurrency: 4}, report{more: 10})
	if got := a.tell(l, 2*second, Limit{Concurrency: 64}, report{more: 100}); got.Allowed != 64 {
		t.Errorf("with a higher limit: got %d allowed, want 64", got.Allowed)
	}
	a.tell(l, 3*second, Limit{Concurrency: 64}, report{running: 64, tally: tally{refused: 1, began: 3 * second}})
	a.tell(l, 4*second, Limit{Concurrency: 64}, report{running: 1, tally: tally{successes: 100_000}})
	if got := a.tell(l, 5*second, Limit{Concurrency: 640}, report{more: 1000}); got.Allowed != 640 {
		t.Errorf("with a higher limit after all that was cut came back: got %d allowed, want 640", got.Allowed)
	}
}

// TestOldRefusalsAreForgotten lets a budget that was cut rest for a night.
func TestOldRefusalsAreForgotten(t *testing.T) {
	l, a := newLedger(t), caller{name: "a"}
	for n := range int64(10) {
		a.tell(l, (n+1)*second, Limit{Requests: 600, Concurrency: 100}, report{running: 50, tally: tally{refused: 1, began: (n + 1) * second}})
	}
	if got := a.tell(l, 60*second, Limit{Requests: 600, Concurrency: 100}, report{more: 200}); got.Allowed > 30 || l.Rate > 0.1 {
		t.Errorf("a minute later: got %+v at a rate of %v, want it cut", got, l.Rate)
	}
	if got := a.tell(l, 8*3600*second, Limit{Requests: 600, Concurrency: 100}, report{more: 200}); got.Allowed != 100 || l.Rate != 1 {
		t.Errorf("the next morning: got %+v at a rate of %v, want all of it", got, l.Rate)
	}
}

// TestAccountOfAWrongClock lets a replica whose clock is an hour ahead die with money reserved: it
// comes back when the lease ends.
func TestAccountOfAWrongClock(t *testing.T) {
	a, err := decodeAccount(nil)
	if err != nil {
		t.Fatal(err)
	}
	limit, one := Spend{Tokens: 1000}, Spend{Tokens: 900}
	a.settle(3600*second, limit, claim{replica: "a", seq: 1, lease: 3 * second, want: one, need: one})
	ask := claim{replica: "b", lease: 3 * second, want: one, need: one}
	for n := range uint64(5) {
		ask.seq++
		got := a.settle(int64(n+1)*second, limit, ask)
		if has := got.Got == one; has != (n >= 4) {
			t.Errorf("%d s later: got %+v, want the reserve free after 3 s", n, got)
		}
	}
}
