package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// scoreSubject carries requests to score an ended rollout. They are not stored.
const scoreSubject = "score"

// scoreBacklog bounds the pending requests of a process. Further ones are dropped and requested
// again.
const scoreBacklog = 1024

// RequestScore requests that an evaluator reads an ended rollout from the bus and stores its
// result, if that is missing. The request may be lost: repeat it while there is no result.
func (b ScoreRequests) RequestScore(rollout *busv1.Rollout, round int32) error {
	raw, err := proto.Marshal(&busv1.Job{Rollout: rollout, Round: round})
	if err == nil {
		err = b.js.Conn().Publish(scoreSubject, raw)
	}
	if err != nil {
		return fmt.Errorf("request score of %s: %w", rollout.GetId(), err)
	}
	return nil
}

// FollowScoreRequests calls handle with each requested rollout and round until ctx is done (then it
// returns nil) or handle fails. Each request reaches one of the following processes.
func (b ScoreRequests) FollowScoreRequests(ctx context.Context, handle func(rollout *busv1.Rollout, round int32) error) error {
	requests, err := b.js.Conn().QueueSubscribeSync(scoreSubject, "evaluator")
	if err != nil {
		return fmt.Errorf("follow score requests: %w", err)
	}
	defer func() { _ = requests.Unsubscribe() }() // fails only with the connection
	if err := requests.SetPendingLimits(scoreBacklog, -1); err != nil {
		return fmt.Errorf("follow score requests: %w", err)
	}
	for {
		msg, err := requests.NextMsgWithContext(ctx)
		if errors.Is(err, nats.ErrSlowConsumer) {
			continue // dropped requests are repeated
		}
		if err != nil {
			return nilIfDone(ctx, fmt.Errorf("follow score requests: %w", err))
		}
		job, err := decode[busv1.Job](msg.Subject, msg.Data)
		if err != nil {
			continue // this version sends no such request
		}
		if err := handle(job.GetRollout(), job.GetRound()); err != nil {
			return nilIfDone(ctx, fmt.Errorf("follow score requests: %w", err))
		}
	}
}
