package agentgw

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/mesh"
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
// is returned and not recorded, so that the rollout can be played again.
func (s *Server) recorded(
	ctx context.Context, req *agentgwv1.RespondRequest, ask func() (*agentgwv1.Reply, error),
) (*agentgwv1.RespondResponse, error) {
	end, err := s.turns.begin(ctx, turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()}, func() { req.Fresh = false })
	if err != nil {
		return nil, err
	}
	defer end()
	var reply *agentgwv1.Reply
	if !fresh(ctx, req) {
		var err error
		if reply, _, err = s.reply(ctx, req.GetRolloutId(), req.GetIndex()); err != nil {
			return nil, err
		}
		if !answers(reply, req) {
			reply = nil
		}
	}
	if reply == nil && req.GetReplay() {
		detail := fmt.Sprintf("replay: nothing is recorded for message %d of rollout %s", req.GetIndex(), req.GetRolloutId())
		return turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL, exceptionRecord, detail), nil
	}
	if reply == nil {
		var err error
		if reply, err = ask(); err != nil {
			return nil, err
		}
		if failure := reply.GetFailure(); failure != nil && model.UserSimulatorFault(req, failure) {
			failure.Class = agentgwv1.FailureClass_FAILURE_CLASS_USER
		}
		if reply.GetFailure() == nil || reply.GetFailure().GetClass() == agentgwv1.FailureClass_FAILURE_CLASS_MODEL {
			if reply, err = s.keep(ctx, req, reply); err != nil {
				return nil, err
			}
			if req.GetPlayer().GetModel() != nil {
				s.remember(turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()}, reply)
			}
		}
	}
	return &agentgwv1.RespondResponse{Messages: reply.GetMessages(), Failure: reply.GetFailure(), Usage: reply.GetUsage()}, nil
}

// fresh says whether nobody can have asked for the turn before: the caller says so, and this is not
// its call tried again below it.
func fresh(ctx context.Context, req *agentgwv1.RespondRequest) bool {
	return req.GetFresh() && !req.GetReplay() && !mesh.Repeated(ctx)
}

// answers says whether a recorded reply answers the conversation of a request. After the loss of a
// log's tail there may be one that answered another conversation. A replay plays what is recorded,
// whatever it answered.
func answers(reply *agentgwv1.Reply, req *agentgwv1.RespondRequest) bool {
	return req.GetReplay() || bytes.Equal(reply.GetConversationDigest(), req.GetConversationDigest())
}

// keep stores a reply unless there is one to the same conversation, and returns what is stored. It
// was paid for, so it is stored even if nobody waits any more.
func (s *Server) keep(ctx context.Context, req *agentgwv1.RespondRequest, reply *agentgwv1.Reply) (*agentgwv1.Reply, error) {
	ctx = context.WithoutCancel(ctx)
	reply.ConversationDigest = req.GetConversationDigest()
	raw, err := proto.Marshal(reply)
	if err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	for revision := uint64(0); ; {
		err := s.replies.RecordReply(ctx, req.GetRolloutId(), req.GetIndex(), raw, revision)
		if err == nil {
			return reply, nil
		}
		if !errors.Is(err, bus.ErrExists) {
			return nil, fmt.Errorf("%w: %w", errRecord, err)
		}
		stored, at, err := s.reply(ctx, req.GetRolloutId(), req.GetIndex())
		if err != nil {
			return nil, err
		}
		if stored != nil && answers(stored, req) {
			return stored, nil
		}
		revision = at
	}
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

// reply returns what was recorded for a message with its revision, nil if nothing was.
func (s *Server) reply(ctx context.Context, rolloutID string, index int32) (reply *agentgwv1.Reply, revision uint64, err error) {
	raw, revision, err := s.replies.Reply(ctx, rolloutID, index)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errRecord, err)
	}
	reply = &agentgwv1.Reply{}
	if err := proto.Unmarshal(raw, reply); err != nil {
		return nil, 0, fmt.Errorf("decode reply %d of %s: %w", index, rolloutID, err)
	}
	return reply, revision, nil
}

// record is what is known about one turn of a rollout. It implements model.Record. One goroutine
// uses it.
type record struct {
	server *Server
	turnKey
	fresh    bool
	revision uint64 // of what is known to be stored of the exchange, 0 if nothing is
}

func (s *Server) recordOf(ctx context.Context, req *agentgwv1.RespondRequest) *record {
	return &record{server: s, turnKey: turnKey{rolloutID: req.GetRolloutId(), index: req.GetIndex()}, fresh: fresh(ctx, req)}
}

func (r *record) Past(ctx context.Context, index int32) (*model.PriorTurn, error) {
	key := turnKey{rolloutID: r.rolloutID, index: index}
	if past, ok := r.server.priorTurns.Get(key); ok {
		return past, nil
	}
	reply, _, err := r.server.reply(ctx, r.rolloutID, index)
	if reply == nil || err != nil {
		return nil, err
	}
	return r.server.remember(key, reply), nil
}

func (r *record) Exchange(ctx context.Context) (*agentgwv1.Exchange, error) {
	if r.fresh {
		return nil, nil
	}
	return r.read(ctx)
}

func (r *record) read(ctx context.Context) (*agentgwv1.Exchange, error) {
	raw, revision, err := r.server.said.Exchange(ctx, r.rolloutID, r.index)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	r.revision = revision
	exchange := &agentgwv1.Exchange{}
	if err := proto.Unmarshal(raw, exchange); err != nil {
		return nil, fmt.Errorf("decode exchange %d of %s: %w", r.index, r.rolloutID, err)
	}
	return exchange, nil
}

func (r *record) Keep(ctx context.Context, exchange *agentgwv1.Exchange) (other *agentgwv1.Exchange, err error) {
	raw, err := proto.Marshal(exchange)
	if err != nil {
		return nil, fmt.Errorf("encode exchange: %w", err)
	}
	revision, err := r.server.said.RecordExchange(ctx, r.rolloutID, r.index, raw, r.revision)
	switch {
	case errors.Is(err, bus.ErrExists):
		if other, err = r.read(ctx); err == nil && other == nil {
			err = fmt.Errorf("%w: exchange %d of %s: another one is stored and cannot be found", errRecord, r.index, r.rolloutID)
		}
		return other, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	r.revision = revision
	return nil, nil
}
