// Package bus stores and distributes everything that services tell each other through NATS
// JetStream: jobs, rollout logs, snapshots, results and the documents they refer to. It owns the
// names of streams and subjects, the fencing of logs and the create-if-absent rule of results; no
// other package names a subject.
//
// All methods are safe for concurrent use. Publishing methods return once the server has
// acknowledged the message.
package bus

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go/jetstream"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// ErrFenced says that somebody else wrote to the rollout's log since: the caller no longer owns it.
var ErrFenced = errors.New("another worker owns the rollout's log")

// ErrNotFound says that nothing is stored under the name.
var ErrNotFound = errors.New("not on the bus")

// ErrExists says that something else is stored under the name already.
var ErrExists = errors.New("already on the bus with other content")

// ErrAway says that NATS did not answer for a stream: it may later.
var ErrAway = errors.New("NATS does not answer")

// documentCacheSize bounds how many decoded setups and evaluations stay in memory, each.
const documentCacheSize = 4096

// Config says how streams are made. It must be equal in all processes of an installation.
type Config struct {
	// Shards is the number of BUS and of SNAPSHOT streams.
	Shards int
	// Retention is how long logs, snapshots, results and documents stay; 0 means for ever.
	Retention time.Duration
	// Replicas is the number of JetStream replicas of each stream.
	Replicas int
}

// DefaultConfig returns four shards per kind, one replica, retention for ever. A stream stores one
// message after the other, so that a server that syncs each of them needs several streams to be
// fast.
func DefaultConfig() Config {
	return Config{Shards: 4, Replicas: 1}
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.Shards < 1 || c.Shards > 1024:
		return fmt.Errorf("bus shards: %d given, expected 1 to 1024", c.Shards)
	case c.Replicas < 1 || c.Replicas > 5:
		return fmt.Errorf("bus replicas: %d given, expected 1 to 5", c.Replicas)
	case c.Retention < 0:
		return fmt.Errorf("bus retention: %s given, expected 0 (for ever) or more", c.Retention)
	}
	return nil
}

// Bus publishes to and reads from the streams. It does not own the connection it was opened with.
type Bus struct {
	js          jetstream.JetStream
	shards      int
	retention   time.Duration
	streams     map[string]jetstream.Stream
	setups      *lru.Cache[string, *setupv1.Setup]
	evaluations *lru.Cache[string, *evaluationv1.Evaluation]
}

// Open creates the streams that do not exist yet and returns a bus on them. The streams' settings
// are brought in line with cfg; a number of shards other than that of an existing installation is
// an error.
func Open(ctx context.Context, js jetstream.JetStream, cfg Config) (*Bus, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	setups, err := lru.New[string, *setupv1.Setup](documentCacheSize)
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	evaluations, err := lru.New[string, *evaluationv1.Evaluation](documentCacheSize)
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	b := &Bus{js: js, shards: cfg.Shards, retention: cfg.Retention, streams: make(map[string]jetstream.Stream), setups: setups, evaluations: evaluations}
	for _, stream := range streamConfigs(cfg) {
		handle, err := js.CreateOrUpdateStream(ctx, stream)
		if err != nil {
			return nil, fmt.Errorf("open bus: stream %s: %w", stream.Name, err)
		}
		b.streams[stream.Name] = handle
	}
	if _, err := js.Stream(ctx, logStream(cfg.Shards)); err == nil {
		return nil, fmt.Errorf("open bus: the installation has more than %d shards: give every process the same number", cfg.Shards)
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	return b, nil
}

// Shards returns the number of log and of snapshot streams.
func (b *Bus) Shards() int { return b.shards }

// shardOf returns the shard that a rollout's log and snapshots live on.
func (b *Bus) shardOf(rolloutID string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(rolloutID))
	return int(h.Sum32() % uint32(b.shards))
}
