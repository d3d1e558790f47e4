package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errTest = errors.New("test")

func fixed(f float64) func() float64 { return func() float64 { return f } }

func TestDo(t *testing.T) {
	again, paced := Outcome{Err: errTest, Retryable: true}, Outcome{Err: errTest, Retryable: true, Throttled: true}
	long := func(o Outcome) Outcome { o.Expected = 10 * time.Second; return o }
	tests := map[string]struct {
		outcomes []Outcome // the last one is repeated
		deadline time.Duration
		jitter   float64
		attempts int
		waited   time.Duration
		err      error
	}{
		"at once":              {[]Outcome{{}}, 0, 1, 1, 0, nil},
		"second time":          {[]Outcome{again, {}}, 0, 1, 2, 500 * time.Millisecond, nil},
		"jitter":               {[]Outcome{again, {}}, 0, 0, 2, 250 * time.Millisecond, nil},
		"never":                {[]Outcome{again}, 0, 1, 5, 7500 * time.Millisecond, errTest},
		"final":                {[]Outcome{{Err: errTest}}, 0, 1, 1, 0, errTest},
		"asked to wait":        {[]Outcome{{Err: errTest, Retryable: true, RetryAfter: 8 * time.Second}, {}}, 0, 1, 2, 10 * time.Second, nil},
		"asked to wait long":   {[]Outcome{{Err: errTest, Retryable: true, RetryAfter: time.Hour}, {}}, 0, 1, 1, 0, errTest},
		"paced":                {[]Outcome{paced, paced, again, paced, {}}, 0, 1, 5, 500 * time.Millisecond, nil},
		"paced for ever":       {[]Outcome{paced}, 0, 1, maxThrottled + 5, 7500 * time.Millisecond, errTest},
		"no time for the wait": {[]Outcome{again, {}}, 400 * time.Millisecond, 1, 1, 0, errTest},
		"no time for the next": {[]Outcome{long(again), {}}, 10400 * time.Millisecond, 1, 1, 0, errTest},
		"time for the next":    {[]Outcome{long(again), {}}, 10600 * time.Millisecond, 1, 2, 500 * time.Millisecond, nil},
		"no time, paced":       {[]Outcome{long(paced), {}}, 9 * time.Second, 1, 1, 0, errTest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.deadline > 0 {
					limited, cancel := context.WithTimeout(ctx, test.deadline)
					defer cancel()
					ctx = limited
				}
				start, attempts := time.Now(), 0
				err := Policy{Attempts: 5, InitialWait: InitialWait, Jitter: fixed(test.jitter)}.Do(ctx, func(context.Context) Outcome {
					attempts++
					return test.outcomes[min(attempts, len(test.outcomes))-1]
				})
				if waited := time.Since(start); attempts != test.attempts || waited != test.waited || !errors.Is(err, test.err) {
					t.Errorf("got %d attempts in %s and %v, want %d in %s and %v", attempts, waited, err, test.attempts, test.waited, test.err)
				}
			})
		})
	}
}

func TestDoCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		attempts := 0
		err := Policy{Attempts: 5, InitialWait: InitialWait, Jitter: fixed(1)}.Do(ctx, func(context.Context) Outcome {
			attempts++
			return Outcome{Err: errTest, Retryable: true}
		})
		if attempts != 1 || !errors.Is(err, errTest) {
			t.Errorf("got %d attempts and %v, want 1 and the attempt's error", attempts, err)
		}
	})
}
