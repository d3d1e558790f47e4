package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

const (
	// maxPendingJobs bounds the unacknowledged jobs of one sweep over all orchestrators.
	maxPendingJobs = 20000
	// maxUnacknowledged bounds the publications without acknowledgement.
	maxUnacknowledged = 256
)

// Delivery is one delivered job. It is redelivered unless it is acknowledged or extended within the
// queue's lease.
type Delivery struct {
	msg jetstream.Msg
	// Rollout is the rollout to play.
	Rollout *busv1.Rollout
	// Parallel is the number of concurrent rollouts of the sweep per process at the time of queueing.
	// 0 means no limit.
	Parallel int
	// Round is the sweep's round of the job.
	Round int32
	// Attempt counts deliveries of this job, from 1.
	Attempt int
}

// DoubleAck removes the job from the queue and waits for the server's confirmation.
func (d *Delivery) DoubleAck(ctx context.Context) error {
	if err := d.msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("finish job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// Ack removes the job from the queue without waiting for the server. If the message is lost, the
// job is redelivered and found to be done.
func (d *Delivery) Ack() error {
	if err := d.msg.Ack(); err != nil {
		return fmt.Errorf("finish job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// InProgress renews the lease. It does nothing for a finished job.
func (d *Delivery) InProgress() error {
	if err := d.msg.InProgress(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return fmt.Errorf("extend job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// Nak returns the job to the queue. It is redelivered after the delay.
func (d *Delivery) Nak(delay time.Duration) error {
	if err := d.msg.NakWithDelay(delay); err != nil {
		return fmt.Errorf("release job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// Fetch returns up to n jobs. It waits for the first one as long as ctx and wait allow. It returns
// none without error if there is none.
func (q *Queue) Fetch(ctx context.Context, n int, wait time.Duration) ([]*Delivery, error) {
	batch, err := q.consumer.FetchNoWait(n)
	if err != nil {
		return nil, fmt.Errorf("fetch jobs: %w", err)
	}
	jobs, err := newDeliveries(batch)
	if err != nil || len(jobs) > 0 {
		return jobs, err
	}
	fetchCtx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	batch, err = q.consumer.Fetch(1, jetstream.FetchContext(fetchCtx))
	if err != nil {
		return nil, fmt.Errorf("fetch jobs: %w", err)
	}
	return newDeliveries(batch)
}

// newDeliveries removes foreign messages from the queue. The error names them, beside the jobs.
func newDeliveries(batch jetstream.MessageBatch) ([]*Delivery, error) {
	var jobs []*Delivery
	var foreign []error
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return nil, fmt.Errorf("fetch jobs: %w", err)
		}
		job, err := decodeJob(msg.Subject(), meta.Sequence.Stream, decompressedData(msg.Headers(), msg.Data()))
		if err != nil {
			foreign = append(foreign, fmt.Errorf("removed from the queue: %w", err), msg.Term())
			continue
		}
		jobs = append(jobs, &Delivery{
			msg: msg, Rollout: job.GetRollout(), Parallel: int(job.GetParallel()), Round: job.GetRound(), Attempt: int(meta.NumDelivered),
		})
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !errors.Is(err, nats.ErrTimeout) {
		foreign = append(foreign, err)
	}
	if err := errors.Join(foreign...); err != nil {
		return jobs, fmt.Errorf("fetch jobs: %w", err)
	}
	return jobs, nil
}

// Enqueue queues jobs and announces them to followers of the queues. It skips jobs whose rollout
// and round are queued already. It is idempotent.
func (b Jobs) Enqueue(ctx context.Context, jobs []*busv1.Job) error {
	for batch := range slices.Chunk(jobs, maxUnacknowledged) {
		if err := attempt(ctx, jobStream, func(ctx context.Context) error { return b.enqueue(ctx, batch) }); err != nil {
			return fmt.Errorf("queue jobs: %w", err)
		}
	}
	return nil
}

func (b Jobs) enqueue(ctx context.Context, jobs []*busv1.Job) error {
	pending := make([]jetstream.PubAckFuture, len(jobs))
	for i, job := range jobs {
		raw, err := proto.Marshal(job)
		if err != nil {
			return err
		}
		subject := jobSubject(job.GetRollout().GetId(), job.GetRound())
		pending[i], err = b.js.PublishMsgAsync(newMessage(subject, raw), jetstream.WithExpectLastSequencePerSubject(0))
		if err != nil {
			return err
		}
	}
	for _, future := range pending {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			if !isWrongSequence(err) {
				return err
			}
			// The job is already queued, unless its message is unreadable or foreign.
			msg := future.Msg()
			if _, err := b.create(ctx, jobStream, msg.Subject, decompressedData(msg.Header, msg.Data), func(stored *jetstream.RawStreamMsg) error {
				_, err := decodeJob(stored.Subject, stored.Sequence, stored.Data)
				return err
			}); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b.announce(jobs)
}

// Queued returns the number of a sweep's jobs in the queue, waiting or delivered.
func (b Jobs) Queued(ctx context.Context, sweepID string) (int, error) {
	info, err := b.info(ctx, jobStream, sweepJobSubject(sweepID))
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return len(info.State.Subjects), nil
}

// EnqueueMissing is Enqueue for jobs of one sweep of which many may be queued already. It returns
// the number of the others.
func (b Jobs) EnqueueMissing(ctx context.Context, sweepID string, jobs []*busv1.Job) (int, error) {
	info, err := b.info(ctx, jobStream, sweepJobSubject(sweepID))
	if err != nil {
		return 0, fmt.Errorf("queue jobs: %w", err)
	}
	missing := slices.DeleteFunc(jobs, func(job *busv1.Job) bool {
		return info.State.Subjects[jobSubject(job.GetRollout().GetId(), job.GetRound())] > 0
	})
	return len(missing), b.Enqueue(ctx, missing)
}
