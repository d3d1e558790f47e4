// Package bus stores and distributes all data between services over NATS JetStream: jobs, rollout
// logs, snapshots, results and documents. It owns the names of streams and subjects, the fencing of
// logs and the create-if-absent rule of results. No other package names a subject.
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

// ErrFenced means that another worker has written to the rollout's log. The caller no longer owns
// it.
var ErrFenced = errors.New("another worker owns the rollout's log")

// ErrNotFound means that nothing is stored under the name.
var ErrNotFound = errors.New("not on the bus")

// ErrExists means that different data is already stored under the name.
var ErrExists = errors.New("already on the bus with other content")

// ErrUnavailable means that NATS did not answer for a stream. It may later.
var ErrUnavailable = errors.New("NATS does not answer")

// documentCacheSize bounds the caches of decoded setups and of evaluations.
const documentCacheSize = 4096

// Config configures the streams. It must be equal in all processes of an installation.
type Config struct {
	// Shards is the number of BUS and of SNAPSHOT streams.
	Shards int
	// Retention is how long logs, snapshots, results and documents are retained. 0 means without
	// limit.
	Retention time.Duration
	// Replicas is the number of JetStream replicas of each stream.
	Replicas int
}

// DefaultConfig returns four shards per kind, one replica, and unlimited retention. A stream stores
// messages sequentially, so a server that syncs each of them needs several streams.
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

// store is the base of all stores: the streams and their server.
type store struct {
	js        jetstream.JetStream
	shards    int
	retention time.Duration
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
	// ScoreRequests are requests for missing scores. They are not stored.
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
	// Members are the live processes of a service. Only internal/rpc uses them.
	Members struct{ *store }
)

// These are the stores that each service may use.
type (
	// Orchestrator has all stores except Evaluations and Relay.
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
	}
	// Evaluator has the stores of scoring. It alone has Evaluations.
	Evaluator struct {
		Logs
		Snapshots
		Results
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
	Results
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
		Sweeps{s}, Controls{ControlUpdates{s}}, Jobs{s}, Logs{s}, Snapshots{s}, Results{s}, ScoreRequests{s}, Setups{s}, ToolSets{s}, Evaluations{s, evaluations}, Recordings{s}, Relay{s}, Loads{s}, Members{s},
	}
}

// Orchestrator returns the stores of the orchestrator.
func (b *Bus) Orchestrator() Orchestrator {
	return Orchestrator{b.Sweeps, b.Controls, b.Jobs, b.Logs, b.Snapshots, b.Results, b.ScoreRequests, b.Setups, b.ToolSets, b.Recordings, b.Loads}
}

// ToolHost returns the stores of the tool host.
func (b *Bus) ToolHost() ToolHost { return ToolHost{b.Logs, b.Setups, b.Snapshots} }

// AgentGateway returns the stores of the agent gateway.
func (b *Bus) AgentGateway() AgentGateway {
	return AgentGateway{b.ControlUpdates, b.ToolSets, b.Recordings, b.Relay, b.Loads}
}

// Evaluator returns the stores of the evaluator.
func (b *Bus) Evaluator() Evaluator {
	return Evaluator{b.Logs, b.Snapshots, b.Results, b.ScoreRequests, b.Setups, b.Evaluations}
}

// Open creates missing streams, updates the settings of existing ones, and returns a bus. A
// different number of shards than that of the existing installation is an error.
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
	b := &store{js: js, shards: cfg.Shards, retention: cfg.Retention, streams: make(map[string]jetstream.Stream), setups: setups}
	for _, stream := range streamConfigs(cfg) {
		handle, err := js.CreateOrUpdateStream(ctx, stream)
		if err != nil {
			return nil, fmt.Errorf("open bus: stream %s: %w%s", stream.Name, err, advice(stream.Name, err))
		}
		b.streams[stream.Name] = handle
	}
	if _, err := js.Stream(ctx, logStream(cfg.Shards)); err == nil {
		return nil, fmt.Errorf("open bus: the installation has more than %d shards: give every process the same number", cfg.Shards)
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	return newBus(b, evaluations), nil
}

// streamOffline is the error code of NATS for a stream with a file that it cannot read.
const streamOffline = 10194

// advice returns how to get rid of a damaged stream, "" if that is not the error.
func advice(stream string, err error) string {
	if failure, ok := errors.AsType[*jetstream.APIError](err); !ok || failure.ErrorCode != streamOffline {
		return ""
	}
	return fmt.Sprintf(": a file below jetstream/*/streams/%s is damaged: stop NATS and remove that directory; toolsandbox run --resume plays what is lost", stream)
}

// Shards returns the number of log and of snapshot streams.
func (b Logs) Shards() int { return b.shards }

// shardOf returns the shard of a rollout's log and snapshots.
func (b *store) shardOf(rolloutID string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(rolloutID))
	return int(h.Sum32() % uint32(b.shards))
}
