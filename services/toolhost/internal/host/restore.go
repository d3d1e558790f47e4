package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// maxShown is the maximum length of an outcome in an error, in characters.
const maxShown = 400

// Restore brings a session to the state of a log and publishes all versions that its executions
// stored. It creates a missing session, rolls back executions that the log lacks, and repeats
// executions that the session lacks, with the log's answers of hosted services. It returns the
// numbers of repeated and of dropped executions. The error is ErrDiverged, with both outcomes, if a
// repeated execution has another outcome than the log. It is ErrStateMismatch if the rollback would
// pass a fork.
func (h *Host) Restore(ctx context.Context, id string, creation Creation, executions []*toolhostv1.Execution) (repeated, dropped int, err error) {
	start, err := h.setupFor(ctx, creation.Origin)
	if err != nil {
		return 0, 0, err
	}
	defer h.lock(id)()
	if _, err := h.createLocked(ctx, id, start, creation); err != nil {
		return 0, 0, err
	}
	l, err := h.load(id)
	if err != nil {
		return 0, 0, err
	}
	if _, repeated, dropped, err = h.follow(ctx, id, l, executions); err != nil {
		return repeated, dropped, err
	}
	return repeated, dropped, h.publishAll(ctx, id, start, executions)
}

// current returns the state of a session that is not behind its rollout's log, for a call that does
// not name the state that it expects. The copy of this host may be old or missing, because another
// host owned the session meanwhile. A session without a log, such as a fork, has one copy. A log
// that cannot be read says nothing.
func (h *Host) current(ctx context.Context, id string) (*openSession, error) {
	l, err := h.load(id)
	missing := errors.Is(err, ErrNotFound)
	if err != nil && (!missing || h.isDeleted(id)) || err == nil && l.parent != "" {
		return l, err
	}
	log, logErr := h.bus.ReadLog(ctx, id)
	if errors.Is(logErr, bus.ErrDamaged) || logErr == nil && len(log.Entries) == 0 {
		return l, err
	}
	if logErr != nil {
		return nil, fmt.Errorf("session %s: %w", id, logErr)
	}
	if missing {
		rollout := log.Entries[0].GetStart().GetRollout()
		if rollout.GetReplay() || rollout.GetFork() != nil { // the answers that are given to it are not in its log
			return nil, err
		}
		if l, err = h.begin(ctx, id, Creation{Origin: SetupRef{Digest: rollout.GetSetupDigest()}, Services: rollout.GetHostedServices()}); err != nil {
			return nil, err
		}
	}
	executions := bus.Executions(log.Entries)
	if common, _, err := h.commonExecutions(id, executions); err != nil || common == len(executions) {
		return l, err
	}
	l, _, _, err = h.follow(ctx, id, l, executions)
	return l, err
}

// begin creates a session that is missing.
func (h *Host) begin(ctx context.Context, id string, creation Creation) (*openSession, error) {
	start, err := h.setupFor(ctx, creation.Origin)
	if err != nil {
		return nil, err
	}
	if _, err := h.createLocked(ctx, id, start, creation); err != nil {
		return nil, err
	}
	return h.load(id)
}

// follow brings a session to its state after executions: it drops others and repeats missing ones.
func (h *Host) follow(
	ctx context.Context, id string, l *openSession, executions []*toolhostv1.Execution,
) (session *openSession, repeated, dropped int, err error) {
	common, last, err := h.commonExecutions(id, executions)
	if err != nil {
		return nil, 0, 0, err
	}
	if want := l.setup.digestAt(executions[:common]); !bytes.Equal(l.digest, want) {
		if l, dropped, err = h.rollBack(ctx, id, l, last, executions[:common]); err != nil {
			return nil, 0, 0, err
		}
	}
	for _, execution := range executions[common:] {
		if l, err = h.repeatExecution(ctx, id, l, execution); err != nil {
			return nil, repeated, dropped, err
		}
		repeated++
	}
	return l, repeated, dropped, nil
}

// digestAt returns the digest of a session after executions.
func (s *compiledSetup) digestAt(executions []*toolhostv1.Execution) []byte {
	if len(executions) == 0 {
		return s.sum
	}
	return executions[len(executions)-1].GetOutcome().GetSessionDigest()
}

