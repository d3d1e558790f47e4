package ratelimit

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// simulateLog runs two runs against a simulated provider for a time and returns the log.
func simulateLog(t *testing.T, length time.Duration, outcome func(at time.Duration) Outcome) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		captureLog(limiter, &out)
		ended := make(chan error, 2)
		for _, sweep := range []string{"s", "other"} {
			go func() {
				_, err := acquireUntil(t, limiter, request(sweep), length, outcome)
				ended <- err
			}()
		}
		for range cap(ended) {
			if err := <-ended; err != nil && !errors.Is(err, ErrOutage) {
				t.Error(err)
			}
		}
	})
	return out.String()
}

// compare matches the lines of a log with patterns.
func compare(t *testing.T, log string, patterns []string) {
	t.Helper()
	got := strings.Split(strings.TrimSpace(log), "\n")
	if len(got) != len(patterns) {
		t.Fatalf("got %d lines, want %d:\n%s", len(got), len(patterns), log)
	}
	for i, want := range patterns {
		if !regexp.MustCompile(want).MatchString(got[i]) {
			t.Errorf("line %d: got %s, want %s", i, got[i], want)
		}
	}
}

// captureLog writes a limiter's log to out, without times and the provider.
func captureLog(limiter *Limiter, out io.Writer) {
	limiter.logger = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "provider" {
			return slog.Attr{}
		}
		return a
	}}))
}

// TestNotice simulates refusals and failures. The log reports them soon, then once a minute, and
// reports the end.
func TestNotice(t *testing.T) {
	refused := Outcome{Class: Throttled, RetryAfter: 8 * time.Second, Reason: "HTTP 429: slow down"}
	until := func(end time.Duration, o Outcome) func(time.Duration) Outcome {
		return func(at time.Duration) Outcome {
			if at < end {
				return o
			}
			return Outcome{Class: Succeeded}
		}
	}
	const waiting = `level=WARN msg="provider does not answer" reason="HTTP 429: slow down" for=`
	const broken = `level=WARN msg="provider does not answer" reason="connection refused" for=`
	const again = `level=WARN msg="provider answers again" after=`
	for name, test := range map[string]struct {
		outcome func(time.Duration) Outcome
		length  time.Duration
		want    []string // patterns
	}{
		"200 seconds": {until(200*time.Second, refused), 5 * time.Minute, []string{
			waiting + `0s next_request=8s`, waiting + `1m\d`, waiting + `2m\d`, waiting + `3m\d`, again + "3m2[0-9]s",
		}},
		"long pauses": {until(4*time.Minute, Outcome{Class: Overloaded, RetryAfter: 5 * time.Minute}), 6 * time.Minute, []string{
			`reason="" for=0s next_request=5m0s`, again + "5m",
		}},
		"a moment": {until(2*time.Second, Outcome{Class: Throttled, RetryAfter: 200 * time.Millisecond}), time.Minute, []string{"^$"}},
		"errors":   {until(3*time.Second, Outcome{Class: Failed}), time.Minute, []string{"^$"}},
		"an outage": {func(at time.Duration) Outcome {
			if at > 2*time.Second && at < 20*time.Second {
				return Outcome{Class: Failed, Reason: "connection refused"}
			}
			return Outcome{Class: Succeeded}
		}, time.Minute, []string{broken + "2s next_request=0s", again + "20s"}},
		"refused for good": {always(refused), 2 * time.Hour, strings.Split(strings.Repeat(waiting+",", 29)+"^$", ",")[:29]},
		"failures after it": {func(at time.Duration) Outcome {
			switch {
			case at < 2*time.Second:
				return Outcome{Class: Succeeded}
			case at < 3*time.Second:
				return refused
			}
			return Outcome{Class: Failed, Reason: "connection refused"}
		}, 70 * time.Second, []string{waiting, broken}},
		"now and then": {func(at time.Duration) Outcome {
			if int(at.Seconds())%20 < 10 {
				return Outcome{Class: Throttled, RetryAfter: 3 * time.Second, Reason: "HTTP 429: slow down"}
			}
			return Outcome{Class: Succeeded}
		}, 100 * time.Second, []string{waiting, again, waiting, again}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, simulateLog(t, test.length, test.outcome), test.want)
		})
	}
}

// TestNoticeOfLongPause simulates a provider that asks for minutes while it still answers requests
// in flight. The log reports the end when other requests may begin.
func TestNoticeOfLongPause(t *testing.T) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		captureLog(limiter, &out)
		refused, running, slow := begin(t, limiter, request("s")), begin(t, limiter, request("s")), begin(t, limiter, request("s"))
		refused.Done(Outcome{Class: Overloaded, RetryAfter: 100 * time.Second, Reason: "HTTP 503: later"})
		running.Done(Outcome{Class: Succeeded})
		time.AfterFunc(30*time.Second, func() { slow.Done(Outcome{Class: Succeeded}) })
		begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
	})
	compare(t, out.String(), []string{`reason="HTTP 503: later" for=0s next_request=1m40s`, `msg="provider answers again" after=1m40s`})
}

// TestNoticeOfSlowServer lets requests time out. The log names what the user can change.
func TestNoticeOfSlowServer(t *testing.T) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		limiter := replica(t, newMemory(), "r0", nil)
		captureLog(limiter, &out)
		var all []*Permit
		for range 12 {
			all = append(all, begin(t, limiter, request("s")))
		}
		sleep(t.Context(), 30*time.Second)
		for i, permit := range all {
			if i < 6 {
				permit.Done(Outcome{Class: Succeeded})
			}
		}
		sleep(t.Context(), 70*time.Second)
		for _, permit := range all[6:] {
			permit.Done(Outcome{Class: TimedOut, Reason: "no answer within 1m40s"})
		}
	})
	compare(t, out.String(), []string{`msg="model server is too slow for its requests, so fewer are sent at once" .*timeout=1m40s at_once=3 ` +
		`remedy="lower --parallel or raise --model-timeout"`, `provider does not answer`})
}
