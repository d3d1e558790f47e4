package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/executor"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// Observer receives the executed calls in the order of the answers, and the time at which execution
// began.
type Observer func(began time.Time, calls []*worldv1.Message, answers []executor.Answer)

// Batch is the messages that one speaker sends to the execution environment.
type Batch struct {
	// Index is the index of the first answer.
	Index int32
	// Calls are the messages. Without calls, the next event interrupts the conversation.
	Calls []*worldv1.Message
	// Now is the virtual time, required without calls. If nil, it follows from Index.
	Now *float64
	// Digest is the expected digest of the session before the batch. Empty disables the check.
	Digest []byte
	// Failing are the positions of calls that fail before their tools run.
	Failing []int32
}

// Execute executes calls at a message index exactly once; a repeated request gets the first
// response. Before it returns, it commits the outcome and publishes its table versions. observe may
// be nil. The error is ErrStateMismatch, and nothing was executed, if the session has another
// digest than the batch.
func (h *Host) Execute(ctx context.Context, id string, batch Batch, observe Observer) (*toolhostv1.ExecuteResponse, error) {
	if len(batch.Calls) > h.cfg.MaxCalls {
		return nil, fmt.Errorf("session %s: %w: %d calls at once, at most %d", id, ErrQuota, len(batch.Calls), h.cfg.MaxCalls)
	}
	defer h.lock(id)()
	state := h.load
	if len(batch.Digest) == 0 {
		state = func(id string) (*openSession, error) { return h.current(ctx, id) }
	}
	l, err := state(id)
	if err != nil {
		return nil, err
	}
	if batch.Index <= l.lastIndex {
		return h.committedResponse(ctx, id, l, batch)
	}
	if len(batch.Digest) > 0 && !bytes.Equal(batch.Digest, l.digest) {
		return nil, fmt.Errorf("session %s: %w: its digest is %.12x, expected %.12x", id, ErrStateMismatch, l.digest, batch.Digest)
	}
	next, outcome, snapshot, err := h.run(ctx, id, l, batch, observe)
	if err != nil {
		return nil, err
	}
	if err := h.commit(ctx, id, batch.Index, l, next, outcome, snapshot.GetTables()); err != nil {
		return nil, err
	}
	h.sessions.Add(id, next)
	return outcome.GetResponse(), h.publish(ctx, snapshot)
}

// run executes a batch in a session and returns what to commit.
func (h *Host) run(
	ctx context.Context, id string, l *openSession, batch Batch, observe Observer,
) (next *openSession, outcome *toolhostv1.OutcomeRecord, snapshot *busv1.Snapshot, err error) {
	start, index := time.Now(), batch.Index
	world, answers, serviceAnswers, err := h.perform(ctx, id, l, batch)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("session %s: %w", id, err)
	}
	if observe != nil && len(batch.Calls) > 0 {
		observe(start, batch.Calls, answers.calls)
	}
	snapshot = &busv1.Snapshot{SessionId: id}
	for _, table := range world.Tables() {
		if world.Written(table.Name) {
			snapshot.Tables = append(snapshot.Tables, session.Encode(table.Name, index, world.Rows(table.Name)))
		}
	}
	callsDigest, err := callsDigest(batch.Calls)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("session %s: %w", id, err)
	}
	next = l.afterExecution(index, &world, max(len(answers.calls), 1), snapshot.GetTables())
	outcome = &toolhostv1.OutcomeRecord{
		CallsDigest: callsDigest,
		Response:    respond(batch, answers, l, next),
		IdsDrawn:    world.IDCount(),
		Ended:       !world.Active(),
	}
	for _, table := range snapshot.GetTables() {
		outcome.Written = append(outcome.Written, table.GetName())
	}
	outcome.Response.ServiceAnswers = serviceAnswers
	if next.digest, err = digestAfter(l.digest, index, outcome); err != nil {
		return nil, nil, nil, fmt.Errorf("session %s: %w", id, err)
	}
	outcome.Response.SessionDigest = next.digest
	size := proto.Size(outcome) + proto.Size(snapshot) // measures both for their encoding
	if len(batch.Calls) == 0 {
		return next, outcome, snapshot, nil // nobody is to blame for an event
	}
	if err := h.withinQuota(l.setup, &world, batch.Calls, answers.calls, size); err != nil {
		return nil, nil, nil, fmt.Errorf("session %s: %w", id, err)
	}
	return next, outcome, snapshot, nil
}

