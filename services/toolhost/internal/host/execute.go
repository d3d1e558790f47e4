package host

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/execute"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
)

// Call is told about each executed call, in the order of the answers.
type Call func(message *worldv1.Message, answer execute.Answer)

// Execute runs calls at a message index, once: repeating it returns what was answered then. The outcome is committed and its
// table versions are announced before it returns. observe may be nil.
func (h *Host) Execute(ctx context.Context, id string, index int32, calls []*worldv1.Message, observe Call) (*toolhostv1.ExecuteResponse, error) {
	if len(calls) > h.cfg.MaxCalls {
		return nil, fmt.Errorf("session %s: %w: %d calls at once, at most %d", id, ErrQuota, len(calls), h.cfg.MaxCalls)
	}
	digest, err := digestOf(calls)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	defer h.lock(id)()
	l, err := h.load(ctx, id)
	if err != nil {
		return nil, err
	}
	if index <= l.record.GetLastIndex() {
		return h.repeat(ctx, id, index, digest, l.record)
	}
	answers, world, err := l.start.environment.Run(l.world, sources(calls), calls[0].GetSender() == worldv1.Role_ROLE_USER)
	if errors.Is(err, execute.ErrTooManyOrders) {
		return nil, fmt.Errorf("session %s: %w: %w", id, ErrQuota, err)
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	if err := h.withinQuota(id, &world); err != nil {
		return nil, err
	}
	if observe != nil {
		for _, answer := range answers {
			observe(calls[answer.Call], answer)
		}
	}
	next := l.advance(index, &world, len(answers))
	outcome := &toolhostv1.OutcomeRecord{
		CallsDigest: digest,
		Response:    respond(calls, answers, index, l, next),
		IdsDrawn:    world.Drawn(),
		Ended:       !world.Active(),
	}
	snapshot := &busv1.Snapshot{SessionId: id}
	for _, name := range session.Tables() {
		if world.Written(name) {
			outcome.Written = append(outcome.Written, name)
			snapshot.Tables = append(snapshot.Tables, session.Encode(name, index, world.Rows(name)))
		}
	}
	if err := h.commit(ctx, id, index, next.record, outcome, snapshot.GetTables()); err != nil {
		return nil, err
	}
	next.world.Settle()
	h.live.Add(id, next)
	return outcome.GetResponse(), h.announce(ctx, snapshot)
}

func sources(calls []*worldv1.Message) []string {
	texts := make([]string, len(calls))
	for i, call := range calls {
		texts[i] = call.GetContent()
	}
	return texts
}

func (h *Host) withinQuota(id string, world *session.World) error {
	rows := 0
	for _, name := range session.Tables() {
		rows += len(world.Rows(name))
	}
	if rows > h.cfg.MaxRows {
		return fmt.Errorf("session %s: %w: %d rows, at most %d", id, ErrQuota, rows, h.cfg.MaxRows)
	}
	return nil
}

// advance returns the session after an execution.
func (l *live) advance(index int32, world *session.World, answers int) *live {
	next := &live{record: proto.CloneOf(l.record), start: l.start, world: *world, versions: l.versions}
	next.record.IdsDrawn = world.Drawn()
	next.record.Ended = !world.Active()
	next.record.LastIndex = index + int32(answers) - 1
	for _, name := range session.Tables() {
		if world.Written(name) {
			if len(next.versions) == len(l.versions) {
				next.versions = maps.Clone(l.versions)
			}
			next.versions[name] = index
		}
	}
	return next
}

// respond makes the answers' messages.
func respond(calls []*worldv1.Message, answers []execute.Answer, index int32, before, after *live) *toolhostv1.ExecuteResponse {
	response := &toolhostv1.ExecuteResponse{Versions: pointers(after.versions)}
	if before.world.Active() && !after.world.Active() {
		deactivated := index - 1
		response.Deactivated = &deactivated
	}
	for i, answer := range answers {
		call := calls[answer.Call]
		message := &worldv1.Message{
			Index:              index + int32(i),
			Sender:             worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
			Recipient:          call.GetSender(),
			Content:            proto.String(answer.Content),
			ToolCallId:         call.ToolCallId,
			FunctionName:       call.FunctionName,
			ConversationActive: proto.Bool(after.world.Active()),
			VisibleTo:          []worldv1.Role{worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, call.GetSender()},
		}
		if answer.Exception != "" {
			message.Exception = proto.String(answer.Exception)
		}
		if answer.Trace != "" {
			message.ToolTrace = []string{answer.Trace}
		}
		response.Answers = append(response.Answers, message)
	}
	return response
}

// commit stores an outcome with everything that follows from it.
func (h *Host) commit(ctx context.Context, id string, index int32, record *toolhostv1.SessionRecord, outcome *toolhostv1.OutcomeRecord, tables []*worldv1.Table) error {
	meta, err := proto.Marshal(record)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	stored, err := proto.Marshal(outcome)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	versions := make([]store.Version, len(tables))
	for i, table := range tables {
		data, err := proto.Marshal(table)
		if err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
		versions[i] = store.Version{Table: uint8(table.GetName()), Index: table.GetIndex(), Data: data}
	}
	if err := h.store.Commit(ctx, id, index, meta, versions, stored, record.GetLastIndex()); err != nil {
		// What is in memory may be behind what is stored now.
		h.live.Remove(id)
		return fmt.Errorf("session %s: %w", id, err)
	}
	return nil
}

// announce publishes new versions, if there are any.
func (h *Host) announce(ctx context.Context, snapshot *busv1.Snapshot) error {
	if len(snapshot.GetTables()) == 0 {
		return nil
	}
	return h.publisher.PublishSnapshot(ctx, snapshot)
}

// repeat returns the outcome of an earlier execution. Its versions are announced again: the first announcement may have been
// lost with the process that committed them.
func (h *Host) repeat(ctx context.Context, id string, index int32, digest []byte, record *toolhostv1.SessionRecord) (*toolhostv1.ExecuteResponse, error) {
	outcome, err := h.outcome(id, index)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("session %s: %w: nothing was executed at %d and the last message is %d", id, ErrIndex, index, record.GetLastIndex())
	}
	if err != nil {
		return nil, err
	}
	if !equal(outcome.GetCallsDigest(), digest) {
		return nil, fmt.Errorf("session %s, index %d: %w", id, index, ErrConflict)
	}
	snapshot := &busv1.Snapshot{SessionId: id}
	for _, name := range outcome.GetWritten() {
		data, at, ok, err := h.store.Versions(id, uint8(name), index)
		if err != nil || !ok || at != index {
			return nil, fmt.Errorf("session %s: version %d of table %s is missing: %w", id, index, name, err)
		}
		table := &worldv1.Table{}
		if err := proto.Unmarshal(data, table); err != nil {
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
		snapshot.Tables = append(snapshot.Tables, table)
	}
	return outcome.GetResponse(), h.announce(ctx, snapshot)
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
