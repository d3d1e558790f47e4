package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// Fork creates a session that shares another session's history up to a message. It is idempotent.
// It publishes the shared versions as the new session's. With replay the new session makes no
// network requests.
func (h *Host) Fork(ctx context.Context, id string, index int32, newID string, replay bool) (*toolhostv1.Session, error) {
	defer h.lock(id, newID)()
	l, err := h.current(ctx, id)
	if err != nil {
		return nil, err
	}
	if index > l.lastIndex || index < l.setup.lastIndex {
		return nil, fmt.Errorf("session %s: %w: it can be forked from message %d to %d, not at %d", id, ErrIndex, l.setup.lastIndex, l.lastIndex, index)
	}
	record, err := h.record(newID)
	switch {
	case errors.Is(err, ErrNotFound):
		if record, err = h.fork(ctx, id, l, index, newID, replay); err != nil {
			return nil, fmt.Errorf("fork session %s: %w", id, err)
		}
	case err != nil:
		return nil, err
	case record.GetParentId() != id || record.GetForkedAt() != index || record.GetReplay() != (l.replay || replay) || record.GetDeleted():
		return nil, fmt.Errorf("session %s: %w", newID, ErrExists)
	}
	snapshot := &busv1.Snapshot{SessionId: newID}
	err = h.history(id, &toolhostv1.SessionRecord{LastIndex: index, ParentId: l.parent, ForkedAt: l.forkedAt}, func(table *worldv1.Table) {
		snapshot.Tables = append(snapshot.Tables, table)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(snapshot.Tables, l.setup.schema.Compare)
	return describe(newID, record), h.publish(ctx, snapshot)
}

// fork stores a new session.
func (h *Host) fork(ctx context.Context, id string, l *openSession, index int32, newID string, replay bool) (*toolhostv1.SessionRecord, error) {
	record := &toolhostv1.SessionRecord{
		SetupName:      l.setup.name,
		SetupDigest:    l.setup.digest,
		LastIndex:      index,
		ParentId:       id,
		ForkedAt:       index,
		Ended:          !l.setup.world.Active(),
		HostedServices: l.services,
		Replay:         l.replay || replay,
	}
	parent := l.record()
	record.Digest = l.setup.sum
	if err := h.stateAt(id, parent, index, record); err != nil {
		return nil, err
	}
	// Count the fork first: a count that is too high only keeps the parent longer, a count that is too
	// low would lose history.
	parent.Forks++
	if err := h.update(ctx, id, parent); err != nil {
		return nil, err
	}
	meta, err := proto.Marshal(record)
	if err != nil {
		return nil, err
	}
	return record, h.store.Create(ctx, newID, meta, index)
}

// stateAt sets the fields of a record to the state after the last execution up to index.
func (h *Host) stateAt(id string, record *toolhostv1.SessionRecord, index int32, into *toolhostv1.SessionRecord) error {
	return h.lineage(id, record, index, func(id string, until int32) (more bool, err error) {
		more = true
		err = h.store.Outcomes(id, func(at int32, raw []byte) error {
			if at > until {
				return nil
			}
			outcome := &toolhostv1.OutcomeRecord{}
			if err := proto.Unmarshal(raw, outcome); err != nil {
				return err
			}
			more, into.IdsDrawn, into.Ended = false, outcome.GetIdsDrawn(), outcome.GetEnded()
			into.Digest = outcome.GetResponse().GetSessionDigest()
			return nil
		})
		if err != nil {
			err = fmt.Errorf("session %s: %w", id, err)
		}
		return more, err
	})
}

// update stores a changed record.
func (h *Host) update(ctx context.Context, id string, record *toolhostv1.SessionRecord) error {
	meta, err := proto.Marshal(record)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	h.sessions.Remove(id)
	if err := h.store.Update(ctx, id, meta); err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	return nil
}

// Delete removes a session, which is not made again from its log by a read. The part of its history
// that forks share stays until they are deleted. Deleting a missing session succeeds.
func (h *Host) Delete(ctx context.Context, id string) error {
	if err := h.markDeleted(ctx, id); err != nil {
		return err
	}
	for id != "" {
		parent, err := h.deleteOne(ctx, id)
		if err == nil && parent != "" {
			parent, err = h.releaseParent(ctx, parent)
		}
		if err != nil {
			return err
		}
		id = parent
	}
	return nil
}

// deleteBatch is the number of sessions that DeleteAll deletes at once.
const deleteBatch = 256

// DeleteAll deletes the sessions whose ids begin with a prefix, and returns their number.
func (h *Host) DeleteAll(ctx context.Context, prefix string) (deleted int, err error) {
	for after := ""; ; {
		sessions, more, err := h.List(prefix, after, deleteBatch)
		if err != nil {
			return deleted, err
		}
		if len(sessions) == 0 {
			return deleted, nil
		}
		after = sessions[len(sessions)-1].GetId()
		group, ctx := errgroup.WithContext(ctx) // deletions that come together share a commit
		for _, session := range sessions {
			group.Go(func() error { return h.Delete(ctx, session.GetId()) })
		}
		if err := group.Wait(); err != nil {
			return deleted, err
		}
		if deleted += len(sessions); !more {
			return deleted, nil
		}
	}
}

// deleteOne deletes a session, or marks it as deleted while it has forks. It returns the parent of
// a deleted one.
func (h *Host) deleteOne(ctx context.Context, id string) (parent string, err error) {
	defer h.lock(id)()
	record, err := h.record(id)
	switch {
	case errors.Is(err, ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case record.GetForks() > 0:
		record.Deleted = true
		return "", h.update(ctx, id, record)
	}
	h.sessions.Remove(id)
	return record.GetParentId(), h.store.Delete(ctx, id)
}

// releaseParent decrements the parent's number of forks. It returns the parent's id if nothing
// needs it.
func (h *Host) releaseParent(ctx context.Context, id string) (string, error) {
	defer h.lock(id)()
	record, err := h.record(id)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	record.Forks = max(record.GetForks()-1, 0)
	if err := h.update(ctx, id, record); err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	if record.GetDeleted() && record.GetForks() == 0 {
		return id, nil
	}
	return "", nil
}

// markDeleted remembers that a rollout's session was deleted. Other sessions have no log.
func (h *Host) markDeleted(ctx context.Context, id string) error {
	log, err := h.bus.ReadLog(ctx, id)
	if errors.Is(err, bus.ErrDamaged) || err == nil && len(log.Entries) == 0 {
		return nil
	}
	if err == nil {
		err = h.store.Create(ctx, deletedPrefix+id, nil, 0)
	}
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	return nil
}

// isDeleted reports whether a session that cannot be loaded was deleted.
func (h *Host) isDeleted(id string) bool {
	_, marked := h.store.Load(deletedPrefix + id)
	_, shared := h.record(id)
	return marked == nil || shared == nil
}
