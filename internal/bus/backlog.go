package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// Plan returns the plan of a sweep and the time when it was stored, for display only. The error is
// ErrNotFound if there is none.
func (b Sweeps) Plan(ctx context.Context, sweepID string) (*busv1.Sweep, time.Time, error) {
	msg, _, err := b.newestSealed(ctx, sweepStream, sweepPlanSubject(sweepID))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read sweep: %w", err)
	}
	sweep, err := decode[busv1.Sweep](msg.Subject, msg.Data)
	return sweep, msg.Time, err
}

// Backlog is the state of a sweep's queue.
type Backlog struct {
	// Delivered is the number of jobs that were delivered and not acknowledged. A dead orchestrator
	// holds its jobs until the lease ends.
	Delivered int
	// Queued is the number of jobs that wait for a delivery.
	Queued int
	// Deliveries counts all deliveries. The count starts again when the queue is reset.
	Deliveries uint64
}

// Abandoned returns the number of delivered jobs that no orchestrator holds, as far as they have
// told: those whose orchestrator has died or released them. They are redelivered within the lease.
func (b Backlog) Abandoned(load *busv1.Load) int {
	return max(b.Delivered-int(load.GetRunning()+load.GetAhead()+load.GetScoring()), 0)
}

// Pending returns the number of jobs of all sweeps, waiting or delivered.
func (b Jobs) Pending(ctx context.Context) (jobs int64, err error) {
	err = attempt(ctx, jobStream, func(ctx context.Context) error {
		info, err := b.streams[jobStream].Info(ctx)
		if err == nil {
			jobs = int64(info.State.Msgs)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return jobs, nil
}

// Waiting returns when the oldest job that no orchestrator has taken was queued, the zero time if
// there is none. Jobs of sweeps whose queue nobody has opened count only if all are, and those of
// sweeps that skip reports do not.
func (b Jobs) Waiting(ctx context.Context, skip func(sweepID string) bool) (since time.Time, err error) {
	listing, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	older := func(msg *jetstream.RawStreamMsg, err error) error {
		if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, ErrNotFound) {
			return nil // it was taken meanwhile
		}
		if err == nil && (since.IsZero() || msg.Time.Before(since)) {
			since = msg.Time
		}
		return err
	}
	opened := false
	consumers := b.streams[jobStream].ListConsumers(listing)
	for info := range consumers.Info() {
		sweepID, ok := strings.CutPrefix(info.Name, jobConsumer)
		if !ok {
			continue
		}
		opened = true
		if info.NumPending > 0 && err == nil && !skip(sweepID) {
			err = older(b.nextMessage(ctx, jobStream, sweepJobSubject(sweepID), info.Delivered.Stream+1))
		}
	}
	if err = errors.Join(err, consumers.Err()); err == nil && !opened {
		err = older(b.nextMessage(ctx, jobStream, "jobs.>", 1))
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("look for the oldest job: %w", err)
	}
	return since, nil
}

// Room is what a stream has and may have, in bytes. Limit is 0 if there is none.
type Room struct {
	Stream       string
	Bytes, Limit int64
}

// Rooms returns the room of each stream that this process uses, by name.
func (b Jobs) Rooms(ctx context.Context) ([]Room, error) {
	var rooms []Room
	for _, name := range slices.Sorted(maps.Keys(b.streams)) {
		room, err := b.room(ctx, name)
		if err != nil {
			return nil, err
		}
		rooms = append(rooms, room)
	}
	return rooms, nil
}

// Room returns the room of the stream of evaluations.
func (b Evaluations) Room(ctx context.Context) (Room, error) {
	return b.documents.room(ctx, evaluationStream)
}

func (b *store) room(ctx context.Context, stream string) (Room, error) {
	room := Room{Stream: stream}
	err := attempt(ctx, stream, func(ctx context.Context) error {
		info, err := b.streams[stream].Info(ctx)
		if err == nil {
			room.Bytes, room.Limit = int64(info.State.Bytes), max(info.Config.MaxBytes, 0)
		}
		return err
	})
	if err != nil {
		return Room{}, fmt.Errorf("measure stream: %w", err)
	}
	return room, nil
}

// Backlog returns the state of a sweep's queue.
func (b Jobs) Backlog(ctx context.Context, sweepID string) (backlog Backlog, err error) {
	err = attempt(ctx, jobStream, func(ctx context.Context) error {
		consumer, err := b.streams[jobStream].Consumer(ctx, jobConsumer+sweepID)
		if err == nil {
			info := consumer.CachedInfo()
			backlog = Backlog{info.NumAckPending, int(info.NumPending), info.Delivered.Consumer}
		}
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) { // the queue was never opened
		backlog.Queued, err = b.Queued(ctx, sweepID)
	}
	if err != nil {
		return Backlog{}, fmt.Errorf("count jobs: %w", err)
	}
	return backlog, nil
}
