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
	// heartbeat is the interval of heartbeats. lease is how long a replica counts as alive after its
	// last one.
	heartbeat = time.Second
	lease     = 3 * heartbeat

	eventAlive = "alive"
	eventLeft  = "left"
)

func replicaSubject(service, event string) string { return "replica." + service + "." + event }

// Replicas are the live processes of a service. Each name has one owner among them, which all
// replicas compute alike by rendezvous hashing. When a replica joins or leaves, only its own names
// change owners. A replica that misses its own heartbeats, because it lost NATS or was suspended,
// knows no owners. Safe for concurrent use.
type Replicas struct {
	name    string
	conn    *nats.Conn
	service string

	mu        sync.Mutex
	lastHeard map[string]time.Time
	changed   chan struct{}

	stop func() error
}

// Join makes this process a replica of a service under a unique name, until Leave.
func (b Relay) Join(service, name string) (*Replicas, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Replicas{
		name: name, conn: b.js.Conn(), service: service,
		lastHeard: make(map[string]time.Time), changed: make(chan struct{}),
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
		err := errors.Join(subscription.Unsubscribe(), r.publish(eventLeft))
		if errors.Is(err, nats.ErrConnectionClosed) {
			return nil
		}
		return err
	})
	return r, nil
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
// is closed when replicas join or leave.
func (r *Replicas) Owner(name string) (owner string, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isAlive(r.name, time.Now()) {
		return "", r.changed
	}
	return highest(r.lastHeard, name), r.changed
}

// Alive reports whether a replica's heartbeats arrive.
func (r *Replicas) Alive(replica string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isAlive(replica, time.Now())
}

func (r *Replicas) isAlive(replica string, now time.Time) bool {
	last, known := r.lastHeard[replica]
	return known && now.Sub(last) <= lease
}

// highest returns the replica with the highest hash for a name.
func highest(replicas map[string]time.Time, name string) string {
	var owner string
	var maxHash [sha256.Size]byte
	for replica := range replicas {
		sum := sha256.Sum256([]byte(replica + "\x00" + name))
		if owner == "" || string(sum[:]) > string(maxHash[:]) {
			owner, maxHash = replica, sum
		}
	}
	return owner
}

// sendHeartbeats sends heartbeats and removes silent replicas.
func (r *Replicas) sendHeartbeats(ctx context.Context) {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		_ = r.publish(eventAlive) // a lost heartbeat is followed by the next
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.forget(time.Now())
		}
	}
}

func (r *Replicas) publish(event string) error {
	return r.conn.Publish(replicaSubject(r.service, event), []byte(r.name))
}

// handleHeartbeat handles a message of a replica. It answers a new replica with a heartbeat at
// once.
func (r *Replicas) handleHeartbeat(message *nats.Msg) {
	replica := string(message.Data)
	r.mu.Lock()
	_, known := r.lastHeard[replica]
	if strings.HasSuffix(message.Subject, "."+eventLeft) {
		delete(r.lastHeard, replica)
	} else {
		r.lastHeard[replica] = time.Now()
	}
	_, exists := r.lastHeard[replica]
	if known != exists {
		r.notifyChange()
	}
	r.mu.Unlock()
	if !known && exists && replica != r.name {
		_ = r.publish(eventAlive)
	}
}

func (r *Replicas) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	previous := len(r.lastHeard)
	maps.DeleteFunc(r.lastHeard, func(replica string, _ time.Time) bool { return !r.isAlive(replica, now) })
	if len(r.lastHeard) != previous {
		r.notifyChange()
	}
}

// notifyChange closes and replaces the change channel.
func (r *Replicas) notifyChange() {
	close(r.changed)
	r.changed = make(chan struct{})
}
