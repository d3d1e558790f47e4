package agentgw

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// recorded returns the recorded reply, or asks for one and records it. Of two that asked at once the first record counts. A failure
// of the player's provider is no answer: it is returned and not recorded.
func (s *Server) recorded(
	ctx context.Context, req *agentgwv1.RespondRequest, ask func() (*agentgwv1.Reply, error),
) (*agentgwv1.RespondResponse, error) {
	reply, err := s.reply(ctx, req.GetRolloutId(), req.GetIndex())
	if err != nil {
		return nil, err
	}
	if reply == nil {
		if reply, err = ask(); err != nil {
			return nil, err
		}
		if req.GetPlayer().GetModel() == nil || reply.GetFailure().GetClass() != agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER {
			if reply, err = s.record(ctx, req, reply); err != nil {
				return nil, err
			}
		}
	}
	return &agentgwv1.RespondResponse{Messages: reply.GetMessages(), Failure: reply.GetFailure(), Usage: reply.GetUsage()}, nil
}

// record stores a reply unless there is one, and returns what is stored.
func (s *Server) record(ctx context.Context, req *agentgwv1.RespondRequest, reply *agentgwv1.Reply) (*agentgwv1.Reply, error) {
	raw, err := proto.Marshal(reply)
	if err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	if raw, err = s.replies.RecordReply(ctx, req.GetRolloutId(), req.GetIndex(), raw); err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return decode(raw, req.GetRolloutId(), req.GetIndex())
}

// reply returns what was recorded for a message, nil if nothing was.
func (s *Server) reply(ctx context.Context, rolloutID string, index int32) (*agentgwv1.Reply, error) {
	raw, err := s.replies.Reply(ctx, rolloutID, index)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRecord, err)
	}
	return decode(raw, rolloutID, index)
}

func decode(raw []byte, rolloutID string, index int32) (*agentgwv1.Reply, error) {
	reply := &agentgwv1.Reply{}
	if err := proto.Unmarshal(raw, reply); err != nil {
		return nil, fmt.Errorf("decode reply %d of %s: %w", index, rolloutID, err)
	}
	return reply, nil
}

// past looks up the earlier turns of a rollout.
func (s *Server) past(rolloutID string) model.Past {
	return func(ctx context.Context, index int32) (*agentgwv1.Reply, error) {
		return s.reply(ctx, rolloutID, index)
	}
}
