package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// maxShown bounds how much of an execution's outcome an error shows.
const maxShown = 400

// Creation is how a session is made.
type Creation struct {
	Origin   Origin
	Services toolhostv1.HostedServices
	// Replay says that the session asks nothing of the network but plays the Answers.
	Replay  bool
	Answers []*toolhostv1.ServiceAnswer
}

// Restore brings a session to where a log says that it stands, and announces all versions that its
// executions stored. It makes a session that is missing, takes back what the log does not know, and
// runs again what the session does not know, with the log's answers of hosted services. It returns
// how many executions ran again and how many were taken back. The error is ErrDiverged, with both
// outcomes, if one came out otherwise than the log says, and ErrElsewhere if the session would have
// to be taken back behind a fork.
func (h *Host) Restore(ctx context.Context, id string, made Creation, executions []*toolhostv1.Execution) (repeated, dropped int, err error) {
	start, err := h.startOf(ctx, made.Origin)
	if err != nil {
		return 0, 0, err
	}
	var recorded *recording
	if made.Replay {
		if recorded, err = newRecording(made.Origin, made.Answers); err != nil {
			return 0, 0, err
		}
	}
	defer h.lock(id)()
	if _, err := h.createLocked(ctx, id, start, made.Services, recorded); err != nil {
		return 0, 0, err
	}
	l, err := h.load(id)
	if err != nil {
		return 0, 0, err
	}
	known, last, err := h.common(id, executions)
	if err != nil {
		return 0, 0, err
	}
	if want := start.digestAt(executions[:known]); !bytes.Equal(l.digest, want) {
		if l, dropped, err = h.rewind(ctx, id, l, last, executions[:known]); err != nil {
			return 0, 0, err
		}
	}
	for _, execution := range executions[known:] {
		if l, err = h.rerun(ctx, id, l, execution); err != nil {
			return repeated, dropped, err
		}
		repeated++
	}
	return repeated, dropped, h.announceAll(ctx, id, start, executions)
}

// digestAt returns the digest of a session after executions.
func (s *compiledSetup) digestAt(executions []*toolhostv1.Execution) []byte {
	if len(executions) == 0 {
		return s.sum
	}
	return executions[len(executions)-1].GetOutcome().GetSessionDigest()
}

// common returns how many of the executions a session knows, and the outcome of the last of these.
func (h *Host) common(id string, executions []*toolhostv1.Execution) (known int, last *toolhostv1.OutcomeRecord, err error) {
	for _, execution := range executions {
		outcome, err := h.outcome(id, execution.GetIndex())
		if errors.Is(err, store.ErrNotFound) {
			return known, last, nil
		}
		if err != nil {
			return 0, nil, err
		}
		if !bytes.Equal(outcome.GetResponse().GetSessionDigest(), execution.GetOutcome().GetSessionDigest()) {
			return known, last, nil
		}
		known, last = known+1, outcome
	}
	return known, last, nil
}

// rewind takes a session back to where it stood after executions, of which last is the outcome of
// the last one.
func (h *Host) rewind(
	ctx context.Context, id string, l *openSession, last *toolhostv1.OutcomeRecord, executions []*toolhostv1.Execution,
) (back *openSession, dropped int, err error) {
	if l.forks > 0 {
		return nil, 0, fmt.Errorf("session %s: %w: it is ahead of its log, and %d sessions are forks of it: delete those first", id, ErrElsewhere, l.forks)
	}
	record := l.record()
	record.LastIndex, record.Digest = l.setup.lastIndex, l.setup.digestAt(executions)
	record.IdsDrawn, record.Ended = l.setup.world.Drawn(), !l.setup.world.Active()
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
		return nil, 0, fmt.Errorf("rewind: %w", err)
	}
	meta, err := proto.Marshal(record)
	if err != nil {
		return nil, 0, fmt.Errorf("rewind session %s: %w", id, err)
	}
	h.live.Remove(id)
	if err := h.store.Rewind(ctx, id, record.GetLastIndex(), meta); err != nil {
		return nil, 0, err
	}
	back, err = h.load(id)
	return back, dropped, err
}

// rerun executes again what a log says was executed, with the answers that hosted services gave
// then, and commits it if it comes out the same.
func (h *Host) rerun(ctx context.Context, id string, l *openSession, execution *toolhostv1.Execution) (*openSession, error) {
	index, want := execution.GetIndex(), execution.GetOutcome()
	if index <= l.lastIndex {
		return nil, fmt.Errorf("session %s: %w: execution %d stands before message %d", id, ErrIndex, index, l.lastIndex)
	}
	if err := h.seed(ctx, id, &recording{answers: want.GetServiceAnswers()}); err != nil {
		return nil, err
	}
	offline := *l
	offline.replay = true
	next, outcome, snapshot, err := h.run(ctx, id, &offline, Batch{Index: index, Calls: execution.GetCalls(), Now: want.Now}, nil)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(outcome.GetResponse().GetSessionDigest(), want.GetSessionDigest()) {
		return nil, fmt.Errorf("session %s: %w: execution %d: the log says %s, running it again gave %s",
			id, ErrDiverged, index, shown(want), shown(outcome.GetResponse()))
	}
	next.replay = l.replay
	if err := h.commit(ctx, id, index, next, outcome, snapshot.GetTables()); err != nil {
		return nil, err
	}
	h.live.Add(id, next)
	return next, nil
}

// shown is an outcome for people.
func shown(response *toolhostv1.ExecuteResponse) string {
	text := protojson.MarshalOptions{}.Format(response)
	if len(text) > maxShown {
		return fmt.Sprintf("%.*s… (%d bytes)", maxShown, text, len(text))
	}
	return text
}

// announceAll publishes every version that executions stored.
func (h *Host) announceAll(ctx context.Context, id string, start *compiledSetup, executions []*toolhostv1.Execution) error {
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
	return h.announce(ctx, snapshot)
}
