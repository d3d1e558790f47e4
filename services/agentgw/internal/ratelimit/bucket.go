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

// bucket is a limit per minute as a token bucket. What is in it and what flows in within a minute
// never exceed the limit, as long as no need is more than half of it.
type bucket struct {
	limit   int64
	largest int64 // need of late
	rate    *rate.Limiter
}

// newBucket returns a full bucket.
func newBucket(limit int64) *bucket {
	return &bucket{limit: limit, rate: rate.NewLimiter(0, int(limit))}
}

// wait returns how long it takes until a need can be met while a share of the limit is allowed. The
// bucket becomes large enough for the need, and so much less flows in.
func (b *bucket) wait(now time.Time, need int64, share float64) time.Duration {
	b.largest = max(need, b.largest-b.largest/64)
	burst := max((b.limit+burstShare-1)/burstShare, min(b.largest, b.limit))
	flow := float64(max(b.limit-burst+1, (b.limit+1)/2)) * share / minute.Seconds()
	b.rate.SetBurstAt(now, int(burst))
	b.rate.SetLimitAt(now, rate.Limit(flow))
	short := float64(need) - b.rate.TokensAt(now)
	if short <= 0 {
		return 0
	}
	return time.Duration(short/flow*float64(time.Second)) + time.Millisecond
}

// take takes n, also if that is more than there is: later needs wait for it. Less than 0 gives
// back.
func (b *bucket) take(now time.Time, n int64) {
	for n = min(max(n, -b.limit), b.limit); n != 0; {
		part := min(n, int64(b.rate.Burst()))
		b.rate.ReserveN(now, int(part))
		n -= part
	}
}
