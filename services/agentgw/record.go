package agentgw

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// exceptionRecord is the type of the failure of a replay that lacks a reply.
const exceptionRecord = "LookupError"

const (
	// maxNatives bounds how many turns are remembered in their provider's own form, and maxNative
	// the bytes of one of them.
	maxNatives = 1 << 16
	maxNative  = 4 << 10
)

// turnKey names one turn of a rollout.
type turnKey struct {
	rolloutID string
	index     int32
}

// recorded returns the recorded reply, or asks for one and records it. Who wants a turn that is
// being asked for waits for that; of two that asked at two gateways the first record counts. A
// failure of the player's provider, plug-in or gateway, or of who plays the user, is no answer: it
// is returned and not recorded, so that the rollout can be played again. ask gets what is
// recorded of the turn, nil if nothing is; beside an error it returns what was said until then.
func (s *Server) recorded(
	ctx context.Context, req *agentgwv1.RespondRequest, ask func(earlier *agentgwv1.RecordedTurn) (*agentgwv1.RecordedTurn, error),
) (*agentgwv1.RespondResponse, error) {
	key := turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()}
	end, err := s.turns.begin(ctx, key, func() { req.Fresh = false })
	if err != nil {
		return nil, err
	}
	defer end()
	var known *agentgwv1.RecordedTurn
	var revision uint64
	if !fresh(ctx, req) {
		if known, revision, err = s.turn(ctx, key); err != nil {
			return nil, err
		}
	}
	if answers(known.GetReply(), req) {
		return response(known.GetReply()), nil
	}
	if req.GetReplay() {
		detail := fmt.Sprintf("replay: nothing is recorded for message %d of rollout %s", req.GetIndex(), req.GetRolloutId())
		return turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL, exceptionRecord, detail), nil
	}
	made, err := ask(known)
	reply := made.GetReply()
	if failure := reply.GetFailure(); failure != nil && model.UserSimulatorFault(req, failure) {
		failure.Class = agentgwv1.FailureClass_FAILURE_CLASS_USER
	}
	kept, recordErr := s.keep(ctx, req, &agentgwv1.RecordedTurn{Reply: answered(reply), Exchange: made.GetExchange(), Spent: made.GetSpent()}, known, revision)
	if recordErr != nil {
		return nil, errors.Join(err, recordErr)
	}
	if kept.GetReply() != nil {
		reply, err = kept.GetReply(), nil
		if req.GetPlayer().GetModel() != nil {
			s.remember(key, reply)
		}
	}
	if err == nil {
		err = ctx.Err() // nobody waits for it any more; it is recorded
	}
	if err != nil {
		return nil, err
	}
	return response(reply), nil
}

func response(reply *agentgwv1.Reply) *agentgwv1.RespondResponse {
	return &agentgwv1.RespondResponse{Messages: reply.GetMessages(), Failure: reply.GetFailure(), Usage: reply.GetUsage()}
}

// answered returns a reply if it is an answer, nil if it is somebody else's failure than the
// player's.
func answered(reply *agentgwv1.Reply) *agentgwv1.Reply {
	if failure := reply.GetFailure(); failure != nil && failure.GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_MODEL {
		return nil
	}
	return reply
}

// fresh says whether nobody can have asked for the turn before: the caller says so, and this is not
// its call tried again below it.
func fresh(ctx context.Context, req *agentgwv1.RespondRequest) bool {
	return req.GetFresh() && !req.GetReplay() && !rpc.Repeated(ctx)
}

// answers says whether a recorded reply, if there is one, answers the conversation of a request.
// After the loss of a log's tail there may be one that answered another conversation. A replay
// plays what is recorded, whatever it answered.
func answers(reply *agentgwv1.Reply, req *agentgwv1.RespondRequest) bool {
	return reply != nil && (req.GetReplay() || bytes.Equal(reply.GetConversationDigest(), req.GetConversationDigest()))
}

// keep stores a turn in place of the one with a revision, unless there is a reply to the same
// conversation, and returns what is stored. It was paid for, so it is stored even if nobody waits
// any more. A turn of which there is nothing to say is not stored.
func (s *Server) keep(
	ctx context.Context, req *agentgwv1.RespondRequest, made, known *agentgwv1.RecordedTurn, revision uint64,
) (*agentgwv1.RecordedTurn, error) {
	if made.GetReply() == nil && made.GetExchange() == nil {
		return made, nil
	}
	ctx = context.WithoutCancel(ctx)
	if made.GetReply() != nil {
		made.Reply.ConversationDigest = req.GetConversationDigest()
	}
	added := spent(made)
	added.Tokens, added.Micros = added.Tokens-spent(known).Tokens, added.Micros-spent(known).Micros
	for {
		raw, err := proto.Marshal(made)
		if err != nil {
			return nil, fmt.Errorf("encode turn: %w", err)
		}
		err = s.recorder.RecordTurn(ctx, bus.TurnRecord{
			RolloutID: req.GetRolloutId(), Index: req.GetIndex(), Raw: raw, Revision: revision, Spent: spent(made), Added: added, Recorder: s.replica,
		})
		if err == nil {
			return made, nil
		}
		if !errors.Is(err, bus.ErrExists) {
			return nil, fmt.Errorf("%w: %w", errRecord, err)
		}
		stored, at, err := s.turn(ctx, turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()})
		if err != nil {
			return nil, err
		}
		if answers(stored.GetReply(), req) {
			return stored, nil
		}
		if stored == nil {
			return nil, fmt.Errorf("%w: message %d of %s: another turn is stored and cannot be found", errRecord, req.GetIndex(), req.GetRolloutId())
		}
		revision = at
		if all := added.Plus(spent(stored)); all != (bus.Spent{}) {
			made.Spent = &agentgwv1.Spent{Tokens: all.Tokens, Micros: all.Micros}
		}
	}
}

func spent(t *agentgwv1.RecordedTurn) bus.Spent {
	return bus.Spent{Tokens: t.GetSpent().GetTokens(), Micros: t.GetSpent().GetMicros()}
}

// turn returns what is recorded of a turn with its revision, nil if nothing is.
func (s *Server) turn(ctx context.Context, key turnKey) (recorded *agentgwv1.RecordedTurn, revision uint64, err error) {
	raw, revision, err := s.recorder.Turn(ctx, key.rolloutID, key.index)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errRecord, err)
	}
	recorded = &agentgwv1.RecordedTurn{}
	if err := proto.Unmarshal(raw, recorded); err != nil {
		return nil, 0, fmt.Errorf("decode turn %d of %s: %w", key.index, key.rolloutID, err)
	}
	return recorded, revision, nil
}

// priorTurn returns what was recorded of an earlier turn, nil if nothing was.
func (s *Server) priorTurn(ctx context.Context, rolloutID string, index int32) (*model.PriorTurn, error) {
	key := turnKey{rolloutID: rolloutID, index: index}
	if past, ok := s.priorTurns.Get(key); ok {
		return past, nil
	}
	recorded, _, err := s.turn(ctx, key)
	if recorded.GetReply() == nil || err != nil {
		return nil, err
	}
	return s.remember(key, recorded.GetReply()), nil
}

// remember keeps the part of a recorded reply that later turns of its rollout ask for, so that they
// need not read the record.
func (s *Server) remember(key turnKey, reply *agentgwv1.Reply) *model.PriorTurn {
	past := &model.PriorTurn{Provider: reply.GetProvider(), Native: reply.GetNative()}
	if len(past.Native) <= maxNative {
		s.priorTurns.Add(key, past)
	}
	return past
}
