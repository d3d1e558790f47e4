package agentgw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// exceptionRecord is the exception type of a replay whose reply is not recorded.
const exceptionRecord = "LookupError"

// maxTurnBuffer bounds the size of the buffers in turnBuffers.
const maxTurnBuffer = 1 << 20

// turnBuffers are buffers for encoded turns, which the bus does not keep.
var turnBuffers sync.Pool // of *[]byte

// turnKey names one turn of a rollout.
type turnKey struct {
	rolloutID string
	index     int32
}

// recordedTurn returns the recorded reply, or asks for one and records it. A turn that another
// caller is asking for is awaited. If two gateways ask for the same turn, the first record wins.
// Failures of the provider, the plug-in, the gateway or the user simulator are returned and not
// recorded, so that the rollout can be played again. ask gets the turn's record, nil if there is
// none. Beside an error ask returns the exchange so far.
func (s *Server) recordedTurn(
	ctx context.Context, req *agentgwv1.RespondRequest, ask func(earlier *agentgwv1.RecordedTurn) (*agentgwv1.RecordedTurn, error),
) (*agentgwv1.RespondResponse, error) {
	key := turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()}
	end, err := s.turns.begin(ctx, key, func() { req = withFresh(req, false) })
	if err != nil {
		return nil, err
	}
	defer end()
	var stored *agentgwv1.RecordedTurn
	var revision uint64
	if !isFresh(ctx, req) {
		if stored, revision, err = s.turn(ctx, key); err != nil {
			return nil, err
		}
	}
	if answersRequest(stored.GetReply(), req) {
		return response(stored.GetReply()), nil
	}
	if req.GetReplay() {
		detail := fmt.Sprintf("replay: nothing is recorded for message %d of rollout %s", req.GetIndex(), req.GetRolloutId())
		return turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL, exceptionRecord, detail), nil
	}
	recorded, err := ask(stored)
	return s.storeReply(ctx, req, recorded, err, stored, revision)
}

// storeReply stores a turn and returns its reply, or that of another replica that stored one first.
// err is the error of the turn.
func (s *Server) storeReply(
	ctx context.Context, req *agentgwv1.RespondRequest, recorded *agentgwv1.RecordedTurn, err error, stored *agentgwv1.RecordedTurn, revision uint64,
) (*agentgwv1.RespondResponse, error) {
	reply := recorded.GetReply()
	if failure := reply.GetFailure(); failure != nil && model.UserSimulatorFault(req, failure) {
		failure.Class = agentgwv1.FailureClass_FAILURE_CLASS_USER
	}
	storedTurn, recordErr := s.storeTurn(ctx, req, &agentgwv1.RecordedTurn{Reply: recordable(reply), Exchange: recorded.GetExchange(), Cost: recorded.GetCost()}, stored, revision)
	if recordErr != nil {
		return nil, errors.Join(err, recordErr)
	}
	if storedTurn.GetReply() != nil {
		reply, err = storedTurn.GetReply(), nil
		if req.GetPlayer().GetModel() != nil {
			s.history.add(turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()}, reply)
		}
	}
	if err == nil && !errors.Is(context.Cause(ctx), errPaused) {
		err = ctx.Err() // the caller is gone; the turn is recorded
	}
	if err != nil {
		return nil, err
	}
	return response(reply), nil
}

func response(reply *agentgwv1.Reply) *agentgwv1.RespondResponse {
	return &agentgwv1.RespondResponse{
		Messages: reply.GetMessages(), Failure: reply.GetFailure(), Usage: reply.GetUsage(), Remarks: reply.GetRemarks(), AnsweredBy: reply.GetAnsweredBy(),
		Confidence: reply.Confidence,
	}
}

// recordable returns a reply, or nil if its failure is not the player's.
func recordable(reply *agentgwv1.Reply) *agentgwv1.Reply {
	switch reply.GetFailure().GetClass() {
	case agentgwv1.FailureClass_FAILURE_CLASS_UNSPECIFIED, agentgwv1.FailureClass_FAILURE_CLASS_MODEL, agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT:
		return reply
	default:
		return nil
	}
}

