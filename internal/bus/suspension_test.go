package bus

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
)

// suspended is a replica whose machine stops. Its time is that of the test.
type suspended struct{ *Replicas }

// hear handles a heartbeat of its own.
func (s suspended) hear() {
	message := nats.NewMsg(replicaSubject("service", eventAlive))
	message.Data = []byte("one")
	s.handleHeartbeat(message)
}

// pass lets time pass.
func (suspended) pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // synctest's clock jumps

// owners returns the owners of many names.
func (s suspended) owners() map[string]bool {
	owners := make(map[string]bool)
	for n := range 100 {
		owner, _ := s.Owner(fmt.Sprint(n))
		owners[owner] = true
	}
	return owners
}

func newSuspended(others ...string) suspended {
	r := &Replicas{name: "one", members: make(map[string]member), changed: make(chan struct{}), event: eventAlive}
	for _, name := range others {
		r.members[name] = member{heard: time.Now()}
	}
	s := suspended{r}
	s.hear()
	return s
}

// TestSuspendedMachine stops a machine with two replicas for less than a lease after the last
// heartbeat of the one, and for more after that of the other. Neither is dead: the one that hears
// itself first owns nothing of the other, until that is silent for a lease.
func TestSuspendedMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuspended("two")
		s.pass(900 * time.Millisecond)
		s.hear()
		s.pass(2500 * time.Millisecond)
		s.forget(time.Now())
		if got := s.owners(); !got[""] {
			t.Errorf("owners before it hears itself: got %v, want none", got)
		}
		s.hear()
		if got := s.owners(); !got["one"] || !got["two"] || !s.Alive("two") {
			t.Errorf("owners: got %v, and two alive %t, want both and alive", got, s.Alive("two"))
		}
		for range 4 {
			s.pass(heartbeat)
			s.hear()
			s.forget(time.Now())
		}
		if got := s.owners(); got["two"] || s.Alive("two") {
			t.Errorf("owners after a lease: got %v, and two alive %t, want it dead", got, s.Alive("two"))
		}
	})
}

// TestSuspendedWhileItSettles stops a machine while a replica waits for the heartbeats of the
// others, after an outage: it waits for a lease in which it hears itself.
func TestSuspendedWhileItSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSuspended()
		s.pass(lease + heartbeat)
		s.hear()
		s.pass(lease - heartbeat/2)
		s.hear()
		for waited := time.Duration(0); waited < lease; waited += heartbeat {
			s.forget(time.Now())
			if s.Settled() {
				t.Errorf("it knows the others %s after the machine stopped, want %s", waited, lease)
			}
			s.pass(heartbeat)
			s.hear()
		}
		s.pass(heartbeat)
		s.hear()
		s.forget(time.Now())
		if !s.Settled() {
			t.Error("it does not know the others after a lease")
		}
	})
}
