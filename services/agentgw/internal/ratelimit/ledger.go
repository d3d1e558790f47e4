package ratelimit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
)

const (
	// minRate is the smallest share of the rates that refusals leave.
	minRate = 1.0 / 16
	// rateStep is what a run of successes gives back of it.
	rateStep = 0.05
	// stepShare is the share of the concurrency before the last cut that a run of successes gives
	// back.
	stepShare = 20
	// turn is how long a replica keeps its share, in milliseconds, when there are more replicas
	// than requests allowed at once.
	turn = 1000
	// hurry is by how much that grows with each run, so that what an outage took comes back before
	// the night is over.
	hurry = 1.1
	// stale is after which time without a report nothing that was learned counts any more, in
	// milliseconds.
	stale = 10 * 60 * 1000
	// lately is in what time half of what a replica took is forgotten, in milliseconds.
	lately = 60 * 1000
	// spanned is more than anybody can have taken lately.
	spanned = 1 << 20
	// absence is for how long a replica that wants nothing more may come back, in milliseconds:
	// turns that wait are asked again and again.
	absence = 3 * turn
	// patience is how long a replica waits for what its next request needs until those that got
	// more have to wait for it, in milliseconds.
	patience = 30 * turn
	// maxSkew is by how much the clocks of replicas may differ, in milliseconds.
	maxSkew = 10_000
	// forget is how long a replica that is heard no more is remembered, in milliseconds: a repeated
	// report must be known as such.
	forget = 10 * 60 * 1000
	// remember is how long it is remembered after it has said that it leaves.
	remember = 60 * 1000
)

// ledger is the document that the replicas share of one budget. Times are milliseconds since 1970
// and never run backwards: a replica whose clock is behind goes by that of the others.
type ledger struct {
	At int64 `json:"at"`
	// Requests and Tokens are what was taken lately.
	Requests window `json:"requests,omitempty"`
	Tokens   window `json:"tokens,omitempty"`
	// Concurrency is how many requests are allowed at once, Rate which share of the limits per
	// minute; both adapt.
	Concurrency float64 `json:"concurrency"`
	Rate        float64 `json:"rate"`
	// Step is what a run of successes adds to the concurrency, Run the successes since the last
	// change.
	Step float64 `json:"step,omitempty"`
	Run  int     `json:"run,omitempty"`
	// Cut is when the budget was last cut. Failures of requests that had begun by then say nothing
	// new.
	Cut int64 `json:"cut,omitempty"`
	// Paused is when the next request may begin.
	Paused int64 `json:"paused,omitempty"`
	// Why is what the provider said that asked for it, without keys.
	Why string `json:"why,omitempty"`
	// Streak is the number of cuts without a success between them.
	Streak int `json:"streak,omitempty"`
	// Answered counts the reports of requests that the provider answered.
	Answered uint64           `json:"answered,omitempty"`
	Replicas map[string]share `json:"replicas,omitempty"`
}

// share is what one replica has of a budget.
type share struct {
	// Seq numbers the replica's reports, Got is the answer to the last one.
	Seq     uint64    `json:"seq"`
	Got     allotment `json:"got"`
	Expires int64     `json:"expires"`
	// Slots are the requests that it has at once or may have, by this answer or by the last one.
	Slots   int `json:"slots,omitempty"`
	Running int `json:"running,omitempty"`
	// Hungry says that it could use more; Since is when it got its slots, or began to wait without
	// any.
	Hungry bool  `json:"hungry,omitempty"`
	Since  int64 `json:"since,omitempty"`
	// Waits says since when it has not got what its next request needs of the limits per minute, 0
	// if it has, and Asked when it last wanted it.
	Waits int64 `json:"waits,omitempty"`
	Asked int64 `json:"asked,omitempty"`
	// Took is what it took of them lately, in minutes' limits, as of At.
	Took float64 `json:"took,omitempty"`
	At   int64   `json:"at,omitempty"`
	// Short says that it could use more requests or tokens.
	Short bool `json:"short,omitempty"`
}

