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
	// jobConsumer and a sweep's id name the durable consumer of the sweep's jobs that all
	// orchestrators share.
	jobConsumer = "sweep-"
	// firstJobConsumer is the one consumer of all jobs that earlier versions had. A work queue
	// hands a job to one consumer only, so that it and those of the sweeps exclude each other.
	firstJobConsumer = "orchestrator"
	// idleLeases is how many leases after the last request and the last delivered job the server
	// forgets a consumer.
	idleLeases = 6
	// queuedSubject and a sweep's id are the subject of the news that jobs of the sweep were
	// queued. It is not stored.
	queuedSubject = "queued."

	// What the server says when two consumers of a work queue want the same jobs.
	codeMultipleUnfiltered jetstream.ErrorCode = 10099
	codeFilterNotUnique    jetstream.ErrorCode = 10100
)

// Queue hands out the jobs of one sweep, oldest first. It needs no closing: what was delivered and
// not done comes again after its lease, and the server forgets the consumer of a sweep that is
// over. The queue can then no longer be fetched from: open it again.
type Queue struct {
	consumer jetstream.Consumer
}

// OpenQueue opens the job queue of a sweep. A job that is neither done nor extended within lease is
// delivered again. Jobs stay queued while nobody has their queue open; after idleLeases leases of
// that, deliveries are counted from 1 again. The consumer of earlier versions goes: its processes
// get no more jobs, and those that they hold are delivered again.
func (b Jobs) OpenQueue(ctx context.Context, sweepID string, lease time.Duration) (queue *Queue, err error) {
	queue = &Queue{}
	open := func(ctx context.Context) (err error) {
		queue.consumer, err = b.streams[jobStream].CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable:           jobConsumer + sweepID,
			FilterSubject:     sweepJobSubject(sweepID),
			AckPolicy:         jetstream.AckExplicitPolicy,
			AckWait:           lease,
			MaxAckPending:     maxPendingJobs,
			InactiveThreshold: idleLeases * lease,
		})
		return err
	}
	err = attempt(ctx, jobStream, open)
	if excluded(err) {
		err = attempt(ctx, jobStream, func(ctx context.Context) error { return b.streams[jobStream].DeleteConsumer(ctx, firstJobConsumer) })
		if err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) { // not found: another process was first
			err = attempt(ctx, jobStream, open)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open job queue of sweep %s: %w", sweepID, err)
	}
	return queue, nil
}

// excluded reports whether another consumer of the work queue wants the same jobs.
func excluded(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == codeMultipleUnfiltered || api.ErrorCode == codeFilterNotUnique)
}

// ResetJobs has the server hand out the jobs of the sweep anew if it takes those that are stored
// for done: none is with anybody, and none is to come. So it is after the stream, but not the
// server's record of what was done, has lost its tail.
func (b Jobs) ResetJobs(ctx context.Context, sweepID string) (reset bool, err error) {
	name := jobConsumer + sweepID
	err = attempt(ctx, jobStream, func(ctx context.Context) error {
		consumer, err := b.streams[jobStream].Consumer(ctx, name)
		if err != nil {
			return err
		}
		if info := consumer.CachedInfo(); info.NumAckPending > 0 || info.NumPending > 0 {
			return nil
		}
		// The last job may have been done just now.
		if reset, err = b.HasJobs(ctx, sweepID); !reset || err != nil {
			return err
		}
		return b.streams[jobStream].DeleteConsumer(ctx, name)
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reset jobs of sweep %s: %w", sweepID, err)
	}
	return reset, nil
}

// HasJobs reports whether a sweep has jobs, delivered or not.
func (b Jobs) HasJobs(ctx context.Context, sweepID string) (bool, error) {
	_, err := b.next(ctx, jobStream, sweepJobSubject(sweepID), 1)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for jobs of sweep %s: %w", sweepID, err)
	}
	return true, nil
}

// FollowQueues calls handle with the id of each sweep that has jobs: of all of them at the
// beginning and then once every so often, and of one when some of its jobs were queued, until ctx
// is done (then it returns nil). It calls trouble with an error of a look at all of them; the next
// look may succeed.
func (b Jobs) FollowQueues(ctx context.Context, every time.Duration, handle func(sweepID string), trouble func(error)) error {
	news, err := b.js.Conn().SubscribeSync(queuedSubject + "*")
	if err != nil {
		return fmt.Errorf("follow job queues: %w", err)
	}
	defer func() { _ = news.Unsubscribe() }() // fails only with the connection
	// News that come before the server knows the subscription are not missed: the first look comes
	// after it on the same connection.
	for {
		sweeps, err := b.queuedSweeps(ctx)
		if err != nil && ctx.Err() == nil {
			trouble(fmt.Errorf("look for jobs: %w", err))
		}
		for sweepID := range sweeps {
			handle(sweepID)
		}
		if err := hear(ctx, news, every, handle); err != nil {
			return stopped(ctx, fmt.Errorf("follow job queues: %w", err))
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// hear calls handle with the sweep of each piece of news, for a time.
func hear(ctx context.Context, news *nats.Subscription, long time.Duration, handle func(sweepID string)) error {
	ctx, done := context.WithTimeout(ctx, long)
	defer done()
	for {
		msg, err := news.NextMsgWithContext(ctx)
		switch {
		case err == nil:
			handle(strings.TrimPrefix(msg.Subject, queuedSubject))
		case ctx.Err() != nil:
			return nil
		case !errors.Is(err, nats.ErrSlowConsumer): // what was lost then is found by the next look
			return err
		}
	}
}

// announce tells who follows the queues of stored jobs.
func (b Jobs) announce(jobs []*busv1.Job) error {
	told := make(map[string]bool)
	for _, job := range jobs {
		sweepID, _, _ := strings.Cut(job.GetRollout().GetId(), ".")
		if told[sweepID] {
			continue
		}
		told[sweepID] = true
		if err := b.js.Conn().Publish(queuedSubject+sweepID, nil); err != nil {
			return err
		}
	}
	return nil
}

// queuedSweeps returns the ids of the sweeps that have jobs. Consumers know how many jobs their
// sweeps have; the list of all jobs, which may be long, is read only if there are more.
func (b Jobs) queuedSweeps(ctx context.Context) (map[string]bool, error) {
	sweeps, counted := b.countedSweeps(ctx)
	var stored uint64
	err := attempt(ctx, jobStream, func(ctx context.Context) error {
		info, err := b.streams[jobStream].Info(ctx)
		if err == nil {
			stored = info.State.Msgs
		}
		return err
	})
	if err != nil || stored <= counted {
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

// countedSweeps returns the ids of the sweeps whose consumers know of jobs, and how many jobs these
// are in all. It may miss some: a consumer may be on a server that is away.
func (b Jobs) countedSweeps(ctx context.Context) (sweeps map[string]bool, jobs uint64) {
	ctx, done := context.WithTimeout(ctx, attemptTimeout)
	defer done()
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
