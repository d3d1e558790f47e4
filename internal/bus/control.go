package bus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

func sweepControlSubject(sweepID string) string { return "sweep." + sweepID + ".control" }

// Control returns the control state of a sweep. It returns the zero value for an unknown sweep.
func (b Controls) Control(ctx context.Context, sweepID string) (*busv1.SweepControl, error) {
	control, _, err := b.control(ctx, sweepID)
	if err != nil {
		return nil, fmt.Errorf("read control of sweep %s: %w", sweepID, err)
	}
	return control, nil
}

func (b ControlUpdates) control(ctx context.Context, sweepID string) (control *busv1.SweepControl, revision uint64, err error) {
	msg, revision, err := b.newestSealed(ctx, sweepStream, sweepControlSubject(sweepID))
	if errors.Is(err, ErrNotFound) {
		return &busv1.SweepControl{}, revision, nil
	}
	if err != nil {
		return nil, 0, err
	}
	control, err = decode[busv1.SweepControl](msg.Subject, msg.Data)
	return control, revision, err
}

// UpdateControl updates the control state of a sweep with optimistic concurrency. change modifies
// the stored state and reports whether it did. It is called again after a conflict, and after a
// lost acknowledgement with its own change. An unreadable state is removed, and change gets an
// empty one. The error is ErrDeleted if the sweep was deleted.
func (b Controls) UpdateControl(ctx context.Context, sweepID string, change func(*busv1.SweepControl) (changed bool)) error {
	deleted := false
	err := b.updateControl(ctx, sweepID, func(control *busv1.SweepControl) bool {
		deleted = control.GetDeleted()
		return !deleted && change(control)
	})
	if err == nil && deleted {
		err = fmt.Errorf("sweep %s: %w", sweepID, ErrDeleted)
	}
	return err
}

// updateControl is UpdateControl for deleted sweeps too.
func (b Controls) updateControl(ctx context.Context, sweepID string, change func(*busv1.SweepControl) (changed bool)) error {
	for {
		control, revision, err := b.control(ctx, sweepID)
		if err == nil && !change(control) {
			return nil
		}
		var raw []byte
		if err == nil {
			raw, err = proto.Marshal(control)
		}
		if err == nil {
			_, _, err = b.publish(ctx, sweepControlSubject(sweepID), raw, expectLast(revision))
		}
		if isWrongSequence(err) {
			if _, err = b.conflicting(ctx, sweepStream, sweepControlSubject(sweepID)); err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("store control of sweep %s: %w", sweepID, err)
		}
		return nil
	}
}

// WatchControl calls handle with the current control state of a sweep, or of all sweeps if sweepID
// is empty, and after each change, until ctx is done (then it returns nil). Sweeps without control
// state are omitted. Foreign documents change nothing, but one that comes to the one sweep
// meanwhile ends the watch with ErrForeign. handle must not change the state.
func (b ControlUpdates) WatchControl(ctx context.Context, sweepID string, handle func(sweepID string, control *busv1.SweepControl)) error {
	filter, stored := sweepControlSubject("*"), uint64(math.MaxUint64)
	if sweepID != "" {
		filter = sweepSubjects(sweepID)
		info, err := b.info(ctx, sweepStream, filter)
		if err != nil {
			return nilIfDone(ctx, fmt.Errorf("watch control of sweep %s: %w", sweepID, err))
		}
		stored = info.State.LastSeq
	}
	return b.followFrom(ctx, sweepStream, filter, jetstream.DeliverLastPerSubjectPolicy, func(msg jetstream.Msg) error {
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		data := decompressedData(msg.Headers(), msg.Data())
		foreign := checkSeal(msg.Headers(), msg.Subject(), meta.Sequence.Stream, data)
		if foreign != nil && meta.Sequence.Stream > stored {
			return foreign
		}
		id := strings.Split(msg.Subject(), ".")[1]
		if msg.Subject() != sweepControlSubject(id) {
			return nil
		}
		control, err := decode[busv1.SweepControl](msg.Subject(), data)
		if foreign != nil {
			control, _, err = b.control(ctx, id)
		}
		if err == nil { // an undecodable state counts as missing
			handle(id, control)
		}
		return nil
	})
}

