package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowServer answers two requests at a time.
type slowServer struct {
	slots          chan struct{}
	drops          bool          // drops requests that nobody waits for, as llama.cpp does
	work, timeout  time.Duration // for one answer; after which the client gives up
	served, missed atomic.Int64
}

// ask waits for an answer.
func (s *slowServer) ask(permit *Permit) {
	waiting, stop := context.WithTimeout(context.Background(), s.timeout)
	defer stop()
	answered := make(chan struct{})
	go s.answer(waiting, answered)
	select {
	case <-answered:
		s.served.Add(1)
		permit.Done(Outcome{Class: Succeeded})
	case <-waiting.Done():
		s.missed.Add(1)
		permit.Done(Outcome{Class: TimedOut})
	}
}

func (s *slowServer) answer(client context.Context, answered chan<- struct{}) {
	if !s.drops {
		client = context.WithoutCancel(client)
	}
	select {
	case s.slots <- struct{}{}:
		sleep(client, s.work)
		<-s.slots
		close(answered)
	case <-client.Done():
	}
}

// TestSlowServer sends many requests at once for an hour. Requests time out only at first, and the
// server is busy afterwards.
func TestSlowServer(t *testing.T) {
	const long = 100 * time.Second
	for name, test := range map[string]struct {
		drops          bool
		work, timeout  time.Duration
		workers        int
		served, missed int64 // at least, at most
	}{
		"drops":            {true, 30 * time.Second, long, 12, 220, 12},
		"works off":        {false, 30 * time.Second, long, 12, 220, 12},
		"drops many":       {true, 30 * time.Second, long, 64, 220, 64},
		"barely in time":   {true, 60 * time.Second, long, 12, 50, 12},
		"fast":             {true, time.Second, long, 64, 7000, 0},
		"short time limit": {false, 300 * time.Millisecond, time.Second, 12, 20_000, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := replica(t, newMemory(), "r0", nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				server := &slowServer{slots: make(chan struct{}, 2), drops: test.drops, work: test.work, timeout: test.timeout}
				var group sync.WaitGroup
				for range test.workers {
					group.Go(func() {
						for {
							permit, err := limiter.Acquire(ctx, request("s"))
							if err != nil {
								return
							}
							server.ask(permit)
						}
					})
				}
				group.Wait()
				if served, missed := server.served.Load(), server.missed.Load(); served < test.served || missed > test.missed {
					t.Errorf("got %d served and %d timed out, want at least %d and at most %d", served, missed, test.served, test.missed)
				}
			})
		})
	}
}

// TestCrowded times requests out. One was crowded if the provider answered others meanwhile, and
// could not answer as many as were sent.
func TestCrowded(t *testing.T) {
	for name, test := range map[string]struct {
		beside, answered, timedOut int
		want                       bool
	}{
		"alone":                 {0, 0, 0, false},
		"none answered":         {3, 0, 0, false},
		"beside few":            {1, 4, 0, false},
		"beside many":           {2, 4, 0, true},
		"after other time-outs": {1, 4, 1, true},
		"one of many cut off":   {0, 1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := replica(t, newMemory(), "r0", nil)
				slow := begin(t, limiter, request("s"))
				var timedOut, beside []*Permit
				for range test.timedOut {
					timedOut = append(timedOut, begin(t, limiter, request("s")))
				}
				for range test.beside {
					beside = append(beside, begin(t, limiter, request("s")))
				}
				for range test.answered {
					begin(t, limiter, request("s")).Done(Outcome{Class: Succeeded})
				}
				sleep(t.Context(), time.Minute)
				for _, permit := range timedOut {
					permit.Done(Outcome{Class: TimedOut})
				}
				slow.Done(Outcome{Class: TimedOut})
				if got := slow.Crowded(); got != test.want {
					t.Errorf("crowded: got %t, want %t", got, test.want)
				}
				for _, permit := range beside {
					permit.Done(Outcome{Class: Succeeded})
				}
			})
		})
	}
}
