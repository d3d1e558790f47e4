package ratelimit

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// minute is for how long what was taken counts: a minute, and what the way to the provider can
	// add.
	minute = 61 * time.Second
	// burstShare is the part of a minute's limit that may be taken at once.
	burstShare = 50
)

// bucket is a limit per minute as a token bucket. nil has no limit. What is in it and what flows in
// within a minute never exceed the limit, as long as no need is more than half of it.
type bucket struct {
	limit   int64
	share   float64 // of the limit
	largest int64   // need of late
	taken   bool    // from: until then it is full
	rate    *rate.Limiter
}

// newBucket returns a full bucket, nil without a limit.
func newBucket(limit int64) *bucket {
	if limit == 0 {
		return nil
	}
	b := &bucket{limit: limit, share: 1}
	b.fit(time.Time{}, 0)
	return b
}

// size returns how much the bucket holds, at least the largest need, and how much flows in a
// second.
func (b *bucket) size() (burst int, flow rate.Limit) {
	most := max((b.limit+burstShare-1)/burstShare, min(b.largest, b.limit))
	rest := max(b.limit-most+1, (b.limit+1)/2)
	return int(most), rate.Limit(float64(rest) * b.share / minute.Seconds())
}

// fit makes the bucket as large as a need, and what flows in so much less.
func (b *bucket) fit(now time.Time, need int64) {
	b.largest = max(need, b.largest-b.largest/64)
	burst, flow := b.size()
	if !b.taken {
		b.rate = rate.NewLimiter(flow, burst)
		return
	}
	b.rate.SetBurstAt(now, burst)
	b.rate.SetLimitAt(now, flow)
}

// scale changes the share of the limit that may be taken.
func (b *bucket) scale(now time.Time, share float64) {
	if b != nil && share != b.share {
		b.share = share
		b.fit(now, 0)
	}
}

// wait returns how long it takes until a need can be met.
func (b *bucket) wait(now time.Time, need int64) time.Duration {
	if b == nil {
		return 0
	}
	b.fit(now, need)
	short := float64(need) - b.rate.TokensAt(now)
	if short <= 0 {
		return 0
	}
	return time.Duration(short/float64(b.rate.Limit())*float64(time.Second)) + time.Millisecond
}

// take takes n, also if that is more than there is: later needs wait for it.
func (b *bucket) take(now time.Time, n int64) {
	if b == nil {
		return
	}
	b.taken = true
	for n = min(n, b.limit); n > 0; {
		part := min(n, int64(b.rate.Burst()))
		b.rate.ReserveN(now, int(part))
		n -= part
	}
}

// give gives back what was taken and not used.
func (b *bucket) give(now time.Time, n int64) {
	if b != nil && n > 0 {
		b.rate.ReserveN(now, -int(min(n, b.limit)))
	}
}
