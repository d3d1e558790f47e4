package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/natsserver"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
)

// join adds a replica. It leaves at the end of the test or when leave is called.
func join(t *testing.T, b *bus.Bus, name string) (r *bus.Replicas, leave func()) {
	t.Helper()
	r, err := b.Join("service", name)
	if err != nil {
		t.Fatal(err)
	}
	left := false
	leave = func() {
		if left {
			return
		}
		left = true
		if err := r.Leave(); err != nil {
			t.Errorf("%s leaves: %v", name, err)
		}
	}
	t.Cleanup(leave)
	return r, leave
}

// names is the number of names to look up.
const names = 300

// agreed waits until all replicas compute the same owners, and every replica owns a name. It
// returns the owners.
func agreed(t *testing.T, replicas ...*bus.Replicas) map[string]string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	for {
		owners, seen, equal := make(map[string]string), make(map[string]bool), true
		_, changed := replicas[0].Owner("")
		for n := range names {
			name := fmt.Sprint("key", n)
			for _, r := range replicas {
				owner, _ := r.Owner(name)
				equal = equal && owner != "" && (owners[name] == "" || owners[name] == owner)
				owners[name] = owner
				seen[owner] = true
			}
		}
		if equal && len(seen) == len(replicas) {
			return owners
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("owners after 30 s: got %v, want all to see the same", owners)
		}
	}
}

// hears waits until a replica counts another one as alive. It does not for a moment on a machine
// that stopped for a lease.
func hears(t *testing.T, r *bus.Replicas, other string) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !r.Alive(other); {
		_, changed := r.Owner("")
		select {
		case <-changed:
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is not alive according to %s", other, r.Name())
		}
	}
}

// TestOwners checks that all replicas compute the same owners, and that only names of a joining or
// leaving replica change owners.
func TestOwners(t *testing.T) {
	b := natstest.Start(t)
	one, _ := join(t, b, "one")
	agreed(t, one)
	two, _ := join(t, b, "two")
	before := agreed(t, one, two)
	three, leave := join(t, b, "three")
	with := agreed(t, one, two, three)
	count := 0
	for name, owner := range with {
		if owner == "three" {
			count++
		} else if owner != before[name] {
			t.Errorf("%s: %s had it and %s has it, though three came", name, before[name], owner)
		}
	}
	if count < names/5 || count > names/2 {
		t.Errorf("names of the third replica: got %d of %d, want about a third", count, names)
	}
	leave()
	for name, owner := range agreed(t, one, two) {
		if owner != before[name] {
			t.Errorf("%s: got %s, want %s as before the third came and went", name, owner, before[name])
		}
	}
	if one.Alive("three") {
		t.Error("three is alive after it left")
	}
	hears(t, one, "two")
	if other, err := b.Join("other", "four"); err != nil {
		t.Error(err)
	} else if err := other.Leave(); err != nil {
		t.Error(err)
	}
	agreed(t, one, two) // another service's replicas own nothing here
}

// TestDrainingReplica drains a replica. It stays alive and owns no names, until all drain.
func TestDrainingReplica(t *testing.T) {
	b := natstest.Start(t)
	one, _ := join(t, b, "one")
	two, _ := join(t, b, "two")
	agreed(t, one, two)
	if err := two.Drain(); err != nil {
		t.Fatal(err)
	}
	agreed(t, one)
	hears(t, one, "two") // while it drains
	if err := one.Drain(); err != nil {
		t.Fatal(err)
	}
	patience := time.After(10 * time.Second)
	for _, r := range []*bus.Replicas{one, two} {
		for owner, changed := r.Owner("key"); owner != r.Name(); owner, changed = r.Owner("key") {
			select {
			case <-changed:
			case <-patience:
				t.Fatalf("owner according to %s when all drain: got %s, want itself", r.Name(), owner)
			}
		}
	}
}

