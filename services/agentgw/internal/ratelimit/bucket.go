package ratelimit

import (
	"time"

	"golang.org/x/time/rate"
)

const (
	// window is how long a taken amount counts: a minute plus the latency to the provider.
	window = 61 * time.Second
	// burstShare is the divisor of a minute's limit that gives the burst.
	burstShare = 50
)

// bucket is a token bucket for a limit per minute. The burst plus the inflow of a minute never
// exceed the limit, as long as no request needs more than half of it.
type bucket struct {
	limit   int64
	largest int64 // decaying maximum of needs
	rate    *rate.Limiter
}

// newBucket returns a full bucket.
func newBucket(limit int64) *bucket {
	return &bucket{limit: limit, rate: rate.NewLimiter(0, int(limit))}
}

// wait returns the time until a need can be met while share of the limit is allowed. It raises the
// burst to the need and lowers the inflow accordingly.
func (b *bucket) wait(now time.Time, need int64, share float64) time.Duration {
	b.largest = max(need, b.largest-b.largest/64)
	burst := max((b.limit+burstShare-1)/burstShare, min(b.largest, b.limit))
	flow := float64(max(b.limit-burst+1, (b.limit+1)/2)) * share / window.Seconds()
	b.rate.SetBurstAt(now, int(burst))
	b.rate.SetLimitAt(now, rate.Limit(flow))
	missing := float64(need) - b.rate.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/flow*float64(time.Second)) + time.Millisecond
}

// take takes n, even if the bucket holds less: later needs wait for the rest. Negative n refunds.
func (b *bucket) take(now time.Time, n int64) {
	for n = min(max(n, -b.limit), b.limit); n != 0; {
		amount := min(n, int64(b.rate.Burst()))
		b.rate.ReserveN(now, int(amount))
		n -= amount
	}
}
