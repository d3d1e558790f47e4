package bus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// TestOwnerOfNames checks that a candidate that comes or goes moves only its own names, whatever
// the order of the candidates, and that each gets its share.
func TestOwnerOfNames(t *testing.T) {
	candidates := []string{"host-0:7402", "host-1:7402", "host-2:7402", "host-3:7402", "host-4:7402"}
	if owner := bus.Owner(nil, "s.0"); owner != "" {
		t.Errorf("owner among none: got %q, want none", owner)
	}
	for count := 1; count < len(candidates); count++ {
		fewer, more := candidates[:count], candidates[:count+1]
		moved := 0
		for n := range names {
			name := fmt.Sprint("s.", n)
			before, after := bus.Owner(fewer, name), bus.Owner(more, name)
			reversed := slices.Clone(more)
			slices.Reverse(reversed)
			if other := bus.Owner(reversed, name); other != after {
				t.Errorf("owner of %s: got %s and, in another order, %s", name, after, other)
			}
			if after == candidates[count] {
				moved++
			} else if after != before {
				t.Errorf("owner of %s: got %s, want %s as without %s", name, after, before, candidates[count])
			}
		}
		if share := names / (count + 1); moved < share/2 || moved > share*2 {
			t.Errorf("names of candidate %d: got %d of %d, want about %d", count+1, moved, names, share)
		}
	}
}

// followed follows the membership of a service and returns a function that waits for the addresses.
func followed(t *testing.T, b *bus.Bus) (await func(want ...string) (epoch int64)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	seen, ended := make(chan *busv1.Membership, 100), make(chan error, 1)
	go func() { ended <- b.WatchMembership(ctx, "service", func(m *busv1.Membership) { seen <- m }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("WatchMembership: %v", err)
		}
	})
	last := &busv1.Membership{}
	return func(want ...string) int64 {
		t.Helper()
		limit := time.After(30 * time.Second)
		for !slices.Equal(last.GetAddresses(), want) {
			select {
			case next := <-seen:
				if next.GetEpoch() <= last.GetEpoch() {
					t.Errorf("epoch after %d: got %d, want a higher one", last.GetEpoch(), next.GetEpoch())
				}
				last = next
			case <-limit:
				t.Fatalf("members after 30 s: got %v, want %v", last.GetAddresses(), want)
			}
		}
		return last.GetEpoch()
	}
}

func joinMembership(t *testing.T, b *bus.Bus, address string) (leave func()) {
	t.Helper()
	member, err := b.JoinMembership(t.Context(), "service", address)
	if err != nil {
		t.Fatal(err)
	}
	left := false
	leave = func() {
		if !left {
			left = true
			if err := member.Leave(context.WithoutCancel(t.Context())); err != nil {
				t.Errorf("%s leaves: %v", address, err)
			}
		}
	}
	t.Cleanup(leave)
	return leave
}

// TestMembership lets members join, leave, die and come back at the same address.
func TestMembership(t *testing.T) {
	t.Parallel()
	cfg := natsserver.Config{Dir: t.TempDir(), Listen: porttest.Address(t)}
	natstest.Serve(t, cfg)
	open := func() (*bus.Bus, *nats.Conn) {
		conn := natstest.Dial(t, "nats://"+cfg.Listen)
		return natstest.Open(t, conn, natstest.OneShard), conn
	}
	b, _ := open()
	await := followed(t, b)
	joinMembership(t, b, "a")
	leave := joinMembership(t, b, "b")
	epoch := await("a", "b")
	leave()
	await("a")
	doomed, conn := open()
	began := time.Now() // before its last sign of life
	dying, err := doomed.JoinMembership(t.Context(), "service", "c")
	if err != nil {
		t.Fatal(err)
	}
	await("a", "c")
	conn.Close() // as if the process were killed
	await("a")
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the dead member left after %s, want a lease", took)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_ = dying.Leave(gone) // ends its goroutine
	leave = joinMembership(t, b, "c")
	if later := await("a", "c"); later < epoch+4 {
		t.Errorf("epoch: got %d after %d and four changes", later, epoch)
	}
	leave()
	await("a")
}

// TestLongMembershipOfTheDead starts a member while the membership names one of which nobody alive
// has ever heard.
func TestLongMembershipOfTheDead(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t)
	await := followed(t, b)
	dead, err := b.JoinMembership(t.Context(), "service", "dead")
	if err != nil {
		t.Fatal(err)
	}
	await("dead")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := dead.Leave(gone); err == nil {
		t.Error("Leave without time: got nil, want an error")
	}
	leave := joinMembership(t, b, "alive")
	await("alive")
	leave()
	await()
}
