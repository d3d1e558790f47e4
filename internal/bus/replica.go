package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// heartbeat is the interval of heartbeats. lease is how long a replica counts as alive after its
	// last one.
	heartbeat = time.Second
	lease     = 3 * heartbeat
	// ownLease is how long a replica knows owners after its own last heartbeat. It is shorter than
	// lease by more than a heartbeat: when NATS stops, no replica takes another one for dead.
	ownLease = lease / 2

	eventAlive    = "alive"
	eventDraining = "draining"
	eventLeft     = "left"

	// headerReconnects is how often the connection of a heartbeat's replica was restored.
	headerReconnects = "Reconnects"
)

func replicaSubject(service, event string) string { return "replica." + service + "." + event }

// Replicas are the live processes of a service. Each name has one owner among them, which all
// replicas compute alike by rendezvous hashing. When a replica joins, drains or leaves, only its
// own names change owners. A draining replica is alive, but owns no names. A replica that misses
// its own heartbeats, because it lost NATS or was suspended, knows no owners; when it hears itself
// again, it waits for the heartbeats of the others. Safe for concurrent use.
type Replicas struct {
	name    string
	conn    *nats.Conn
	service string

	mu       sync.Mutex
	members  map[string]member
	changed  chan struct{}
	joined   bool      // this replica has heard itself
	settling time.Time // when it knows the others again, zero if it does

	sending sync.Mutex // messages arrive in the order of the states that they tell
	event   string     // this replica's state

	stop func() error
}

// member is a replica of which heartbeats arrive.
type member struct {
	heard      time.Time // of the last heartbeat
	draining   bool
	reconnects uint64
}

// Join makes this process a replica of a service under a unique name, until Leave.
func (b Members) Join(service, name string) (*Replicas, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Replicas{
		name: name, conn: b.js.Conn(), service: service, members: make(map[string]member), changed: make(chan struct{}),
		event: eventAlive,
	}
	subscription, err := r.conn.Subscribe(replicaSubject(service, "*"), r.handleHeartbeat)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("join replicas of %s: %w", service, err)
	}
	var heartbeats sync.WaitGroup
	heartbeats.Go(func() { r.sendHeartbeats(ctx) })
	r.stop = sync.OnceValue(func() error {
		cancel()
		heartbeats.Wait()
		err := errors.Join(subscription.Unsubscribe(), r.enter(eventLeft))
		if errors.Is(err, nats.ErrConnectionClosed) {
			return nil
		}
		return err
	})
	return r, nil
}

// Drain announces that this replica finishes its work and owns no more names.
func (r *Replicas) Drain() error {
	if err := r.enter(eventDraining); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("drain as replica of %s: %w", r.service, err)
	}
	return nil
}

// Leave announces that this replica leaves, so that other replicas own its names. Further calls do
// nothing.
func (r *Replicas) Leave() error {
	if err := r.stop(); err != nil {
		return fmt.Errorf("leave replicas of %s: %w", r.service, err)
	}
	return nil
}

// Name returns the name of this replica.
func (r *Replicas) Name() string { return r.name }

// Owner returns the replica that owns a name, empty if this one does not know, and a channel that
// is closed when replicas join, drain, reconnect or leave. If all drain, each owns every name.
func (r *Replicas) Owner(name string) (owner string, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isSettled() {
		return "", r.changed
	}
	var candidates []string
	for replica, member := range r.members {
		if !member.draining {
			candidates = append(candidates, replica)
		}
	}
	return cmp.Or(Owner(candidates, name), r.name), r.changed
}

// Settled reports whether this replica hears itself, and has had the time to hear the others.
func (r *Replicas) Settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isSettled()
}

func (r *Replicas) isSettled() bool {
	return time.Since(r.members[r.name].heard) <= ownLease && r.settling.IsZero()
}

// Alive reports whether a replica's heartbeats arrive.
func (r *Replicas) Alive(replica string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isAlive(replica, time.Now())
}

// Contact reports whether a replica's heartbeats arrive, and how often the connection of that
// replica or of this one was restored. Messages between them may be lost when that number changes.
// The channel of Owner tells about changes.
func (r *Replicas) Contact(replica string) (restored uint64, alive bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[replica].reconnects + r.members[r.name].reconnects, r.isAlive(replica, time.Now())
}

func (r *Replicas) isAlive(replica string, now time.Time) bool {
	member, known := r.members[replica]
	return known && now.Sub(member.heard) <= lease
}

// sendHeartbeats sends heartbeats and removes silent replicas.
func (r *Replicas) sendHeartbeats(ctx context.Context) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		_ = r.sendHeartbeat() // a lost one is followed by the next
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.forget(time.Now())
		}
	}
}

// enter announces a new state of this replica.
func (r *Replicas) enter(event string) error {
	r.sending.Lock()
	r.event = event
	r.sending.Unlock()
	return r.sendHeartbeat()
}

// sendHeartbeat announces the state of this replica.
func (r *Replicas) sendHeartbeat() error {
	r.sending.Lock()
	defer r.sending.Unlock()
	message := nats.NewMsg(replicaSubject(r.service, r.event))
	message.Data = []byte(r.name)
	message.Header.Set(headerReconnects, strconv.FormatUint(r.conn.Stats().Reconnects, 10))
	return r.conn.PublishMsg(message)
}

// handleHeartbeat handles a message of a replica. It answers a new replica with a heartbeat at
// once.
func (r *Replicas) handleHeartbeat(message *nats.Msg) {
	replica, now := string(message.Data), time.Now()
	r.mu.Lock()
	previous, known := r.members[replica], r.isAlive(replica, now)
	next := member{heard: now, draining: strings.HasSuffix(message.Subject, "."+eventDraining)}
	next.reconnects, _ = strconv.ParseUint(message.Header.Get(headerReconnects), 10, 64)
	isGone := strings.HasSuffix(message.Subject, "."+eventLeft)
	if isGone {
		delete(r.members, replica)
	} else {
		r.members[replica] = next
	}
	if replica == r.name {
		r.hearItself(now.Sub(previous.heard), now)
	}
	if known == isGone || previous.draining != next.draining || previous.reconnects != next.reconnects || now.Sub(previous.heard) > ownLease {
		r.notifyChange()
	}
	r.mu.Unlock()
	if !known && !isGone && replica != r.name {
		_ = r.sendHeartbeat()
	}
}

// hearItself handles a heartbeat of this replica after a silence. A replica that missed its own
// heartbeats cannot tell whether the others sent theirs. After a silence of a lease it waits for
// them, for a lease in which it hears itself. After a shorter one their leases begin anew. The
// caller holds mu.
func (r *Replicas) hearItself(silence time.Duration, now time.Time) {
	switch {
	case silence <= ownLease:
	case !r.joined:
		r.joined = true
	case silence > lease:
		r.settling = now.Add(lease)
	case !r.settling.IsZero():
		r.settling = r.settling.Add(silence)
	default:
		for name, other := range r.members {
			other.heard = now
			r.members[name] = other
		}
	}
}

// forget removes silent replicas, if this one hears itself.
func (r *Replicas) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.members[r.name].heard) > ownLease {
		return
	}
	previous := len(r.members)
	maps.DeleteFunc(r.members, func(replica string, _ member) bool { return !r.isAlive(replica, now) })
	settled := !r.settling.IsZero() && now.After(r.settling)
	if settled {
		r.settling = time.Time{}
	}
	if settled || len(r.members) != previous {
		r.notifyChange()
	}
}

// notifyChange closes and replaces the change channel.
func (r *Replicas) notifyChange() {
	close(r.changed)
	r.changed = make(chan struct{})
}
