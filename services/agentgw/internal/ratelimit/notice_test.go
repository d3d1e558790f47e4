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

// heard lets a replica with a provider that answers in some way be asked by two runs for a time,
// and returns what the log was told.
func heard(t *testing.T, length time.Duration, outcome func(at time.Duration) Outcome) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", nil)
		listening(g, &out)
		ended := make(chan error, 2)
		for _, sweep := range []string{"s", "other"} {
			go func() {
				_, err := patient(t, g, demand(sweep), length, outcome)
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

// listening lets a test read what a limiter's log is told, without times and the provider.
func listening(g *Limiter, out io.Writer) {
	g.logger = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "provider" {
			return slog.Attr{}
		}
		return a
	}}))
}

// TestNotice lets a provider refuse requests: the log is told soon, once a minute, and when it is
// over, whoever waits.
func TestNotice(t *testing.T) {
	refused := Outcome{Class: Throttled, RetryAfter: 8 * time.Second, Reason: "HTTP 429: slow down"}
	until := func(end time.Duration, o Outcome) func(time.Duration) Outcome {
		return func(at time.Duration) Outcome {
			if at < end {
				return o
			}
			return Outcome{}
		}
	}
	const waiting = `level=WARN msg="waiting for provider" reason="HTTP 429: slow down; asked again in \ds, given up in `
	const alone = `level=WARN msg="provider is left alone" reason="provider is away after 2`
	const again = `level=WARN msg="provider answers again" after=`
	for name, test := range map[string]struct {
		outcome func(time.Duration) Outcome
		length  time.Duration
		want    []string // patterns
	}{
		"200 seconds": {until(200*time.Second, refused), 5 * time.Minute, []string{
			waiting + `29m5\ds"`, waiting + `28m5\ds"`, waiting + `27m5\ds"`, waiting + `26m5\ds"`, again + "3m2[0-9]s",
		}},
		"long pauses": {until(4*time.Minute, Outcome{Class: Overloaded, RetryAfter: 5 * time.Minute}), 6 * time.Minute, []string{
			`reason="it refuses requests \(429, 503, 529\); asked again in 4m30s, given up in 29m30s"`, "again in 3m30", "again in 2m30", "again in 1m30", "again in 30", again + "5m",
		}},
		"a moment": {until(2*time.Second, Outcome{Class: Throttled, RetryAfter: 200 * time.Millisecond}), time.Minute, []string{"^$"}},
		"errors":   {until(3*time.Second, Outcome{Class: Failed}), time.Minute, []string{"^$"}},
		"an outage": {func(at time.Duration) Outcome {
			if at > 2*time.Second && at < 20*time.Second {
				return Outcome{Class: Failed, Reason: "connection refused"}
			}
			return Outcome{}
		}, time.Minute, []string{
			alone + `0 failures in a row, tried again in 10s; the last reason was: connection refused"`, again + "20s",
		}},
		"refused for good": {always(refused), 2 * time.Hour, strings.Split(strings.Repeat(waiting+",", 30)+"^$", ",")[:30]},
		"failures after it": {func(at time.Duration) Outcome {
			switch {
			case at < 2*time.Second:
				return Outcome{}
			case at < 3*time.Second:
				return refused
			}
			return Outcome{Class: Failed, Reason: "HTTP 500: broken"}
		}, 70 * time.Second, []string{waiting, alone + "0", alone + "1", alone + "2", alone + "3"}},
		"now and then": {func(at time.Duration) Outcome {
			if int(at.Seconds())%20 < 10 {
				return Outcome{Class: Throttled, RetryAfter: 3 * time.Second, Reason: "HTTP 429: slow down"}
			}
			return Outcome{}
		}, 100 * time.Second, []string{waiting, again, waiting, again}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, heard(t, test.length, test.outcome), test.want)
		})
	}
}

// TestEndlessPauseIsTold lets a provider ask for minutes while it still answers what was on its
// way: those that wait are told of, and the end comes when they may begin.
func TestEndlessPauseIsTold(t *testing.T) {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		g := replica(t, newMemory(), "r0", nil)
		listening(g, &out)
		refused, running, slow := begin(t, g, demand("s")), begin(t, g, demand("s")), begin(t, g, demand("s"))
		refused.Done(Outcome{Class: Overloaded, RetryAfter: 100 * time.Second, Reason: "HTTP 503: later"})
		running.Done(Outcome{})
		time.AfterFunc(30*time.Second, func() { slow.Done(Outcome{}) })
		begin(t, g, demand("s")).Done(Outcome{})
	})
	compare(t, out.String(), []string{`"HTTP 503: later; asked again in 1m3\ds"`, "asked again in 3[0-9]s", `msg="provider answers again" after=1m40s`})
}