// batchResult is the result of a batch: the answers to its calls, or the message of an event
// without calls.
type batchResult struct {
	calls []executor.Answer
	event *worldv1.Message
}

// perform executes the calls of a batch, or the next event, on a copy of the session's world.
// serviceAnswers are the answers of hosted services.
func (h *Host) perform(
	ctx context.Context, id string, l *openSession, batch Batch,
) (world session.World, answers batchResult, serviceAnswers []*toolhostv1.ServiceAnswer, err error) {
	before := l.world
	before.SetNow(l.setup.now(batch.Index - 1))
	if batch.Now != nil {
		before.SetNow(*batch.Now)
	}
	if len(batch.Calls) == 0 {
		world, answers.event, err = l.interrupt(before, batch.Index, *batch.Now)
		return world, answers, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cfg, recorder := h.sessionConfig(l, id, batch.Index, cancel)
	before.SetConfig(cfg)
	answers.calls, world, err = l.setup.environment.Run(ctx, before, batch.Calls, batch.Calls[0].GetSender(), batch.Failing...)
	if errors.Is(err, executor.ErrTooManyOrders) {
		err = fmt.Errorf("%w: %w", ErrQuota, err)
	}
	if err != nil {
		return session.World{}, batchResult{}, nil, err
	}
	world.SetConfig(l.world.Config())
	return world, answers, recorder.executionAnswers(), nil
}

// digestAfter returns the digest of a session after an execution. The response has no digest yet.
func digestAfter(before []byte, index int32, outcome *toolhostv1.OutcomeRecord) ([]byte, error) {
	raw := binary.BigEndian.AppendUint32(slices.Clone(before), uint32(index))
	raw = append(raw, outcome.GetCallsDigest()...)
	raw, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(raw, outcome.GetResponse())
	if err != nil {
		return nil, fmt.Errorf("digest of execution %d: %w", index, err)
	}
	sum := sha256.Sum256(raw)
	return sum[:], nil
}

// callsDigest returns the digest of a batch: the parts that determine execution and answers. It
// excludes conversation_active, which may only be known after the execution.
func callsDigest(calls []*worldv1.Message) ([]byte, error) {
	var raw []byte
	options := proto.MarshalOptions{Deterministic: true, UseCachedSize: true} // each body is measured first
	for _, call := range calls {
		body := &worldv1.Message{Sender: call.GetSender(), Body: call.GetBody()}
		raw = binary.AppendUvarint(raw, uint64(proto.Size(body)))
		var err error
		if raw, err = options.MarshalAppend(raw, body); err != nil {
			return nil, fmt.Errorf("digest of calls: %w", err)
		}
	}
	sum := sha256.Sum256(raw)
	return sum[:], nil
}

// afterExecution returns the session after an execution, without its digest.
func (s *openSession) afterExecution(index int32, world *session.World, answers int, written []*worldv1.Table) *openSession {
	next := *s
	next.written = time.Now()
	next.lastIndex = index + int32(answers) - 1
	next.newest, next.sizes = s.newest.withTables(s.setup.schema, written...), s.sizes.withTables(written...)
	next.world = *world
	next.world.EndExecution()
	return &next
}

// respond builds the response with the messages of the answers.
func respond(batch Batch, answers batchResult, before, after *openSession) *toolhostv1.ExecuteResponse {
	calls, index := batch.Calls, batch.Index
	response := &toolhostv1.ExecuteResponse{Versions: after.newest}
	after.setTimes(response, batch.Now)
	if answers.event != nil {
		response.Answers = []*worldv1.Message{answers.event}
	}
	if before.world.Active() && !after.world.Active() {
		deactivated := index - 1
		response.EndedAtIndex = &deactivated
	}
	for i, answer := range answers.calls {
		call := calls[answer.Call]
		result := &worldv1.ToolResult{Text: &answer.Content, Traces: answer.Traces}
		result.Id, result.Name = messagetext.Answering(call)
		if answer.Exception != "" {
			result.Exception = &answer.Exception
		}
		if answer.Failing { // answers of calls one of which raises are in the order of the calls
			response.Failing = append(response.Failing, int32(answer.Call))
		}
		response.Answers = append(response.Answers, &worldv1.Message{
			Index:              index + int32(i),
			Sender:             worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
			Recipient:          call.GetSender(),
			Body:               &worldv1.Message_Result{Result: result},
			ConversationActive: proto.Bool(after.world.Active()),
			VisibleTo:          []worldv1.Role{worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, call.GetSender()},
		})
	}
	return response
}

// commit stores an outcome and all state that follows from it.
func (h *Host) commit(ctx context.Context, id string, index int32, before, next *openSession, outcome *toolhostv1.OutcomeRecord, tables []*worldv1.Table) error {
	meta, err := proto.Marshal(next.record())
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	measured := proto.MarshalOptions{UseCachedSize: true} // run has measured outcome and tables
	stored, err := measured.Marshal(outcome)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	versions := make([]store.Version, len(tables))
	for i, table := range tables {
		data, err := measured.Marshal(table)
		if err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		versions[i] = store.Version{Table: next.setup.tableNumber(table.GetName()), Index: table.GetIndex(), Data: data}
	}
	err = h.store.Commit(ctx, id, store.Execution{
		Index: index, LastIndex: next.lastIndex, Meta: meta, Versions: versions, Outcome: stored, MayWait: time.Since(before.written) >= slowAgent,
	})
	if err != nil {
		// The cached state may be older than the stored one.
		h.sessions.Remove(id)
		return fmt.Errorf("session %s: %w", id, err)
	}
	return nil
}

// publish publishes new versions, if there are any.
func (h *Host) publish(ctx context.Context, snapshot *busv1.Snapshot) error {
	if len(snapshot.GetTables()) == 0 {
		return nil
	}
	if err := h.bus.PublishSnapshot(ctx, snapshot); err != nil {
		return fmt.Errorf("session %s: %w: %w", snapshot.GetSessionId(), ErrPublish, err)
	}
	return nil
}

// committedResponse returns the outcome of an earlier execution. It publishes the versions again,
// because the process that committed them may have died before.
func (h *Host) committedResponse(ctx context.Context, id string, l *openSession, batch Batch) (*toolhostv1.ExecuteResponse, error) {
	outcome, err := h.outcome(id, batch.Index)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("session %s: %w: nothing was executed at %d and the last message is %d", id, ErrIndex, batch.Index, l.lastIndex)
	}
	if err != nil {
		return nil, err
	}
	callsDigest, err := callsDigest(batch.Calls)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	if len(batch.Digest) > 0 {
		bare := &toolhostv1.OutcomeRecord{CallsDigest: callsDigest, Response: proto.CloneOf(outcome.GetResponse())}
		bare.Response.SessionDigest = nil
		digest, err := digestAfter(batch.Digest, batch.Index, bare)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(digest, outcome.GetResponse().GetSessionDigest()) {
			return nil, fmt.Errorf("session %s, index %d: %w: the calls or the history before them differ", id, batch.Index, ErrStateMismatch)
		}
	}
	if was := outcome.GetResponse().Now; batch.Now != nil && (was == nil || *was != *batch.Now) {
		return nil, fmt.Errorf("session %s, index %d: %w: its time differs", id, batch.Index, ErrStateMismatch)
	}
	if !bytes.Equal(outcome.GetCallsDigest(), callsDigest) {
		return nil, fmt.Errorf("session %s, index %d: %w", id, batch.Index, ErrConflict)
	}
	snapshot := &busv1.Snapshot{SessionId: id}
	if snapshot.Tables, err = h.written(id, l.setup, batch.Index, outcome); err != nil {
		return nil, err
	}
	return outcome.GetResponse(), h.publish(ctx, snapshot)
}

func (h *Host) written(id string, start *compiledSetup, index int32, outcome *toolhostv1.OutcomeRecord) ([]*worldv1.Table, error) {
	var tables []*worldv1.Table
	for _, name := range outcome.GetWritten() {
		data, at, ok, err := h.store.VersionAt(id, start.tableNumber(name), index)
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
		if !ok || at != index {
			return nil, fmt.Errorf("session %s: version %d of table %s is missing", id, index, name)
		}
		table := &worldv1.Table{}
		if err := proto.Unmarshal(data, table); err != nil {
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
		tables = append(tables, table)
	}
	return tables, nil
}

func (h *Host) outcome(id string, index int32) (*toolhostv1.OutcomeRecord, error) {
	raw, err := h.store.Outcome(id, index)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	outcome := &toolhostv1.OutcomeRecord{}
	if err := proto.Unmarshal(raw, outcome); err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return outcome, nil
}
