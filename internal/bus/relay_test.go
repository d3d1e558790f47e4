package bus_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
)

func TestRelay(t *testing.T) {
	b := natstest.Start(t)
	if _, err := b.Request(t.Context(), "mine", nil); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("Request without an answerer: got %v, want ErrNotFound", err)
	}
	stop, err := b.Serve("mine", 1024, func(_ context.Context, request []byte) []byte { return append([]byte("got "), request...) })
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, text := range []string{"a", "b", "c"} {
		group.Go(func() {
			if got, err := b.Request(t.Context(), "mine", []byte(text)); err != nil || string(got) != "got "+text {
				t.Errorf("Request(%s): got %q, %v, want %q", text, got, err, "got "+text)
			}
		})
	}
	group.Wait()
	if _, err := b.Request(t.Context(), "other", nil); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("Request another name: got %v, want ErrNotFound", err)
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Request(t.Context(), "mine", nil); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("Request after the end: got %v, want ErrNotFound", err)
	}
}

// TestRelayContext checks that a handler's context ends at the requester's deadline and when stop
// no longer waits.
func TestRelayContext(t *testing.T) {
	b := natstest.Start(t)
	entered := make(chan string, 100)
	stop, err := b.Serve("slow", 1024, func(ctx context.Context, request []byte) []byte {
		entered <- string(request)
		<-ctx.Done()
		return []byte("ended")
	})
	if err != nil {
		t.Fatal(err)
	}
	for wait := 20 * time.Millisecond; len(entered) == 0; wait *= 2 { // a request may not get there in time
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		if got, err := b.Request(ctx, "slow", []byte("hurried")); err == nil && string(got) != "ended" || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Request with a deadline: got %q, %v, want it to end then", got, err)
		}
		cancel()
	}
	answered := make(chan string, 1)
	go func() {
		got, err := b.Request(context.WithoutCancel(t.Context()), "slow", []byte("patient"))
		if err != nil {
			got = []byte(err.Error())
		}
		answered <- string(got)
	}()
	for who := ""; who != "patient"; { // hurried ones may be late
		who = <-entered
	}
	impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := stop(impatient); err != nil {
		t.Fatal(err)
	}
	if got := <-answered; got != "ended" {
		t.Errorf("Request when the answerer stops: got %q, want %q", got, "ended")
	}
}

// TestRelayDrains stops an answerer with a request in flight. The request is answered.
func TestRelayDrains(t *testing.T) {
	b := natstest.Start(t)
	entered, leave := make(chan struct{}, 1<<10), make(chan struct{})
	stop, err := b.Serve("mine", 1024, func(ctx context.Context, _ []byte) []byte {
		entered <- struct{}{}
		<-leave
		if ctx.Err() != nil {
			return []byte("cancelled")
		}
		return []byte("answer")
	})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		got, err := b.Request(context.WithoutCancel(t.Context()), "mine", nil)
		if err != nil {
			got = []byte(err.Error())
		}
		answered <- string(got)
	}()
	<-entered
	stopped := make(chan error, 1)
	go func() { stopped <- stop(t.Context()) }()
	for { // until the answerer accepts no more
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := b.Request(ctx, "mine", nil)
		cancel()
		if errors.Is(err, bus.ErrNotFound) {
			break
		}
	}
	close(leave)
	if got := <-answered; got != "answer" {
		t.Errorf("Request in flight: got %q, want %q", got, "answer")
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