// refund gives back what was taken in a second.
type refund struct{ second, requests, tokens int64 }

// report is what a replica tells the ledger: its state and what happened since its last report.
type report struct {
	replica string
	seq     uint64
	lease   int64 // milliseconds
	longest int64 // pause that the replica lets anybody ask for, in milliseconds; 0 for any
	last    bool  // the replica leaves
	// running requests, and how many more there could be at once.
	running, more int
	// requests and tokens that are wanted now; need is what the next request lacks in tokens.
	requests, tokens, need int64
	tally
}

// tally is what happened.
type tally struct {
	refunds   []refund
	surplus   int64 // tokens used beyond what was estimated
	successes int
	answered  bool  // any request, also one that began before the last cut
	refused   int   // requests that the provider had no room for
	began     int64 // when the last of them began, in milliseconds
	pause     int64 // how long to rest, in milliseconds
	why       string
}

// allotment is what a replica gets.
type allotment struct {
	Slots    int   `json:"slots,omitempty"`
	Second   int64 `json:"second,omitempty"`
	Requests int64 `json:"requests,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
	// Pause is how long nothing may begin, Retry when asking again may help; both in milliseconds
	// from now.
	Pause int64 `json:"pause,omitempty"`
	Retry int64 `json:"retry,omitempty"`
	// Allowed is the concurrency of all replicas, for metrics, and Streak the cuts in a row.
	Allowed int `json:"allowed,omitempty"`
	Streak  int `json:"streak,omitempty"`
	// Answered is the ledger's count of reports of answered requests.
	Answered uint64 `json:"answered,omitempty"`
}

// decodeLedger reads a stored ledger; of no bytes it makes a new one.
func decodeLedger(raw []byte) (*ledger, error) {
	l := &ledger{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, l); err != nil {
			return nil, fmt.Errorf("read budget: %w", err)
		}
	}
	if l.Rate <= 0 || l.Rate > 1 {
		l.Rate = 1
	}
	if !(l.Concurrency >= 1) || l.Concurrency > maxConcurrency {
		l.Concurrency = maxConcurrency
	}
	if l.Replicas == nil {
		l.Replicas = make(map[string]share)
	}
	return l, nil
}

// settle books a report and returns what the replica gets. A report that was booked before gets
// what it got.
func (l *ledger) settle(now int64, limit Limit, r report) allotment {
	l.refresh(now)
	l.follow(now)
	known, ok := l.Replicas[r.replica]
	if ok && known.Seq == r.seq {
		return known.Got
	}
	for name, s := range l.Replicas {
		if s.Expires < l.At-forget {
			delete(l.Replicas, name)
		}
	}
	l.correct(r)
	l.adapt(limit, r)
	if r.answered {
		l.Answered++
	}
	got := allotment{Pause: max(l.Paused-l.At, 0), Streak: l.Streak, Answered: l.Answered}
	next := share{Seq: r.seq, Expires: l.At + r.lease, Running: r.running, Since: known.Since}
	if known.Expires < l.At {
		known = share{}
	}
	got.Allowed = max(int(min(l.Concurrency, float64(limit.Concurrency))), 1)
	got.Slots = l.slots(got.Allowed, known, &next, r)
	next.Slots = max(got.Slots, r.running, known.Got.Slots) // while the answer is on its way the last one counts
	next.Waits, next.Asked = known.Waits, known.Asked
	next.At, next.Took = l.At, min(known.Took, spanned)*math.Exp2(-float64(max(l.At-known.At, 0))/lately)
	l.take(limit, r, &next, &got)
	next.Short = limit.Requests > 0 && got.Requests < r.requests || limit.Tokens > 0 && got.Tokens < r.tokens
	next.Got = got
	if r.last {
		next = share{Seq: r.seq, Got: got, Expires: l.At - forget + remember}
	}
	l.Replicas[r.replica] = next
	return got
}

// refresh drops what refusals taught if nobody has used the budget for a while.
func (l *ledger) refresh(now int64) {
	if now-l.At > stale {
		l.Concurrency, l.Rate, l.Step, l.Run, l.Streak = maxConcurrency, 1, 0, 0, 0
	}
}

// follow moves the ledger's time on. If it is far ahead, a clock was wrong, and all times are moved
// back.
func (l *ledger) follow(now int64) {
	back := l.At - now
	if back <= maxSkew {
		l.At = max(l.At, now)
		return
	}
	l.At, l.Cut, l.Paused = now, l.Cut-back, l.Paused-back
	for name, s := range l.Replicas {
		s.Expires, s.Since = s.Expires-back, s.Since-back
		s.Waits, s.Asked, s.At = max(s.Waits-back, 0), s.Asked-back, s.At-back
		l.Replicas[name] = s
	}
	for _, w := range []window{l.Requests, l.Tokens} {
		for i := range w {
			w[i].Second -= (back + 999) / 1000 // rounded so that none is later than now
		}
	}
}

// correct books what requests took other than estimated.
func (l *ledger) correct(r report) {
	second := l.At / 1000
	for _, back := range r.refunds {
		l.Requests.refund(back.second, back.requests)
		l.Tokens.refund(back.second, back.tokens)
	}
	if r.surplus > 0 {
		l.Tokens = l.Tokens.add(second, r.surplus)
	}
	l.Requests, l.Tokens = l.Requests.prune(second), l.Tokens.prune(second)
}

// adapt cuts the budget to half of what is in use when the provider has no room, and gives some
// back after each run of successes.
func (l *ledger) adapt(limit Limit, r report) {
	l.rest(r)
	if r.refused > 0 && r.began > l.Cut {
		running := float64(r.running + r.refused)
		for name, s := range l.Replicas {
			if name != r.replica && s.Expires >= l.At {
				running += float64(s.Running)
			}
		}
		used := max(min(l.Concurrency, running), 1)
		if l.Streak == 0 {
			l.Step = 1
		} // else an outage, which says nothing about how much there is room for
		l.Step = max(l.Step, used/stepShare)
		l.Concurrency = max(used/2, 1)
		l.Rate = max(l.Rate/2, minRate)
		l.Cut, l.Run = l.At, 0
		l.Streak++
		return
	}
	if r.successes > 0 {
		l.Streak = 0
	}
	l.Run += r.successes
	all := float64(limit.Concurrency)
	for l.Concurrency < all || l.Rate < 1 {
		run := int(math.Ceil(min(l.Concurrency, all)))
		if l.Run < run {
			return
		}
		l.Run -= run
		l.Concurrency = min(l.Concurrency+max(l.Step, 1), maxConcurrency)
		l.Step = min(max(l.Step, 1)*hurry, maxConcurrency)
		l.Rate = min(l.Rate+rateStep, 1)
	}
	l.Concurrency, l.Step, l.Run = maxConcurrency, 0, 0 // as if nothing had been: the limit may be a higher one tomorrow
}

// rest takes in a pause that a provider asks for. One that was asked for before, maybe by an
// earlier run, is no longer than the replica allows: it would wait for it.
func (l *ledger) rest(r report) {
	if until := l.At + r.pause; r.pause > 0 && until > l.Paused {
		l.Paused, l.Why = until, r.why
	}
	if r.longest > 0 {
		l.Paused = min(l.Paused, l.At+r.longest)
	}
	if l.Paused <= l.At {
		l.Why = ""
	}
}

// slots returns how many requests the replica may have at once. While others want more too, each
// gets its part; if there is not one for each, they take turns, those first that have waited
// longest.
func (l *ledger) slots(allowed int, known share, next *share, r report) int {
	want := r.running + r.more
	held, hungry, before, waiting := 0, 1, 0, 0
	since := known.Since
	if known.Got.Slots > 0 || !known.Hungry {
		since = l.At // it would begin to wait now
	}
	for name, s := range l.Replicas {
		if name == r.replica || s.Expires < l.At {
			continue
		}
		held += s.Slots
		if !s.Hungry {
			continue
		}
		hungry++
		if s.Got.Slots == 0 {
			waiting++
			if s.Since < since || s.Since == since && name < r.replica {
				before++
			}
		}
	}
	slots := max(min(want, allowed-held), 0)
	if hungry > 1 {
		slots = min(slots, (allowed+hungry-1)/hungry)
	}
	switch had := known.Got.Slots > 0; {
	case had && hungry > allowed && waiting > 0 && l.At-known.Since >= turn:
		slots = 0
	case !had && slots > 0 && before >= max(allowed-held, 0):
		slots = 0
	}
	next.Hungry = want > slots
	switch {
	case slots > 0 && known.Got.Slots > 0:
		next.Since = known.Since
	case slots > 0:
		next.Since = l.At
	default:
		next.Since = since
	}
	return slots
}

// take gives out requests and tokens of the limits per minute. Who has waited for long and got less
// comes first: a request that needs most of a minute's tokens would never find them beside others
// that take a few again and again.
func (l *ledger) take(limit Limit, r report, next *share, got *allotment) {
	wants := limit.Requests > 0 && r.requests > 0 || limit.Tokens > 0 && r.tokens > 0
	switch {
	case !wants || got.Slots == 0:
		if l.At-next.Asked > absence {
			next.Waits = 0
		}
		return
	case got.Pause > 0:
		return
	}
	next.Waits, next.Asked = cmp.Or(next.Waits, l.At), l.At
	if l.yields(r.replica, next) {
		got.Retry = turn
		return
	}
	if l.share(limit, r, got); got.Retry > 0 {
		return
	}
	next.Waits = 0
	next.Took += max(part(got.Requests, limit.Requests), part(got.Tokens, limit.Tokens))
}

func part(n, limit int64) float64 {
	if limit == 0 {
		return 0
	}
	return float64(n) / float64(limit)
}

// yields says whether another replica has waited for long, and got less.
func (l *ledger) yields(replica string, own *share) bool {
	for name, s := range l.Replicas {
		less := s.Took < own.Took || s.Took == own.Took && name < replica
		if name != replica && s.Expires >= l.At && s.Waits > 0 && less && l.At-s.Waits >= patience && l.At-s.Asked <= absence {
			return true
		}
	}
	return false
}

// share gives out what there is to one of those that wait. A retry says that it is not enough.
func (l *ledger) share(limit Limit, r report, got *allotment) {
	short := int64(1)
	for name, s := range l.Replicas {
		if name != r.replica && s.Expires >= l.At && s.Short {
			short++
		}
	}
	second := l.At / 1000
	got.Second = second
	lend := func(w window, limit, want, need int64) (n, retry int64) {
		scaled := max(int64(float64(limit)*l.Rate), need, 1)
		free := w.free(second, scaled, need)
		if free < need {
			return 0, w.when(second, scaled, need)*1000 - l.At
		}
		return max(min(want, free, (burstOf(scaled)+short-1)/short), need), 0
	}
	var retry int64
	if limit.Requests > 0 && r.requests > 0 {
		got.Requests, got.Retry = lend(l.Requests, limit.Requests, r.requests, 1)
	}
	if limit.Tokens > 0 && r.tokens > 0 {
		got.Tokens, retry = lend(l.Tokens, limit.Tokens, r.tokens, r.need)
		got.Retry = max(got.Retry, retry)
	}
	if got.Retry > 0 {
		got.Requests, got.Tokens = 0, 0
		return
	}
	if got.Requests > 0 {
		l.Requests = l.Requests.add(second, got.Requests)
	}
	if got.Tokens > 0 {
		l.Tokens = l.Tokens.add(second, got.Tokens)
	}
}
