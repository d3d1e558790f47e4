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
	// maxPendingJobs bounds the jobs of one sweep that are delivered and not yet done, over all
	// orchestrators.
	maxPendingJobs = 20000
	// maxUnacknowledged bounds how many jobs are published ahead of their acknowledgements.
	maxUnacknowledged = 256
)

// Delivery is one job that was handed to this process. It comes again, here or elsewhere, unless it
// is done or extended within the queue's lease.
type Delivery struct {
	msg jetstream.Msg
	// Rollout is what is to be run.
	Rollout *busv1.Rollout
	// Parallel is how many rollouts of the sweep one process may run at once, as it was when the
	// job was queued; 0 means no limit of its own.
	Parallel int
	// Round is the round of its sweep in which it is to be run.
	Round int32
	// Attempt counts deliveries of this job, from 1.
	Attempt int
}

// Done removes the job from the queue. It returns once the server has confirmed.
func (d *Delivery) Done(ctx context.Context) error {
	if err := d.msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("finish job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// Finish removes the job from the queue without waiting for the server. Should that be lost, the
// job comes again and is found to be done.
func (d *Delivery) Finish() error {
	if err := d.msg.Ack(); err != nil {
		return fmt.Errorf("finish job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// Extend renews the lease. A job that was finished meanwhile needs none.
func (d *Delivery) Extend() error {
	if err := d.msg.InProgress(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
		return fmt.Errorf("extend job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// Release gives the job back; it is delivered again after the delay.
func (d *Delivery) Release(delay time.Duration) error {
	if err := d.msg.NakWithDelay(delay); err != nil {
		return fmt.Errorf("release job %s: %w", d.Rollout.GetId(), err)
	}
	return nil
}

// Fetch returns up to n jobs. It waits for the first one, but not longer than ctx and wait allow;
// none is no error.
func (q *Queue) Fetch(ctx context.Context, n int, wait time.Duration) ([]*Delivery, error) {
	batch, err := q.consumer.FetchNoWait(n)
	if err != nil {
		return nil, fmt.Errorf("fetch jobs: %w", err)
	}
	jobs, err := deliveries(batch)
	if err != nil || len(jobs) > 0 {
		return jobs, err
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	batch, err = q.consumer.Fetch(1, jetstream.FetchContext(waiting))
	if err != nil {
		return nil, fmt.Errorf("fetch jobs: %w", err)
	}
	return deliveries(batch)
}

func deliveries(batch jetstream.MessageBatch) ([]*Delivery, error) {
	var jobs []*Delivery
	for msg := range batch.Messages() {
		job, err := decode[busv1.Job](msg.Subject(), content(msg.Headers(), msg.Data()))
		if err != nil {
			return nil, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, fmt.Errorf("fetch jobs: %w", err)
		}
		jobs = append(jobs, &Delivery{
			msg: msg, Rollout: job.GetRollout(), Parallel: int(job.GetParallel()), Round: job.GetRound(), Attempt: int(meta.NumDelivered),
		})
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) && !errors.Is(err, nats.ErrTimeout) {
		return jobs, fmt.Errorf("fetch jobs: %w", err)
	}
	return jobs, nil
}

// Enqueue queues jobs, and tells who follows the queues. One for the same rollout and round that is
// in the queue already is left as it is. Safe to repeat.
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
		pending[i], err = b.js.PublishMsgAsync(message(ctx, subject, raw), jetstream.WithExpectLastSequencePerSubject(0))
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
			// It is in the queue already, unless that cannot be read.
			sent := future.Msg()
			if _, err := b.create(ctx, jobStream, sent.Subject, content(sent.Header, sent.Data)); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return b.announce(jobs)
}

// Queued returns how many rollouts of a sweep are in the queue: those that wait and those that are
// played.
func (b Jobs) Queued(ctx context.Context, sweepID string) (int, error) {
	info, err := b.info(ctx, jobStream, sweepJobSubject(sweepID))
	if err != nil {
		return 0, fmt.Errorf("count jobs: %w", err)
	}
	return len(info.State.Subjects), nil
}
