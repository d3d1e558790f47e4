package orchestrator

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// retentionName is the name whose owner among the orchestrators removes old sweeps.
const retentionName = "retention"

// removalTimeout bounds the removal of one sweep. The next pass continues it.
const removalTimeout = 5 * time.Minute

// errYoung: a sweep ended within the retention.
var errYoung = errors.New("the sweep ended within the retention")

// retain deletes sweeps that ended longer ago than the retention of the streams, until ctx is done.
// One orchestrator does it, the owner of retentionName. Two of them at once do no harm, because
// each step of a deletion may be repeated. One that dies in a deletion leaves its mark, at which
// the next pass continues.
func (s *server) retain(ctx context.Context, replicas *bus.Replicas) {
	s.bus.Retain(ctx, func(ctx context.Context, before time.Time) error {
		if owner, _ := replicas.Owner(retentionName); owner != replicas.Name() {
			return nil
		}
		return s.removeOlder(ctx, before)
	}, func(err error) { s.logger.Warn("old sweeps stay until the next attempt", "error", err) })
}

// removeOlder deletes the sweeps that ended before a time, and the reservations of sweeps that
// never came, and completes interrupted deletions. It also removes the marks of what was deleted
// before it, with what came late. A sweep that cannot be removed does not stop it.
func (s *server) removeOlder(ctx context.Context, before time.Time) error {
	sweeps, err := s.bus.StoredSweeps(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, sweep := range sweeps {
		if ctx.Err() != nil {
			return nil
		}
		switch removed, err := s.removeIfOlder(ctx, sweep, before); {
		case errors.Is(err, errOpen), errors.Is(err, errEnding), errors.Is(err, errYoung): // it stays
		case err != nil:
			errs = append(errs, err)
		case removed:
			s.logger.Info("sweep removed, since it ended longer ago than the retention", "sweep", sweep.ID)
		}
	}
	return errors.Join(errs...)
}

func (s *server) removeIfOlder(ctx context.Context, sweep bus.StoredSweep, before time.Time) (removed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	control, err := s.bus.Control(ctx, sweep.ID)
	if err != nil {
		return false, err
	}
	if !sweep.Planned && !control.GetDeleted() && (control.LimitsRound != nil || proto.Size(control) == 0) {
		return false, nil // its plan is lost, and its creation stores that again, or it was removed just now
	}
	checkAge := func() error {
		old, err := s.bus.IsOlder(ctx, sweep.ID, before)
		if err == nil && !old {
			err = errYoung
		}
		return err
	}
	if sweep.Planned && !control.GetDeleted() {
		err = s.deleteSweep(ctx, sweep.ID, checkAge)
		return err == nil, err
	}
	if !sweep.Planned {
		if err := checkAge(); err != nil {
			return false, err
		}
	}
	reserved := !control.GetDeleted()
	if reserved { // for a sweep that never came, unless it comes now
		deleted, err := s.bus.BeginDeletion(ctx, sweep.ID, func(now *busv1.SweepControl) bool { return proto.Equal(now, control) })
		if err != nil || !deleted {
			return false, err
		}
	}
	if err = s.completeDeletion(ctx, sweep.ID); err == nil && !sweep.Planned && !reserved {
		err = s.bus.RemoveControl(ctx, sweep.ID)
	}
	return false, err
}
