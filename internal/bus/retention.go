package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolsandbox/toolsandbox/internal/pause"
)

// retentionKey is the key of the retention in the metadata of each stream.
const retentionKey = "toolsandbox-retention"

const (
	// passes is the number of passes of Retain within a retention.
	passes = 10
	// shortestPass and longestPass bound the time between two passes.
	shortestPass, longestPass = 100 * time.Millisecond, time.Hour
	// minRetention is the shortest retention that passes can keep.
	minRetention = passes * shortestPass
	// earlyPass bounds the time before the first pass, and before that after an error.
	earlyPass = time.Minute
)

// Retain calls remove at intervals, until ctx is done, with a time: sweeps that ended before are to
// be removed. Then it removes the documents that only they could need. The time is by the clock of
// NATS. Without a retention it removes nothing. Changes of the retention count from the next pass
// on. It calls onError with an error of a pass; the next one repeats what is left. Several
// processes may call it at once.
func (b Sweeps) Retain(ctx context.Context, remove func(ctx context.Context, before time.Time) error, onError func(error)) {
	b.retain(ctx, setupStream, remove, onError)
}

// Retain removes the evaluations that no sweep needs, as the method of Sweeps does setups and tool
// lists.
func (b Evaluations) Retain(ctx context.Context, onError func(error)) {
	b.documents.retain(ctx, evaluationStream, func(context.Context, time.Time) error { return nil }, onError)
}

func (b *store) retain(ctx context.Context, documents string, remove func(ctx context.Context, before time.Time) error, onError func(error)) {
	for first := true; ; first = false {
		now, err := b.readRetention(ctx)
		retention := time.Duration(b.retention.Load())
		if err == nil && retention > 0 && !first {
			if err = remove(ctx, now.Add(-retention)); err == nil {
				err = b.removeDocuments(ctx, documents, now, retention)
			}
		}
		delay := longestPass
		if retention > 0 {
			delay = min(max(retention/passes, shortestPass), longestPass)
		}
		if err != nil && retention > 0 && ctx.Err() == nil {
			onError(fmt.Errorf("remove what is older than the retention: %w", err))
		}
		if first || err != nil {
			delay = min(delay, earlyPass)
		}
		if !pause.For(ctx, delay) {
			return
		}
	}
}

// readRetention updates the retention of the store, and returns the time of NATS.
func (b *store) readRetention(ctx context.Context) (now time.Time, err error) {
	err = attempt(ctx, setupStream, func(ctx context.Context) error {
		info, err := b.streams[setupStream].Info(ctx)
		if err == nil {
			now, err = info.TimeStamp, b.setRetention(info)
		}
		return err
	})
	return now, err
}

func (b *store) setRetention(made *jetstream.StreamInfo) error {
	retention, err := time.ParseDuration(made.Config.Metadata[retentionKey])
	if err != nil {
		return fmt.Errorf("stream %s was not made by toolsandbox bus init: its metadata has no %s", made.Config.Name, retentionKey)
	}
	b.retention.Store(int64(retention))
	return nil
}

// removeDocuments removes the documents that no stored sweep can need: those that were a retention
// old when the oldest of these sweeps was created. A document that a new sweep needs is at most
// half a retention old, because its creation stores older ones again.
func (b *store) removeDocuments(ctx context.Context, stream string, now time.Time, retention time.Duration) error {
	oldest, err := b.nextMessage(ctx, sweepStream, sweepPlanSubject("*"), 1)
	switch {
	case err == nil && oldest.Time.Before(now):
		now = oldest.Time
	case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
		return fmt.Errorf("look for the oldest sweep: %w", err)
	}
	for before := now.Add(-retention); ; {
		err := attempt(ctx, stream, func(ctx context.Context) error {
			info, err := b.streams[stream].Info(ctx)
			if err == nil && (info.State.Msgs == 0 || !info.State.FirstTime.Before(before)) {
				err = errNoMore
			}
			if err == nil {
				err = b.streams[stream].Purge(ctx, jetstream.WithPurgeSequence(info.State.FirstSeq+1))
			}
			return err
		})
		if errors.Is(err, errNoMore) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("remove old documents: %w", err)
		}
	}
}

// errNoMore means that a stream has no message that is older than a time.
var errNoMore = errors.New("no older message")

// StoredSweep is a sweep of which the bus has a document.
type StoredSweep struct {
	ID string
	// Planned reports whether it has a plan. A sweep without one is deleted, or not created yet.
	Planned bool
}

// StoredSweeps returns the sweeps with a plan or a control state, in no particular order.
func (b Sweeps) StoredSweeps(ctx context.Context) ([]StoredSweep, error) {
	info, err := b.info(ctx, sweepStream, sweepSubjects("*"))
	if err != nil {
		return nil, fmt.Errorf("list sweeps: %w", err)
	}
	var sweeps []StoredSweep
	for subject := range info.State.Subjects {
		id := strings.Split(subject, ".")[1]
		planned := info.State.Subjects[sweepPlanSubject(id)] > 0
		if subject == sweepPlanSubject(id) || !planned && subject == sweepControlSubject(id) {
			sweeps = append(sweeps, StoredSweep{ID: id, Planned: planned})
		}
	}
	return sweeps, nil
}

// IsOlder reports whether the plan, the control state and all results of a sweep were stored before
// a time.
func (b Sweeps) IsOlder(ctx context.Context, sweepID string, before time.Time) (bool, error) {
	for subject, stream := range map[string]string{sweepSubjects(sweepID): sweepStream, sweepResultSubject(sweepID): resultStream} {
		newest, err := b.lastMessage(ctx, stream, subject)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, fmt.Errorf("read the age of sweep %s: %w", sweepID, err)
		}
		if err == nil && !newest.Time.Before(before) {
			return false, nil
		}
	}
	return true, nil
}
