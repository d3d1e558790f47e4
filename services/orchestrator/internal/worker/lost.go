package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// errUnplayable: a rollout that cannot be played has a result.
var errUnplayable = errors.New("the rollout cannot be played")

// errReplaced: the job of a later round has taken the rollout over, so this job is obsolete.
var errReplaced = errors.New("the rollout is played again in a later round")

// lostAttempts is the number of attempts to read data that seems to be lost.
const lostAttempts = 3

// isLost reports whether a rollout failed because its setup or its log is damaged or lost. That is
// usually permanent, but a server that lags behind reports it too.
func isLost(err error) bool {
	return errors.Is(err, rollout.ErrLog) || errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrDamaged)
}

// failLost ends a rollout that cannot be played from the stored data. It writes the end to the
// log, so that no worker continues, and tells the result to an evaluator, which cannot read the log
// either. It returns errUnplayable, errReplaced, bus.ErrFenced if
// another worker owns the rollout, or an error to retry.
func (w *Worker) failLost(ctx context.Context, delivery *bus.Delivery, cause error) error {
	id := delivery.Rollout.GetId()
	_, err := w.peers.Bus.RoundResult(ctx, id, delivery.Round)
	switch {
	case err == nil:
		return errUnplayable
	case !errors.Is(err, bus.ErrNotFound):
		return err
	}
	log, err := w.peers.Bus.ReadLog(ctx, id)
	if err != nil && !errors.Is(err, bus.ErrDamaged) {
		return err
	}
	round, ended := lastRound(log.Entries)
	if round > delivery.Round {
		return errReplaced
	}
	end := infrastructureEnd(fmt.Errorf("too little is stored of the rollout to play it on: %w", cause))
	if over := ended && round == delivery.Round; log.End.Sequence > 0 && !over {
		claim := &busv1.Claim{Worker: w.cfg.Name, Round: delivery.Round}
		if _, err := w.peers.Bus.Append(ctx, id, &busv1.LogEntry{Claim: claim, End: end}, log.End); err != nil {
			return err
		}
	}
	if err := w.peers.Bus.RequestFailure(ctx, delivery.Rollout, delivery.Round, end); err != nil {
		return err
	}
	w.peers.Logger.Error("rollout given up", "rollout", id, "reason", end.GetDetail())
	return errUnplayable
}

// lastRound returns the round of a log according to its entries, and whether the log has ended.
func lastRound(entries []*busv1.LogEntry) (round int32, ended bool) {
	for _, entry := range entries {
		round, ended = max(round, entry.GetClaim().GetRound()), entry.GetEnd() != nil
	}
	return round, ended
}
