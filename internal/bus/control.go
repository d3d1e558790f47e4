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
	return b.UpdateControlIf(ctx, sweepID, change, nil)
}

// UpdateControlIf is UpdateControl for a change that has to fit to the control states of all
// sweeps. check gets the changed state before it is stored, and may refuse it by an error. If any
// sweep changes meanwhile, here or at another orchestrator, change and check are called again.
func (b Controls) UpdateControlIf(
	ctx context.Context, sweepID string, change func(*busv1.SweepControl) (changed bool), check func(*busv1.SweepControl) error,
) error {
	deleted := false
	err := b.updateControl(ctx, sweepID, func(control *busv1.SweepControl) bool {
		deleted = control.GetDeleted()
		return !deleted && change(control)
	}, check)
	if err == nil && deleted {
		err = fmt.Errorf("sweep %s: %w", sweepID, ErrDeleted)
	}
	return err
}

// updateControl is UpdateControlIf for deleted sweeps too. check may be nil.
func (b Controls) updateControl(
	ctx context.Context, sweepID string, change func(*busv1.SweepControl) (changed bool), check func(*busv1.SweepControl) error,
) error {
	for {
		again, err := b.tryControl(ctx, sweepID, change, check)
		if err != nil {
			return fmt.Errorf("store control of sweep %s: %w", sweepID, err)
		}
		if !again {
			return nil
		}
	}
}

// tryControl is one attempt of updateControl.
func (b Controls) tryControl(
	ctx context.Context, sweepID string, change func(*busv1.SweepControl) (changed bool), check func(*busv1.SweepControl) error,
) (again bool, err error) {
	var headers []header
	var last uint64
	if check != nil {
		if last, err = b.lastSweepChange(ctx); err != nil {
			return false, err
		}
		headers = []header{expectLastOfStream(last)}
	}
	control, revision, err := b.control(ctx, sweepID)
	if err != nil || !change(control) {
		return false, err
	}
	if check != nil {
		if err := check(control); err != nil {
			return false, err
		}
	}
	raw, err := proto.Marshal(control)
	if err != nil {
		return false, err
	}
	_, _, err = b.publish(ctx, sweepControlSubject(sweepID), raw, append(headers, expectLast(revision))...)
	if !isWrongSequence(err) {
		return false, err
	}
	if check != nil {
		if now, err := b.lastSweepChange(ctx); err != nil || now != last {
			return true, err
		}
	}
	_, err = b.conflicting(ctx, sweepStream, sweepControlSubject(sweepID))
	return true, err
}

// lastSweepChange returns the sequence of the last plan or control state that was stored.
func (b *store) lastSweepChange(ctx context.Context) (uint64, error) {
	info, err := b.info(ctx, sweepStream, "")
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
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

// Creation is what the creation of a round of a sweep sets.
type Creation struct {
	// Team owns the sweep, empty without teams. Rollouts is the number of rollouts of its plan. Both
	// count against the team's budgets.
	Team     string
	Rollouts int64
	// SpendLimit is nil for none.
	SpendLimit *agentgwv1.SpendLimit
	// Parallel is the number of concurrent rollouts per worker process, 0 for its own limit.
	Parallel int32
	Round    int32
}

// Apply changes a control state, and reports whether it did. It does nothing unless the round is
// later than that of the state. So a command line that creates its sweep again, because it has
// reconnected or jobs were lost, does not undo what was set since.
func (c Creation) Apply(control *busv1.SweepControl) (changed bool) {
	if control.LimitsRound != nil && c.Round <= control.GetLimitsRound() {
		return false
	}
	SetSpendLimit(control, c.SpendLimit)
	control.Team, control.Rollouts = c.Team, c.Rollouts
	control.Parallel, control.LimitsRound = c.Parallel, proto.Int32(c.Round)
	return true
}

// SetSpendLimit sets the spend limit of a sweep, nil for none, and lets its turns begin again.
func SetSpendLimit(control *busv1.SweepControl, limit *agentgwv1.SpendLimit) {
	control.EarlierLimit = LargestLimit(control)
	control.SpendLimit, control.Exhausted = limit, ""
}

// LargestLimit returns the largest spend limit that a sweep has had, part by part. It is nil
// without any. The sweep may have spent it, whatever its limit is now.
func LargestLimit(control *busv1.SweepControl) *agentgwv1.SpendLimit {
	var largest *agentgwv1.SpendLimit
	for _, limit := range []*agentgwv1.SpendLimit{control.GetEarlierLimit(), control.GetSpendLimit()} {
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
// what counts against budgets.
func (b Controls) BeginDeletion(ctx context.Context, sweepID string, check func(*busv1.SweepControl) bool) (deleted bool, err error) {
	err = b.updateControl(ctx, sweepID, func(control *busv1.SweepControl) bool {
		if deleted = control.GetDeleted(); deleted {
			return false
		}
		if deleted = check(control); !deleted {
			return false
		}
		team, rollouts, limit := control.GetTeam(), control.GetRollouts(), LargestLimit(control)
		proto.Reset(control)
		control.Deleted, control.Team, control.SpendLimit, control.Rollouts = true, team, limit, rollouts
		return true
	}, nil)
	return deleted, err
}

// VisitControls calls visit with the control state of each sweep that has one, also of deleted
// ones, in no particular order.
func (b Controls) VisitControls(ctx context.Context, visit func(sweepID string, control *busv1.SweepControl)) error {
	info, err := b.info(ctx, sweepStream, sweepControlSubject("*"))
	if err != nil {
		return fmt.Errorf("list sweeps: %w", err)
	}
	for subject := range info.State.Subjects {
		id := strings.Split(subject, ".")[1]
		control, err := b.Control(ctx, id)
		if err != nil {
			return err
		}
		visit(id, control)
	}
	return nil
}
