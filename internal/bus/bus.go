// Package bus stores and distributes all data between services over NATS JetStream: jobs, rollout
// logs, snapshots, results and documents. It owns the names of streams and subjects, the fencing of
// logs and the create-if-absent rule of results. No other package names a subject.
package bus

import (
	"errors"
	"fmt"
	"hash/fnv"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// ErrFenced means that another worker has written to the rollout's log. The caller no longer owns
// it.
var ErrFenced = errors.New("another worker owns the rollout's log")

// ErrNotFound means that nothing is stored under the name.
var ErrNotFound = errors.New("not on the bus")

// ErrExists means that different data is already stored under the name.
var ErrExists = errors.New("already on the bus with other content")

// ErrDeleted means that a sweep was deleted.
var ErrDeleted = errors.New("deleted")

// ErrUnavailable means that NATS did not answer for a stream. It may later.
var ErrUnavailable = errors.New("NATS does not answer")

// ErrFull means that a stream has no room for a message. Nothing that it has is lost, and the
// publication succeeds when there is room. It is an ErrUnavailable.
var ErrFull error = fullError{}

type fullError struct{}

func (fullError) Error() string { return "full" }

// Is makes it an ErrUnavailable.
func (fullError) Is(target error) bool { return target == ErrUnavailable }

// documentCacheSize bounds the caches of decoded setups and of evaluations.
const documentCacheSize = 4096

// Config configures the streams that Init makes.
type Config struct {
	// Shards is the number of BUS and of SNAPSHOT streams.
	Shards int
	// Retention is how long the orchestrators keep a sweep after its end. 0 means without limit.
	Retention time.Duration
	// Bytes bounds all streams together, each with a fixed part, on each NATS server that has a
	// replica. 0 means without limit. The server reserves them.
	Bytes int64
	// Replicas is the number of JetStream replicas of each stream.
	Replicas int
	// CreateTimeout bounds the creation of one stream, while a cluster of servers has no leader.
	CreateTimeout time.Duration
}

// DefaultConfig returns four shards per kind, one replica, and unlimited retention. A stream stores
// messages sequentially, so a server that syncs each of them needs several streams.
func DefaultConfig() Config {
	return Config{Shards: 4, Replicas: 1, CreateTimeout: 2 * time.Minute}
}

// RegisterFlags adds the flags of a process that makes the streams.
func (c *Config) RegisterFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.Shards, "bus-shards", c.Shards, "number of message log streams; it stays what it was when they were made")
	fs.IntVar(&c.Replicas, "bus-replicas", c.Replicas, "JetStream replicas of each stream")
	fs.DurationVar(&c.Retention, "bus-retention", c.Retention, "time after the end of a sweep at which all of it is removed; 0 keeps it for ever")
	fs.Int64Var(&c.Bytes, "bus-bytes", c.Bytes, "most bytes of all streams on one NATS server; a full stream makes sweeps wait; 0 is no limit")
	fs.DurationVar(&c.CreateTimeout, "bus-create-timeout", c.CreateTimeout, "longest wait for the creation of one stream, such as for a leader of the NATS servers")
}

// Validate names the first field that is out of range.
func (c Config) Validate() error {
	switch {
	case c.Shards < 1 || c.Shards > 1024:
		return fmt.Errorf("--bus-shards: %d given, expected 1 to 1024", c.Shards)
	case c.Replicas < 1 || c.Replicas > 5:
		return fmt.Errorf("--bus-replicas: %d given, expected 1 to 5", c.Replicas)
	case c.Retention < 0 || c.Retention > 0 && c.Retention < minRetention:
		return fmt.Errorf("--bus-retention: %s given, expected 0 (for ever) or at least %s", c.Retention, minRetention)
	case c.Bytes != 0 && c.Bytes < minBytes:
		return fmt.Errorf("--bus-bytes: %d given, expected 0 (no limit) or at least %d", c.Bytes, int64(minBytes))
	case c.CreateTimeout <= 0:
		return fmt.Errorf("--bus-create-timeout: %s given, expected more than 0", c.CreateTimeout)
	}
	return nil
}

// minBytes is the least Config.Bytes. With four shards each stream then takes the largest message.
const minBytes = 256 << 20

// bytesOf returns the MaxBytes of a stream with a part of all bytes, -1 for no limit.
func (c Config) bytesOf(share int64) int64 {
	if c.Bytes == 0 {
		return -1
	}
	return max(c.Bytes/allShares*share, 1)
}