// Configure stores the limits of a sweep as the creation of one of its rounds gives them: the spend
// limit, nil for none, and the concurrent rollouts per worker process, 0 for its own limit. It does
// nothing unless the round is later than that of the stored limits. So a command line that creates
// its sweep again, because it has reconnected or jobs were lost, does not undo what was set since.
func (b Controls) Configure(ctx context.Context, sweepID string, limit *agentgwv1.SpendLimit, parallel, round int32) error {
	return b.UpdateControl(ctx, sweepID, func(control *busv1.SweepControl) bool {
		if control.LimitsRound != nil && round <= control.GetLimitsRound() {
			return false
		}
		SetSpendLimit(control, limit)
		control.Parallel, control.LimitsRound = parallel, proto.Int32(round)
		return true
	})
}

// SetSpendLimit sets the spend limit of a sweep, nil for none, and lets its turns begin again.
func SetSpendLimit(control *busv1.SweepControl, limit *agentgwv1.SpendLimit) {
	control.EarlierLimit = LargestLimit(control, nil)
	control.SpendLimit, control.Exhausted = limit, ""
}

// LargestLimit returns the largest spend limit that a sweep has had, or gets by another one, part
// by part. It is nil without any. The sweep may have spent it, whatever its limit is now.
func LargestLimit(control *busv1.SweepControl, another *agentgwv1.SpendLimit) *agentgwv1.SpendLimit {
	var largest *agentgwv1.SpendLimit
	for _, limit := range []*agentgwv1.SpendLimit{control.GetEarlierLimit(), control.GetSpendLimit(), another} {
		if limit != nil {
			largest = &agentgwv1.SpendLimit{
				Tokens: max(largest.GetTokens(), limit.GetTokens()), CostMicros: max(largest.GetCostMicros(), limit.GetCostMicros()),
			}
		}
	}
	return largest
}

// CancelSweep cancels the rounds of a sweep up to the given one, and ends a pause. It is
// idempotent.
func (b Controls) CancelSweep(ctx context.Context, sweepID string, round int32) error {
	return b.UpdateControl(ctx, sweepID, func(control *busv1.SweepControl) bool {
		if Cancelled(control, round) && !control.GetPaused() {
			return false
		}
		control.CancelledRound, control.Paused = proto.Int32(max(round, control.GetCancelledRound())), false
		return true
	})
}

// Cancelled reports whether a round of a sweep is cancelled.
func Cancelled(control *busv1.SweepControl, round int32) bool {
	return control != nil && control.CancelledRound != nil && round <= control.GetCancelledRound()
}

// BeginDeletion marks a sweep as deleted, so that nobody uses its id again. check reports whether
// its state still admits that. Of a sweep that is marked already it reports true. The state keeps
// what counts against budgets: the team, the largest spend limit, and the rollouts of the plan.
func (b Controls) BeginDeletion(
	ctx context.Context, sweepID, team string, rollouts int64, check func(*busv1.SweepControl) bool,
) (deleted bool, err error) {
	err = b.updateControl(ctx, sweepID, func(control *busv1.SweepControl) bool {
		if deleted = control.GetDeleted(); deleted {
			return false
		}
		if deleted = check(control); !deleted {
			return false
		}
		limit := LargestLimit(control, nil)
		proto.Reset(control)
		control.Deleted, control.Team, control.SpendLimit, control.Rollouts = true, team, limit, rollouts
		return true
	})
	return deleted, err
}

// Deleted returns the control states of the deleted sweeps, without those that are being deleted.
func (b Controls) Deleted(ctx context.Context) ([]*busv1.SweepControl, error) {
	info, err := b.info(ctx, sweepStream, "sweep.>")
	if err != nil {
		return nil, fmt.Errorf("list deleted sweeps: %w", err)
	}
	var deleted []*busv1.SweepControl
	for subject := range info.State.Subjects {
		id := strings.Split(subject, ".")[1]
		if subject != sweepControlSubject(id) || info.State.Subjects[sweepPlanSubject(id)] > 0 {
			continue
		}
		control, err := b.Control(ctx, id)
		if err != nil {
			return nil, err
		}
		if control.GetDeleted() {
			deleted = append(deleted, control)
		}
	}
	return deleted, nil
}
