package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/pause"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// ErrNotReady means that a stream does not exist yet or that its server does not answer yet. The
// text names it.
var ErrNotReady = errors.New("not ready")

// ErrOtherShards means that the installation has another number of shards than the one given.
var ErrOtherShards = errors.New("the number of shards cannot change")

// shardsKey is the key of the number of shards in the metadata of each stream.
const shardsKey = "toolsandbox-shards"

const (
	// createAttempt bounds one attempt to create a stream.
	createAttempt = 5 * time.Second
	// createPause is the pause between two attempts.
	createPause = 250 * time.Millisecond
)

// Init creates missing streams and updates the settings of existing ones. It retries while NATS
// cannot answer, for up to cfg.CreateTimeout per stream, and calls waiting with each failure. It is
// idempotent. Errors: ErrOtherShards; ErrUnavailable after the time-out.
func Init(ctx context.Context, js jetstream.JetStream, cfg Config, waiting func(error)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	for _, stream := range streamConfigs(cfg) {
		if err := initStream(ctx, js, cfg, stream, waiting); err != nil {
			return fmt.Errorf("create streams: %w", err)
		}
	}
	return nil
}

// Settings describes the settings with which Init has made the streams, without the number of
// shards, which never changes. It is empty without streams.
func Settings(ctx context.Context, js jetstream.JetStream) (string, error) {
	stream, err := lookUp(ctx, js, setupStream)
	if errors.Is(err, ErrNotReady) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read settings of streams: %w", err)
	}
	made := stream.CachedInfo().Config
	return fmt.Sprintf("retention %s, %d replicas, %d bytes of %s", made.Metadata[retentionKey], made.Replicas, made.MaxBytes, setupStream), nil
}

// initStream creates or updates one stream.
func initStream(ctx context.Context, js jetstream.JetStream, cfg Config, stream jetstream.StreamConfig, waiting func(error)) error {
	for start := time.Now(); ; {
		err := tryInitStream(ctx, js, cfg, stream)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("stream %s: %w", stream.Name, ctx.Err())
		case !isAmbiguous(err) && !lacksPeers(err):
			return fmt.Errorf("stream %s: %w%s", stream.Name, err, advice(stream.Name, err))
		}
		waiting(fmt.Errorf("stream %s cannot be created yet: %w", stream.Name, err))
		if time.Since(start) > cfg.CreateTimeout {
			return fmt.Errorf("stream %s: %w: not created within %s (--bus-create-timeout): %w: see that the NATS servers have a leader and are as many as the %d replicas",
				stream.Name, ErrUnavailable, cfg.CreateTimeout, err, cfg.Replicas)
		}
		pause.For(ctx, createPause)
	}
}

func tryInitStream(ctx context.Context, js jetstream.JetStream, cfg Config, stream jetstream.StreamConfig) error {
	ctx, cancel := context.WithTimeout(ctx, min(createAttempt, cfg.CreateTimeout))
	defer cancel()
	existing, err := js.Stream(ctx, stream.Name)
	if err == nil {
		if given := existing.CachedInfo().Config.Metadata[shardsKey]; given != "" && given != stream.Metadata[shardsKey] {
			return fmt.Errorf("%w: the installation has %s, and --bus-shards is %d", ErrOtherShards, given, cfg.Shards)
		}
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = js.CreateOrUpdateStream(ctx, stream)
	return err
}

// noPeers is the error code of NATS for a stream with more replicas than there are servers. Those
// of a cluster that starts come one after the other.
const noPeers = 10005

func lacksPeers(err error) bool {
	failure, ok := errors.AsType[*jetstream.APIError](err)
	return ok && failure.ErrorCode == noPeers
}

// Open returns a bus on the streams that Init has made. It makes and changes none. A process that
// has only some roles uses only their stores; without roles it has all. The error is ErrNotReady if
// a stream cannot be used yet.
func Open(ctx context.Context, js jetstream.JetStream, roles ...Role) (*Bus, error) {
	if len(roles) == 0 {
		roles = Roles()
	}
	setups, err := lru.New[string, *setupv1.Setup](documentCacheSize)
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	evaluations, err := lru.New[string, *evaluationv1.Evaluation](documentCacheSize)
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	b := &store{js: js, streams: make(map[string]jetstream.Stream), setups: setups}
	first, err := lookUp(ctx, js, setupStream)
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	made := first.CachedInfo().Config
	if b.shards, err = strconv.Atoi(made.Metadata[shardsKey]); err != nil {
		return nil, fmt.Errorf("open bus: stream %s was not made by toolsandbox bus init: its metadata has no %s", setupStream, shardsKey)
	}
	if err := b.setRetention(first.CachedInfo()); err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	for _, stream := range streamsOf(b.shards, roles...) {
		if b.streams[stream], err = lookUp(ctx, js, stream); err != nil {
			return nil, fmt.Errorf("open bus: %w", err)
		}
	}
	return newBus(b, evaluations), nil
}

// Make is Init and Open with all roles, for a process that makes the streams that it uses. It also
// retries, for up to cfg.CreateTimeout, while NATS does not answer for a stream that it has made.
func Make(ctx context.Context, js jetstream.JetStream, cfg Config, waiting func(error)) (*Bus, error) {
	if err := Init(ctx, js, cfg, waiting); err != nil {
		return nil, err
	}
	for start := time.Now(); ; {
		b, err := Open(ctx, js)
		if !errors.Is(err, ErrNotReady) || ctx.Err() != nil || time.Since(start) > cfg.CreateTimeout {
			return b, err
		}
		waiting(err)
		pause.For(ctx, createPause)
	}
}

// lookUp returns the handle of an existing stream.
func lookUp(ctx context.Context, js jetstream.JetStream, name string) (jetstream.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	stream, err := js.Stream(ctx, name)
	switch {
	case err == nil:
		return stream, nil
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, fmt.Errorf("stream %s: %w: toolsandbox bus init makes it", name, ErrNotReady)
	case isAmbiguous(err):
		return nil, fmt.Errorf("stream %s: %w: NATS does not answer for it: %w", name, ErrNotReady, err)
	}
	return nil, fmt.Errorf("stream %s: %w%s", name, err, advice(name, err))
}

// Error codes of NATS.
const (
	streamOffline = 10194 // a file of the stream cannot be read
	noStorage     = 10047 // the servers have fewer bytes than the stream is to have
)

// advice returns what to do about an error of NATS, "" if it says so itself.
func advice(stream string, err error) string {
	failure, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case ok && failure.ErrorCode == streamOffline:
		return fmt.Sprintf(": a file below jetstream/*/streams/%s is damaged: stop NATS and remove that directory; toolsandbox run --resume plays what is lost", stream)
	case ok && failure.ErrorCode == noStorage:
		return ": the NATS servers have less room than --bus-bytes: lower it, or raise max_file_store"
	}
	return ""
}
