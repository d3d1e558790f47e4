package rpc

import (
	"bytes"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// copier copies messages between client and handler. It rejects messages larger than limit bytes.
type copier struct{ limit int }

// Copy copies from to to. Both have the same type.
func (c copier) Copy(to, from any) error {
	target, ok := to.(proto.Message)
	if !ok {
		return noMessage(to)
	}
	source, ok := from.(proto.Message)
	if !ok {
		return noMessage(from)
	}
	proto.Reset(target)
	conversation, list := share(target, source)
	if conversation == nil {
		proto.Merge(target, source)
	}
	// The target does not contain the conversation yet.
	if size := proto.Size(target) + maxSize(list); size > c.limit {
		if size = proto.Size(source); size > c.limit {
			return status.Errorf(codes.ResourceExhausted, "message has %d bytes, expected at most %d (--max-message-bytes)", size, c.limit)
		}
	}
	if conversation != nil {
		*conversation = slices.Clone(list)
	}
	return nil
}

// Clone returns a copy of a message.
func (c copier) Clone(from any) (any, error) {
	source, ok := from.(proto.Message)
	if !ok {
		return nil, noMessage(from)
	}
	clone := source.ProtoReflect().New().Interface()
	return clone, c.Copy(clone, source)
}

func noMessage(v any) error { return status.Errorf(codes.Internal, "%T is no message", v) }

// share copies the requests and responses of each rollout and turn. It does not copy values that
// are immutable once they are sent or stored: players, turns of scripts, tools and table versions.
// It omits the conversation, and returns its destination and its messages, which are immutable
// too. It copies no other message, and returns nil for it.
func share(to, from proto.Message) (conversation *[]*worldv1.Message, list []*worldv1.Message) {
	switch from := from.(type) {
	case *agentgwv1.RespondRequest:
		if to, ok := to.(*agentgwv1.RespondRequest); ok {
			shareTurn(to, from)
			return &to.View, from.GetView()
		}
	case *agentgwv1.RespondResponse:
		if to, ok := to.(*agentgwv1.RespondResponse); ok {
			to.Failure, to.Usage, to.Throttled = proto.CloneOf(from.GetFailure()), proto.CloneOf(from.GetUsage()), proto.CloneOf(from.GetThrottled())
			return &to.Messages, from.GetMessages()
		}
	case *toolhostv1.ExecuteRequest:
		if to, ok := to.(*toolhostv1.ExecuteRequest); ok {
			to.SessionId, to.Index, to.SessionDigest = from.GetSessionId(), from.GetIndex(), bytes.Clone(from.GetSessionDigest())
			to.Now = cloneOptional(from.Now)
			return &to.Calls, from.GetCalls()
		}
	case *toolhostv1.ExecuteResponse:
		if to, ok := to.(*toolhostv1.ExecuteResponse); ok {
			shareAnswers(to, from)
			return &to.Answers, from.GetAnswers()
		}
	case *toolhostv1.CreateSessionResponse:
		if to, ok := to.(*toolhostv1.CreateSessionResponse); ok {
			to.AgentTools, to.UserTools = slices.Clone(from.GetAgentTools()), slices.Clone(from.GetUserTools())
			to.Versions, to.ToolsDigest = slices.Clone(from.GetVersions()), from.GetToolsDigest()
			return &[]*worldv1.Message{}, nil // no conversation
		}
	}
	return nil, nil
}

func shareTurn(to, from *agentgwv1.RespondRequest) {
	to.RolloutId, to.Index, to.Role, to.Turn, to.Seed = from.GetRolloutId(), from.GetIndex(), from.GetRole(), from.GetTurn(), from.GetSeed()
	to.Player, to.Scripted, to.ToolSetDigest, to.Tools = from.GetPlayer(), from.GetScripted(), from.GetToolSetDigest(), slices.Clone(from.GetTools())
	to.Compat, to.Replay, to.Fresh, to.Round = from.GetCompat(), from.GetReplay(), from.GetFresh(), from.GetRound()
	to.SpendLimit, to.Prompt = proto.CloneOf(from.GetSpendLimit()), from.GetPrompt()
	to.ConversationDigest = bytes.Clone(from.GetConversationDigest())
}

func cloneOptional(value *float64) *float64 {
	if value == nil {
		return nil
	}
	return proto.Float64(*value)
}

func shareAnswers(to, from *toolhostv1.ExecuteResponse) {
	to.Now, to.NextDue = cloneOptional(from.Now), cloneOptional(from.NextDue)
	to.Versions, to.Exception = slices.Clone(from.GetVersions()), from.GetException()
	to.SessionDigest = bytes.Clone(from.GetSessionDigest())
	if from.EndedAtIndex != nil {
		to.EndedAtIndex = proto.Int32(from.GetEndedAtIndex())
	}
	for _, answer := range from.GetServiceAnswers() {
		to.ServiceAnswers = append(to.ServiceAnswers, proto.CloneOf(answer))
	}
}
