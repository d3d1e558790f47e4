package bus

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// heartbeat is how often a replica says that it is there, and lease for how long it counts as
	// there since it was last heard.
	heartbeat = time.Second
	lease     = 3 * heartbeat

	replicaHere = "here"
	replicaGone = "gone"
)

func replicaSubject(service, what string) string { return "replica." + service + "." + what }

// Replicas are the processes of a service that hear each other. What one process at a time has to
// do belongs to the owner of its name, which all compute alike: when a replica comes or goes, only
// the names that it takes or had change hands. A replica that does not hear itself any more, since
// it is cut off from NATS or was stopped, sees no owner of anything.
// Safe for concurrent use.
type Replicas struct {
	name    string
	conn    *nats.Conn
	service string

	mu      sync.Mutex
	heard   map[string]time.Time
	changed chan struct{}

	stop func() error
}

// Join makes this process a replica of a service, under a name that no other has, until Leave.
func (b Relay) Join(service, name string) (*Replicas, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Replicas{
		name: name, conn: b.js.Conn(), service: service,
		heard: make(map[string]time.Time), changed: make(chan struct{}),
	}
	subscription, err := r.conn.Subscribe(replicaSubject(service, "*"), r.hear)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("join replicas of %s: %w", service, err)
	}
	var beating sync.WaitGroup
	beating.Go(func() { r.beat(ctx) })
	r.stop = sync.OnceValue(func() error {
		cancel()
		beating.Wait()
		err := errors.Join(subscription.Unsubscribe(), r.say(replicaGone))
		if errors.Is(err, nats.ErrConnectionClosed) {
			return nil
		}
		return err
	})
	return r, nil
}

// Leave tells the others that this replica goes. They take over what it owned. Calls after the
// first do nothing.
func (r *Replicas) Leave() error {
	if err := r.stop(); err != nil {
		return fmt.Errorf("leave replicas of %s: %w", r.service, err)
	}
	return nil
}

// Name returns what this replica is called.
func (r *Replicas) Name() string { return r.name }

// Owner returns the replica that owns a name, empty if this one does not know, and a channel that
// is closed when replicas have come or gone.
func (r *Replicas) Owner(name string) (owner string, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hears(r.name, time.Now()) {
		return "", r.changed
	}
	return highest(r.heard, name), r.changed
}

// Alive reports whether a replica is heard.
func (r *Replicas) Alive(replica string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hears(replica, time.Now())
}

func (r *Replicas) hears(replica string, now time.Time) bool {
	last, known := r.heard[replica]
	return known && now.Sub(last) <= lease
}

// highest returns the replica whose hash together with a name is the highest.
func highest(replicas map[string]time.Time, name string) string {
	var owner string
	var most [sha256.Size]byte
	for replica := range replicas {
		sum := sha256.Sum256([]byte(replica + "\x00" + name))
		if owner == "" || string(sum[:]) > string(most[:]) {
			owner, most = replica, sum
		}
	}
	return owner
}

// beat says again and again that this replica is there, and forgets those that are silent.
func (r *Replicas) beat(ctx context.Context) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		_ = r.say(replicaHere) // one that was not heard is repeated
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.forget(time.Now())
		}
	}
}

func (r *Replicas) say(what string) error {
	return r.conn.Publish(replicaSubject(r.service, what), []byte(r.name))
}

// hear takes in what a replica says. One that was not known is told at once that this one is here.
func (r *Replicas) hear(message *nats.Msg) {
	replica := string(message.Data)
	r.mu.Lock()
	_, known := r.heard[replica]
	if strings.HasSuffix(message.Subject, "."+replicaGone) {
		delete(r.heard, replica)
	} else {
		r.heard[replica] = time.Now()
	}
	_, knows := r.heard[replica]
	if known != knows {
		r.tell()
	}
	r.mu.Unlock()
	if !known && knows && replica != r.name {
		_ = r.say(replicaHere)
	}
}

func (r *Replicas) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.heard)
	maps.DeleteFunc(r.heard, func(replica string, _ time.Time) bool { return !r.hears(replica, now) })
	if len(r.heard) != before {
		r.tell()
	}
}

// tell wakes those who wait for a change.
func (r *Replicas) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}