// store is the base of all stores: the streams and their server.
type store struct {
	js        jetstream.JetStream
	shards    int
	retention atomic.Int64 // in nanoseconds, as this process has read it last
	streams   map[string]jetstream.Stream
	setups    *lru.Cache[string, *setupv1.Setup]
}

// These are the stores. Each publishes and reads one kind of data.
type (
	// Sweeps are the plans of sweeps.
	Sweeps struct{ *store }
	// Controls are the control states of sweeps.
	Controls struct{ ControlUpdates }
	// ControlUpdates are the changes of these states.
	ControlUpdates struct{ *store }
	// Jobs are the queues of rollouts.
	Jobs struct{ *store }
	// Logs are the rollouts' logs.
	Logs struct{ *store }
	// Snapshots are the sessions' table versions.
	Snapshots struct{ *store }
	// Results are the scores of rollouts.
	Results struct{ *store }
	// Scores are Results that may be stored.
	Scores struct{ Results }
	// ScoreRequests are requests to store results. They are not stored.
	ScoreRequests struct{ *store }
	// Setups are scenarios without their evaluation.
	Setups struct{ *store }
	// ToolSets are the tools that a player sees.
	ToolSets struct{ *store }
	// Evaluations are milestones and minefields. Its fields are its own, so that no other store
	// converts to it.
	Evaluations struct {
		documents *store
		cache     *lru.Cache[string, *evaluationv1.Evaluation]
	}
	// Recordings are turns and answers for replays.
	Recordings struct{ *store }
	// Relay carries requests from one process to another. They are not stored.
	Relay struct{ *store }
	// Loads are what processes do for a sweep at the moment. They are not stored.
	Loads struct{ *store }
	// Members are the live processes of each service. Tool hosts are stored, replicas are not.
	Members struct{ *store }
)

// These are the stores that each service may use.
type (
	// Orchestrator has all stores except Scores, Evaluations and Relay.
	Orchestrator struct {
		Sweeps
		Controls
		Jobs
		Logs
		Snapshots
		Results
		ScoreRequests
		Setups
		ToolSets
		Recordings
		Loads
		Members
	}
	// ToolHost has the stores of a session's data. It only reads logs.
	ToolHost struct {
		Logs
		Setups
		Snapshots
	}
	// AgentGateway has the stores of turns and their limits.
	AgentGateway struct {
		ControlUpdates
		ToolSets
		Recordings
		Relay
		Loads
		Members
	}
	// Evaluator has the stores of scoring. It alone has Evaluations.
	Evaluator struct {
		ControlUpdates
		Logs
		Snapshots
		Scores
		ScoreRequests
		Setups
		Evaluations
	}
)

// Bus has all stores. It does not own its connection.
type Bus struct {
	Sweeps
	Controls
	Jobs
	Logs
	Snapshots
	Scores
	ScoreRequests
	Setups
	ToolSets
	Evaluations
	Recordings
	Relay
	Loads
	Members
}

func newBus(s *store, evaluations *lru.Cache[string, *evaluationv1.Evaluation]) *Bus {
	return &Bus{
		Sweeps{s}, Controls{ControlUpdates{s}}, Jobs{s}, Logs{s}, Snapshots{s}, Scores{Results{s}}, ScoreRequests{s}, Setups{s}, ToolSets{s}, Evaluations{s, evaluations}, Recordings{s}, Relay{s}, Loads{s}, Members{s},
	}
}

// Orchestrator returns the stores of the orchestrator.
func (b *Bus) Orchestrator() Orchestrator {
	return Orchestrator{b.Sweeps, b.Controls, b.Jobs, b.Logs, b.Snapshots, b.Results, b.ScoreRequests, b.Setups, b.ToolSets, b.Recordings, b.Loads, b.Members}
}

// ToolHost returns the stores of the tool host.
func (b *Bus) ToolHost() ToolHost { return ToolHost{b.Logs, b.Setups, b.Snapshots} }

// AgentGateway returns the stores of the agent gateway.
func (b *Bus) AgentGateway() AgentGateway {
	return AgentGateway{b.ControlUpdates, b.ToolSets, b.Recordings, b.Relay, b.Loads, b.Members}
}

// Evaluator returns the stores of the evaluator.
func (b *Bus) Evaluator() Evaluator {
	return Evaluator{b.ControlUpdates, b.Logs, b.Snapshots, b.Scores, b.ScoreRequests, b.Setups, b.Evaluations}
}

// Shards returns the number of log and of snapshot streams.
func (b Logs) Shards() int { return b.shards }

// shardOf returns the shard of a rollout's log and snapshots.
func (b *store) shardOf(rolloutID string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(rolloutID))
	return int(h.Sum32() % uint32(b.shards))
}
