package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// errWrittenOff: a rollout that cannot be played has its result.
var errWrittenOff = errors.New("the rollout cannot be played")

// lostAttempts is how often it is tried to read what seems to be lost.
const lostAttempts = 3

// lost reports whether playing a rollout failed because of what is stored: its setup or its log may
// be damaged or have expired. Mostly that is for good, but a server that is behind the others says
// so too.
func lost(err error) bool {
	return errors.Is(err, rollout.ErrLog) || errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrDamaged)
}

// failExpired ends a rollout of which too little is stored to play it: in its log, so that nobody
// else goes on, and with a result of its own, for an evaluator that cannot read the log either
// never makes one. It returns errWrittenOff, errPlayedAgain, bus.ErrFenced if another worker owns
// the rollout, or why it should be tried again.
func (w *Worker) failExpired(ctx context.Context, delivery *bus.Delivery, cause error) error {
	id := delivery.Rollout.GetId()
	_, err := w.peers.Bus.RoundResult(ctx, id, delivery.Round)
	switch {
	case err == nil:
		return errWrittenOff
	case !errors.Is(err, bus.ErrNotFound):
		return err
	}
	log, err := w.peers.Bus.ReadLog(ctx, id)
	if err != nil && !errors.Is(err, bus.ErrDamaged) {
		return err
	}
	round, ended := reached(log.Entries)
	if round > delivery.Round {
		return errPlayedAgain
	}
	end := infrastructure(fmt.Errorf("too little is stored of the rollout to play it on: %w", cause))
	if over := ended && round == delivery.Round; log.End.Sequence > 0 && !over {
		claim := &busv1.Claim{Worker: w.cfg.Name, Round: delivery.Round}
		if _, err := w.peers.Bus.Append(ctx, id, &busv1.LogEntry{Claim: claim, End: end}, log.End); err != nil {
			return err
		}
	}
	result := &busv1.Result{Rollout: delivery.Rollout, Round: delivery.Round, End: end}
	if _, err := w.peers.Bus.PublishResult(ctx, result); err != nil {
		return err
	}
	w.peers.Logger.Error("rollout given up", "rollout", id, "reason", end.GetDetail())
	return errWrittenOff
}

// reached returns the round that a log is in, as far as its entries say, and whether it has ended
// there.
func reached(entries []*busv1.LogEntry) (round int32, ended bool) {
	for _, entry := range entries {
		round, ended = max(round, entry.GetClaim().GetRound()), entry.GetEnd() != nil
	}
	return round, ended
}
