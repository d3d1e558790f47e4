package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const (
	// jobConsumer and a sweep's id form the name of the durable consumer of the sweep's jobs. All
	// orchestrators share it.
	jobConsumer = "sweep-"
	// idleLeases is the number of leases after the last request and delivery after which the server
	// removes a consumer.
	idleLeases = 6
	// queuedSubject and a sweep's id form the subject that announces queued jobs. It is not stored.
	queuedSubject = "queued."
)

// Queue delivers the jobs of one sweep, oldest first. It needs no closing: unacknowledged jobs are
// redelivered after the lease, and the server removes the consumer of a finished sweep. After that,
// open the queue again.
type Queue struct {
	consumer jetstream.Consumer
	// Lease is the time after which a job is redelivered.
	Lease time.Duration
}

// OpenQueue opens the job queue of a sweep. A job that is neither acknowledged nor extended within
// the lease is redelivered; if another process has opened the queue with a longer one, that holds,
// because that process extends its jobs less often. Jobs stay queued while no process has the queue
// open; after idleLeases leases the delivery count starts at 1 again.
func (b Jobs) OpenQueue(ctx context.Context, sweepID string, lease time.Duration) (queue *Queue, err error) {
	wanted := jetstream.ConsumerConfig{
		Durable:           jobConsumer + sweepID,
		FilterSubject:     sweepJobSubject(sweepID),
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           lease,
		MaxAckPending:     maxPendingJobs,
		InactiveThreshold: idleLeases * lease,
	}
	var consumer jetstream.Consumer
	err = attempt(ctx, jobStream, func(ctx context.Context) (err error) {
		stream := b.streams[jobStream]
		if consumer, err = stream.CreateConsumer(ctx, wanted); !errors.Is(err, jetstream.ErrConsumerExists) {
			return err
		}
		if consumer, err = stream.Consumer(ctx, wanted.Durable); err == nil && consumer.CachedInfo().Config.AckWait < lease {
			consumer, err = stream.UpdateConsumer(ctx, wanted)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("open job queue of sweep %s: %w", sweepID, err)
	}
	return &Queue{consumer, consumer.CachedInfo().Config.AckWait}, nil
}

// ResetJobs removes the server's state of a sweep's queue. Whoever opens the queue again gets all
// its jobs, those that others hold too, and the delivery counts start at 1 again.
func (b Jobs) ResetJobs(ctx context.Context, sweepID string) error {
	err := attempt(ctx, jobStream, func(ctx context.Context) error {
		return b.streams[jobStream].DeleteConsumer(ctx, jobConsumer+sweepID)
	})
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("reset jobs of sweep %s: %w", sweepID, err)
	}
	return nil
}

// HasJobs reports whether a sweep has jobs, delivered or not.
func (b Jobs) HasJobs(ctx context.Context, sweepID string) (bool, error) {
	_, err := b.nextMessage(ctx, jobStream, sweepJobSubject(sweepID), 1)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for jobs of sweep %s: %w", sweepID, err)
	}
	return true, nil
}

// FollowQueues calls handle with the id of each sweep that has jobs: of all sweeps at the beginning
// and at an interval, and of one sweep when some of its jobs are queued, until ctx is done (then it
// returns nil). It calls onError with an error of a poll; the next one may succeed.
func (b Jobs) FollowQueues(ctx context.Context, interval time.Duration, handle func(sweepID string), onError func(error)) error {
	announcements, err := b.js.Conn().SubscribeSync(queuedSubject + "*")
	if err != nil {
		return fmt.Errorf("follow job queues: %w", err)
	}
	defer func() { _ = announcements.Unsubscribe() }() // fails only with the connection
	// Subscribe first, on the same connection: the first poll covers earlier announcements.
	for {
		sweeps, err := b.queuedSweeps(ctx)
		if err != nil && ctx.Err() == nil {
			onError(fmt.Errorf("look for jobs: %w", err))
		}
		for sweepID := range sweeps {
			handle(sweepID)
		}
		if err := receiveAnnouncements(ctx, announcements, interval, handle); err != nil {
			return nilIfDone(ctx, fmt.Errorf("follow job queues: %w", err))
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// receiveAnnouncements calls handle with the sweep of each announcement for a time.
func receiveAnnouncements(ctx context.Context, announcements *nats.Subscription, timeout time.Duration, handle func(sweepID string)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		msg, err := announcements.NextMsgWithContext(ctx)
		switch {
		case err == nil:
			handle(strings.TrimPrefix(msg.Subject, queuedSubject))
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, nats.ErrSlowConsumer): // the next poll finds lost announcements
			return err
		}
	}
}

// announce announces stored jobs to the followers of the queues.
func (b Jobs) announce(jobs []*busv1.Job) error {
	announced := make(map[string]bool)
	for _, job := range jobs {
		sweepID := SweepOf(job.GetRollout().GetId())
		if announced[sweepID] {
			continue
		}
		announced[sweepID] = true
		if err := b.js.Conn().Publish(queuedSubject+sweepID, nil); err != nil {
			return err
		}
	}
	return nil
}

// queuedSweeps returns the ids of the sweeps with jobs. Consumers know the number of their jobs. It
// reads the possibly long list of all jobs only if there are more.
func (b Jobs) queuedSweeps(ctx context.Context) (map[string]bool, error) {
	sweeps, jobs := b.sweepsWithConsumers(ctx)
	var stored uint64
	err := attempt(ctx, jobStream, func(ctx context.Context) error {
		info, err := b.streams[jobStream].Info(ctx)
		if err == nil {
			stored = info.State.Msgs
		}
		return err
	})
	if err != nil || stored <= jobs {
		return sweeps, err
	}
	info, err := b.info(ctx, jobStream, "jobs.>")
	if err != nil {
		return sweeps, err
	}
	for subject := range info.State.Subjects {
		sweeps[strings.Split(subject, ".")[1]] = true
	}
	return sweeps, nil
}

// sweepsWithConsumers returns the ids of the sweeps whose consumers have jobs, and the total number
// of those jobs. It may miss some, because the server of a consumer may be unreachable.
func (b Jobs) sweepsWithConsumers(ctx context.Context) (sweeps map[string]bool, jobs uint64) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	sweeps = make(map[string]bool)
	for info := range b.streams[jobStream].ListConsumers(ctx).Info() {
		sweepID, ok := strings.CutPrefix(info.Name, jobConsumer)
		if n := info.NumPending + uint64(max(info.NumAckPending, 0)); ok && n > 0 && !sweeps[sweepID] {
			sweeps[sweepID] = true
			jobs += n
		}
	}
	return sweeps, jobs
}