// isFresh reports whether this is the first request for the turn: the caller says so, and gRPC did
// not repeat the call.
func isFresh(ctx context.Context, req *agentgwv1.RespondRequest) bool {
	return req.GetFresh() && !req.GetReplay() && !rpc.IsRetry(ctx)
}

// answersRequest reports whether a recorded reply answers the conversation of a request. A log that
// lost its tail may leave a reply to another conversation. A replay accepts any recorded reply.
func answersRequest(reply *agentgwv1.Reply, req *agentgwv1.RespondRequest) bool {
	return reply != nil && (req.GetReplay() || bytes.Equal(reply.GetConversationDigest(), req.GetConversationDigest()))
}

// storeTurn replaces the stored turn at a revision, and returns the stored turn. A reply to the
// same conversation that is stored by then stays, and the cost of this one is added to it. It
// stores paid turns even if the caller is gone, and waits for NATS until the gateway ends. It does
// not store a turn without reply and exchange.
func (s *Server) storeTurn(
	ctx context.Context, req *agentgwv1.RespondRequest, recorded, stored *agentgwv1.RecordedTurn, revision uint64,
) (*agentgwv1.RecordedTurn, error) {
	if recorded.GetReply() == nil && recorded.GetExchange() == nil {
		return recorded, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if recorded.GetReply() != nil {
		recorded.Reply.ConversationDigest = req.GetConversationDigest()
	}
	added := costOf(recorded)
	added.Tokens, added.Micros = added.Tokens-costOf(stored).Tokens, added.Micros-costOf(stored).Micros
	buffer, ok := turnBuffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	defer turnBuffers.Put(buffer)
	for {
		raw, err := proto.MarshalOptions{}.MarshalAppend((*buffer)[:0], recorded)
		if err != nil {
			return nil, fmt.Errorf("encode turn: %w", err)
		}
		if cap(raw) <= maxTurnBuffer {
			*buffer = raw
		}
		err = s.recorder.RecordTurn(ctx, bus.TurnRecord{
			RolloutID: req.GetRolloutId(), Index: req.GetIndex(), Raw: raw, Revision: revision, Cost: costOf(recorded), Added: added, Recorder: s.replica,
		})
		if err == nil {
			return recorded, nil
		}
		if errors.Is(err, bus.ErrUnavailable) && ctx.Err() == nil {
			continue
		}
		if !errors.Is(err, bus.ErrExists) {
			return nil, fmt.Errorf("%w: %w", errRecord, err)
		}
		stored, at, err := s.turn(ctx, turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()})
		if errors.Is(err, bus.ErrUnavailable) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		if proto.Equal(stored, recorded) || added == (bus.Cost{}) && answersRequest(stored.GetReply(), req) { // equal: the acknowledgement was lost
			return stored, nil
		}
		if stored == nil {
			return nil, fmt.Errorf("%w: message %d of %s: another turn is stored and cannot be found", errRecord, req.GetIndex(), req.GetRolloutId())
		}
		if answersRequest(stored.GetReply(), req) {
			recorded = stored
		}
		revision = at
		all := added.Plus(costOf(stored))
		recorded.Cost = &agentgwv1.Cost{Tokens: all.Tokens, Micros: all.Micros}
	}
}

func costOf(t *agentgwv1.RecordedTurn) bus.Cost {
	return bus.Cost{Tokens: t.GetCost().GetTokens(), Micros: t.GetCost().GetMicros()}
}

// turn returns the record of a turn with its revision, nil if there is none.
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

// priorTurn returns an earlier turn of a rollout, nil if it is not recorded.
func (s *Server) priorTurn(ctx context.Context, rolloutID string, index int32) (*model.PriorTurn, error) {
	key := turnKey{rolloutID: rolloutID, index: index}
	if past := s.history.get(key); past != nil {
		return past, nil
	}
	recorded, _, err := s.turn(ctx, key)
	if recorded.GetReply() == nil || err != nil {
		return nil, err
	}
	return s.history.add(key, recorded.GetReply()), nil
}