// TestLongReplicasAfterOutage stops NATS for longer than a lease. The replica that reconnects first
// owns no name of the other one, which reconnects later.
func TestLongReplicasAfterOutage(t *testing.T) {
	t.Parallel()
	cfg := natsserver.Config{Dir: t.TempDir(), Listen: porttest.Address(t)}
	stop := natstest.Serve(t, cfg)
	open := func(delay func(int) time.Duration) *bus.Bus {
		conn := natstest.Dial(t, "nats://"+cfg.Listen, nats.MaxReconnects(-1), nats.CustomReconnectDelay(delay))
		return natstest.Open(t, conn, natstest.OneShard)
	}
	later := make(chan struct{})
	one, _ := join(t, open(func(int) time.Duration { return 20 * time.Millisecond }), "one")
	two, _ := join(t, open(func(int) time.Duration { <-later; return 20 * time.Millisecond }), "two")
	owners := agreed(t, one, two)
	stop()
	for one.Alive("one") || two.Alive("two") {
		<-time.After(50 * time.Millisecond)
	}
	natstest.Serve(t, cfg)
	for !one.Alive("one") {
		<-time.After(20 * time.Millisecond)
	}
	if owner, _ := one.Owner("key"); owner != "" {
		t.Errorf("owner when the first replica is back: got %s, want none yet", owner)
	}
	close(later)
	for known := 0; known < len(owners); {
		known = 0
		_, changed := one.Owner("")
		for name, want := range owners {
			switch owner, _ := one.Owner(name); owner {
			case want:
				known++
			case "":
			default:
				t.Fatalf("owner of %s after the outage: got %s, want %s or none yet", name, owner, want)
			}
		}
		if known < len(owners) {
			<-changed
		}
	}
}

// TestSpending records turns of several replicas, one of them twice, and reads and follows their
// cost.
func TestSpending(t *testing.T) {
	b := natstest.Start(t)
	record := func(rollout string, revision uint64, spent, added bus.Cost, by string) uint64 {
		t.Helper()
		err := b.RecordTurn(t.Context(), bus.TurnRecord{RolloutID: rollout, Index: 1, Raw: []byte(by), Revision: revision, Cost: spent, Added: added, Recorder: by})
		if err != nil {
			t.Fatal(err)
		}
		_, at, err := b.Turn(t.Context(), rollout, 1)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	at := record("s.1", 0, bus.Cost{Tokens: 10, Micros: 5}, bus.Cost{Tokens: 10, Micros: 5}, "a")
	record("s.2", 0, bus.Cost{Tokens: 3}, bus.Cost{Tokens: 3}, "a")
	record("other.1", 0, bus.Cost{Tokens: 1000}, bus.Cost{Tokens: 1000}, "a")
	sum, revision, err := b.Spending(t.Context(), "s")
	if want := (bus.Cost{Tokens: 13, Micros: 5}); err != nil || sum != want {
		t.Errorf("Spending: got %v, %v, want %v", sum, err, want)
	}
	record("s.1", at, bus.Cost{Tokens: 12, Micros: 6}, bus.Cost{Tokens: 2, Micros: 1}, "b")
	record("s.3", 0, bus.Cost{}, bus.Cost{}, "b")
	record("s.4", 0, bus.Cost{Tokens: 7}, bus.Cost{Tokens: 7}, "c")
	type visited struct {
		by    string
		added bus.Cost
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	var got []visited
	err = b.FollowSpending(ctx, "s", revision, func(by string, added bus.Cost) {
		if got = append(got, visited{by, added}); len(got) == 2 {
			stop()
		}
	})
	if err != nil || len(got) != 2 || got[0] != (visited{"b", bus.Cost{Tokens: 2, Micros: 1}}) || got[1] != (visited{"c", bus.Cost{Tokens: 7}}) {
		t.Errorf("FollowSpending: got %v, %v, want what b and c added", got, err)
	}
	if sum, _, err := b.Spending(t.Context(), "s"); err != nil || sum != (bus.Cost{Tokens: 22, Micros: 6}) {
		t.Errorf("Spending after it: got %v, %v, want 22 tokens and 6 micros", sum, err)
	}
}

// TestOrderOfHeartbeats lets replicas drain and leave while another one greets them. None says that
// it is alive after it said that it drains, or anything after it left.
func TestOrderOfHeartbeats(t *testing.T) {
	conn := natstest.Connect(t, t.TempDir())
	b := natstest.Open(t, conn, natstest.OneShard)
	one, _ := join(t, b, "one")
	agreed(t, one)
	heard, err := conn.SubscribeSync("replica.service.*")
	if err != nil {
		t.Fatal(err)
	}
	const replicas = 200
	for n := range replicas {
		r, err := b.Join("service", fmt.Sprint("short", n))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.Drain(), r.Leave()); err != nil {
			t.Fatal(err)
		}
	}
	states := []string{"alive", "draining", "left"}
	last := make(map[string]int)
	for left := 0; left < replicas; {
		message, err := heard.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatalf("%d of %d replicas have left: %v", left, replicas, err)
		}
		name, state := string(message.Data), slices.Index(states, strings.TrimPrefix(message.Subject, "replica.service."))
		if state < last[name] {
			t.Errorf("%s: got %s after %s", name, states[state], states[last[name]])
		}
		if last[name] = state; states[state] == "left" {
			left++
		}
	}
}
