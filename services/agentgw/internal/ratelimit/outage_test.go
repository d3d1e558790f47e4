package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// acquireUntil acquires permits until the time is up or an error ends the wait, and returns the
// error and its time. It gives up each wait after a minute and retries, as a caller does.
func acquireUntil(t *testing.T, limiter *Limiter, d Request, length time.Duration, outcome func(at time.Duration) Outcome) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	for time.Since(began) < length {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		permit, err := limiter.Acquire(ctx, d)
		cancel()
		switch {
		case err == nil:
			sleep(t.Context(), time.Second)
			permit.Done(outcome(time.Since(began)))
		case errors.Is(err, context.DeadlineExceeded):
		default:
			return time.Since(began), err
		}
	}
	return time.Since(began), nil
}

// always returns one outcome for all requests.
func always(o Outcome) func(time.Duration) Outcome {
	return func(time.Duration) Outcome { return o }
}

// TestOutage simulates a provider that refuses or fails everything. Each run waits for MaxWait and
// gets the provider's reason. A later round waits anew.
func TestOutage(t *testing.T) {
	turns := 0
	for name, test := range map[string]struct {
		outcome func(time.Duration) Outcome
		want    error
		within  time.Duration // after MaxWait
		reason  string
	}{
		"429":                 {always(Outcome{Class: Throttled, Reason: "HTTP 429: slow down"}), ErrOutage, time.Minute, "; the last reason was: HTTP 429: slow down"},
		"503":                 {always(Outcome{Class: Overloaded}), ErrOutage, time.Minute, " requests were refused or failed and none was answered"},
		"429 for an hour":     {always(Outcome{Class: Throttled, RetryAfter: time.Hour}), ErrOutage, 2 * time.Minute, "were refused or failed"},
		"failures after work": {always(Outcome{Class: Failed}), ErrBreakerOpen, time.Minute, "circuit breaker is open, next attempt in "},
		"429 and failures": {func(time.Duration) Outcome {
			if turns++; turns%4 == 0 {
				return Outcome{Class: Throttled}
			}
			return Outcome{Class: Failed}
		}, ErrBreakerOpen, 2 * time.Minute, "circuit breaker is open, next attempt in "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := replica(t, newMemory(), "r0", func(c *Config) { c.BreakerFailures = 3 })
				begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
				for _, round := range []int32{0, 1} {
					d := request("s")
					d.Run.Round = round
					at, err := acquireUntil(t, limiter, d, 2*time.Hour, test.outcome)
					if !errors.Is(err, test.want) || at < 29*time.Minute || at > 30*time.Minute+test.within {
						t.Fatalf("round %d: got %v after %s, want %v after some 30m", round, err, at, test.want)
					}
					if !strings.Contains(err.Error(), test.reason) {
						t.Errorf("round %d: got %q, want %q in it", round, err, test.reason)
					}
				}
			})
		})
	}
}

// TestOutageEnds ends an outage after runs have given up. Their turns fail until a probe succeeds,
// then all begin.
func TestOutageEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		if _, err := acquireUntil(t, limiter, request("s"), time.Hour, always(Outcome{Class: Throttled})); !errors.Is(err, ErrOutage) {
			t.Fatalf("got %v, want ErrOutage", err)
		}
		sleep(t.Context(), 5*time.Minute) // the run's other turns come late
		first := begin(t, limiter, request("s"))
		if _, err := limiter.Acquire(t.Context(), request("s")); !errors.Is(err, ErrOutage) {
			t.Errorf("beside the one that finds out: got %v, want ErrOutage", err)
		}
		first.Done(Outcome{Class: Throttled})
		if _, err := limiter.Acquire(t.Context(), request("s")); !errors.Is(err, ErrOutage) {
			t.Errorf("after it was refused: got %v, want ErrOutage", err)
		}
		sleep(t.Context(), time.Minute)
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
		for range 3 {
			begin(t, limiter, request("s")).Done(Outcome{Class: Throttled})
		}
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
	})
}

// TestOutageExpires leaves a budget idle after a run has given up.
func TestOutageExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		for range 2 {
			at, err := acquireUntil(t, limiter, request("s"), time.Hour, always(Outcome{Class: Throttled}))
			if !errors.Is(err, ErrOutage) || at < 30*time.Minute {
				t.Errorf("got %v after %s, want ErrOutage after some 30m", err, at)
			}
			sleep(t.Context(), idleTimeout+10*time.Second)
		}
	})
}

// TestNoOutage simulates providers that work slowly. No run gives up.
func TestNoOutage(t *testing.T) {
	const length, wait = 40 * time.Minute, 5 * time.Minute
	impatient := func(c *Config) { c.MaxWait = wait }
	t.Run("an answer each 4 minutes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter := replica(t, newMemory(), "r0", impatient)
			var last time.Duration
			at, err := acquireUntil(t, limiter, request("s"), length, func(at time.Duration) Outcome {
				if at-last > 4*time.Minute {
					last = at
					return Outcome{Class: Succeeded}
				}
				return Outcome{Class: Throttled}
			})
			if err != nil || last < length-wait {
				t.Errorf("got %v after %s, the last answer after %s, want none for %s", err, at, last, length)
			}
		})
	})
	t.Run("a long wait behind slow requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			limiter := replica(t, newMemory(), "r0", func(c *Config) {
				impatient(c)
				c.Limits = Limits{"openai": {Concurrency: 1}}
			})
			begin(t, limiter, request("other")).Done(Outcome{Class: Throttled})
			slow := begin(t, limiter, request("other"))
			time.AfterFunc(length-time.Minute, func() { slow.Done(Outcome{Class: Succeeded}) })
			if at, err := acquireUntil(t, limiter, request("s"), length, always(Outcome{Class: Succeeded})); err != nil {
				t.Errorf("got %v after %s, want nothing", err, at)
			}
		})
	})
}

// TestOutageEndsWaits fails queued requests when the run's time is over, and not at their next
// request.
func TestOutageEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", func(c *Config) { c.MaxWait = 10 * time.Minute; c.Limits = Limits{"openai": {Concurrency: 1}} })
		held := begin(t, limiter, request("s"))
		ended := make(chan error, 2)
		for _, sweep := range []string{"s", "late"} {
			go func() {
				if sweep == "late" {
					sleep(t.Context(), 5*time.Minute)
				}
				permit, err := limiter.Acquire(t.Context(), request(sweep))
				if err == nil {
					permit.Done(Outcome{Class: Succeeded})
				}
				ended <- fmt.Errorf("%s: %w", sweep, err)
			}()
			synctest.Wait()
		}
		limiter.mu.Lock()
		b := limiter.budget(time.Now(), request("s").Key)
		b.recordRefusal(time.Now(), SweepRound{"s", 0}, Outcome{Class: Throttled})
		limiter.mu.Unlock()
		sleep(t.Context(), 11*time.Minute)
		held.Done(Outcome{Class: Throttled})
		if err := <-ended; !errors.Is(err, ErrOutage) || !strings.HasPrefix(err.Error(), "s: ") {
			t.Errorf("first to end: got %v, want ErrOutage of s", err)
		}
		if err := <-ended; errors.Is(err, ErrOutage) {
			t.Errorf("the late one: got %v, want it to begin", err)
		}
	})
}