// commonExecutions returns the number of leading executions that a session has, and the outcome of
// the last of these.
func (h *Host) commonExecutions(id string, executions []*toolhostv1.Execution) (common int, last *toolhostv1.OutcomeRecord, err error) {
	for _, execution := range executions {
		outcome, err := h.outcome(id, execution.GetIndex())
		if errors.Is(err, store.ErrNotFound) {
			return common, last, nil
		}
		if err != nil {
			return 0, nil, err
		}
		if !bytes.Equal(outcome.GetResponse().GetSessionDigest(), execution.GetOutcome().GetSessionDigest()) {
			return common, last, nil
		}
		common, last = common+1, outcome
	}
	return common, last, nil
}

// rollBack rolls a session back to its state after executions. last is the outcome of the last of
// them.
func (h *Host) rollBack(
	ctx context.Context, id string, l *openSession, last *toolhostv1.OutcomeRecord, executions []*toolhostv1.Execution,
) (session *openSession, dropped int, err error) {
	if l.forks > 0 {
		return nil, 0, fmt.Errorf("session %s: %w: it is ahead of its log and has %d forks: delete those first", id, ErrStateMismatch, l.forks)
	}
	record := l.record()
	record.LastIndex, record.Digest = l.setup.lastIndex, l.setup.digestAt(executions)
	record.IdsDrawn, record.Ended = l.setup.world.IDCount(), !l.setup.world.Active()
	if n := len(executions); n > 0 {
		execution := executions[n-1]
		record.LastIndex = execution.GetIndex() + int32(len(execution.GetOutcome().GetAnswers())) - 1
		record.IdsDrawn, record.Ended = last.GetIdsDrawn(), last.GetEnded()
	}
	err = h.store.Outcomes(id, func(index int32, _ []byte) error {
		if index > record.GetLastIndex() {
			dropped++
		}
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("roll back: %w", err)
	}
	meta, err := proto.Marshal(record)
	if err != nil {
		return nil, 0, fmt.Errorf("roll back session %s: %w", id, err)
	}
	h.sessions.Remove(id)
	if err := h.store.RollBack(ctx, id, record.GetLastIndex(), meta); err != nil {
		return nil, 0, err
	}
	session, err = h.load(id)
	return session, dropped, err
}

// repeatExecution repeats an execution of a log with the recorded answers of hosted services. It
// commits the outcome if that is the same.
func (h *Host) repeatExecution(ctx context.Context, id string, l *openSession, execution *toolhostv1.Execution) (*openSession, error) {
	index, want := execution.GetIndex(), execution.GetOutcome()
	if index <= l.lastIndex {
		return nil, fmt.Errorf("session %s: %w: execution %d is before message %d", id, ErrIndex, index, l.lastIndex)
	}
	if err := h.storeAnswers(ctx, id, want.GetServiceAnswers()); err != nil {
		return nil, err
	}
	offline := *l
	offline.replay = true
	next, outcome, snapshot, err := h.run(ctx, id, &offline, Batch{Index: index, Calls: execution.GetCalls(), Now: want.Now, Failing: want.GetFailing()}, nil)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(outcome.GetResponse().GetSessionDigest(), want.GetSessionDigest()) {
		return nil, fmt.Errorf("session %s: %w: execution %d: the log has %s, the repeated execution %s",
			id, ErrDiverged, index, outcomeText(want), outcomeText(outcome.GetResponse()))
	}
	next.replay = l.replay
	if err := h.commit(ctx, id, index, l, next, outcome, snapshot.GetTables()); err != nil {
		return nil, err
	}
	h.sessions.Add(id, next)
	return next, nil
}

// outcomeText returns an outcome as text for an error.
func outcomeText(response *toolhostv1.ExecuteResponse) string {
	text := protojson.MarshalOptions{}.Format(response)
	if len(text) > maxShown {
		return fmt.Sprintf("%.*s… (%d bytes)", maxShown, text, len(text))
	}
	return text
}

// publishAll publishes every version that executions stored.
func (h *Host) publishAll(ctx context.Context, id string, start *compiledSetup, executions []*toolhostv1.Execution) error {
	snapshot := &busv1.Snapshot{SessionId: id}
	for _, execution := range executions {
		outcome, err := h.outcome(id, execution.GetIndex())
		if err != nil {
			return err
		}
		var tables []*worldv1.Table
		if tables, err = h.written(id, start, execution.GetIndex(), outcome); err != nil {
			return err
		}
		snapshot.Tables = append(snapshot.Tables, tables...)
	}
	return h.publish(ctx, snapshot)
}
