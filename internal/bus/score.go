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
	raw, err := proto.Marshal(&busv1.Result{Rollout: rollout, Round: round})
	if err == nil {
		err = b.js.Conn().Publish(scoreSubject, raw)
	}
	if err != nil {
		return fmt.Errorf("request score of %s: %w", rollout.GetId(), err)
	}
	return nil
}

// RequestFailure requests that an evaluator stores the end of a rollout that cannot be scored as
// its result, if that is missing, and waits for it. Only evaluators store results. The error is
// ErrUnavailable if none answers; it may have stored the result.
func (b ScoreRequests) RequestFailure(ctx context.Context, rollout *busv1.Rollout, round int32, end *busv1.End) error {
	raw, err := proto.Marshal(&busv1.Result{Rollout: rollout, Round: round, End: end})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		_, err = b.js.Conn().RequestWithContext(ctx, scoreSubject, raw)
	}
	if isAmbiguous(err) {
		err = fmt.Errorf("%w: no evaluator: %w", ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("request result of %s: %w", rollout.GetId(), err)
	}
	return nil
}

// FollowScoreRequests calls handle with each request until ctx is done (then it returns nil) or
// handle fails. A request is the rollout and the round of a result, and its end if it cannot be
// scored. Each request reaches one of the following processes.
func (b ScoreRequests) FollowScoreRequests(ctx context.Context, handle func(request *busv1.Result) error) error {
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
		request, err := decode[busv1.Result](msg.Subject, msg.Data)
		if err != nil || isAnswer(msg.Header) || msg.Subject != scoreSubject {
			continue // a foreign message, which a consumer delivers with the subject of its stream
		}
		if err := handle(request); err != nil {
			return nilIfDone(ctx, fmt.Errorf("follow score requests: %w", err))
		}
		if msg.Reply != "" {
			_ = msg.Respond(nil) // a requester without an answer repeats the request
		}
	}
}
