package orchestrator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/access"
	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// GetRecording implements OrchestratorService.
func (s *server) GetRecording(req *orchestratorv1.GetRecordingRequest, stream orchestratorv1.OrchestratorService_GetRecordingServer) error {
	if err := s.checkRollout(stream.Context(), req.GetRolloutId()); err != nil {
		return statusOf(err)
	}
	return statusOf(s.recording(stream.Context(), req.GetRolloutId(), func(item *orchestratorv1.RecordedItem) error {
		return stream.Send(&orchestratorv1.GetRecordingResponse{Item: item})
	}))
}

// recording calls send with all external input of a rollout.
func (s *server) recording(ctx context.Context, id string, send func(*orchestratorv1.RecordedItem) error) error {
	log, err := s.bus.ReadLog(ctx, id)
	if err != nil {
		return err
	}
	if len(log.Entries) == 0 {
		return fmt.Errorf("log of rollout %s: %w", id, bus.ErrNotFound)
	}
	state, err := rollout.Fold(log.Entries)
	if err != nil {
		return fmt.Errorf("rollout %s: %w", id, err)
	}
	turns := replies(state)
	err = s.bus.Turns(ctx, id, func(index int32, raw []byte) error {
		recorded := &agentgwv1.RecordedTurn{}
		if err := proto.Unmarshal(raw, recorded); err != nil {
			return fmt.Errorf("turn %d: %w", index, err)
		}
		turn := turns[index]
		if turn == nil && recorded.GetExchange() == nil {
			return nil
		}
		if turn == nil {
			turn = &agentgwv1.RecordedTurn{}
			turns[index] = turn
		}
		turn.Exchange = recorded.GetExchange()
		if reply := recorded.GetReply(); turn.GetReply() != nil && isReply(reply, turn.GetReply()) { // a fork continues with the native form
			turn.Reply.Provider, turn.Reply.Native = reply.GetProvider(), reply.GetNative()
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, index := range slices.Sorted(maps.Keys(turns)) {
		if err := send(&orchestratorv1.RecordedItem{Index: index, Item: &orchestratorv1.RecordedItem_Turn{Turn: turns[index]}}); err != nil {
			return err
		}
	}
	return serviceAnswers(state, send)
}

// isReply reports whether a recorded reply is what a log has as the reply.
func isReply(recorded, logged *agentgwv1.Reply) bool {
	return slices.EqualFunc(recorded.GetMessages(), logged.GetMessages(), func(a, b *worldv1.Message) bool {
		if a.ConversationActive == nil { // the log says it of each message
			a = proto.CloneOf(a)
			a.ConversationActive = b.ConversationActive
		}
		return proto.Equal(a, b)
	})
}

// replies returns the recorded turns of models and plug-ins for a replay, and all before a fork, by
// the index of the turn's first message.
func replies(state *rollout.State) map[int32]*agentgwv1.RecordedTurn {
	turns := make(map[int32]*agentgwv1.RecordedTurn)
	players := map[worldv1.Role]*agentgwv1.Player{
		worldv1.Role_ROLE_AGENT: state.Rollout().GetAgent(), worldv1.Role_ROLE_USER: state.Rollout().GetUser(),
	}
	recorded := func(role worldv1.Role) bool {
		return players[role].GetModel() != nil || players[role].GetPlugin() != nil
	}
	given := rollout.Given(state.Rollout().GetFork())
	for _, turn := range state.Turns() {
		switch first := turn.GetMessages()[0]; {
		case int(first.GetIndex()) < given:
			turns[first.GetIndex()] = &agentgwv1.RecordedTurn{Reply: &agentgwv1.Reply{Messages: turn.GetMessages()}, Versions: turn.GetVersions()}
		case recorded(first.GetSender()):
			turns[first.GetIndex()] = &agentgwv1.RecordedTurn{Reply: &agentgwv1.Reply{
				Messages: turn.GetMessages(), Usage: turn.GetUsage(), Remarks: turn.GetRemarks(), Confidence: turn.Confidence,
			}}
		}
	}
	end := state.End()
	if speaker, over := state.Next(); over == nil && recorded(speaker) && end.GetFailureClass() != agentgwv1.FailureClass_FAILURE_CLASS_UNSPECIFIED {
		turns[int32(len(state.Messages()))] = &agentgwv1.RecordedTurn{Reply: &agentgwv1.Reply{Usage: end.GetUsage().GetUsage(), Failure: &agentgwv1.Failure{
			Class: end.GetFailureClass(), ExceptionType: end.GetExceptionType(), Detail: end.GetDetail(),
		}}}
	}
	return turns
}

// serviceAnswers calls send with the answers of hosted services.
func serviceAnswers(state *rollout.State, send func(*orchestratorv1.RecordedItem) error) error {
	n := int32(0)
	for _, execution := range state.Executions() {
		for _, answer := range execution.GetOutcome().GetServiceAnswers() {
			item := &orchestratorv1.RecordedItem{Index: n, Item: &orchestratorv1.RecordedItem_Answer{Answer: answer}}
			if err := send(item); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

// PutRecording implements OrchestratorService.
func (s *server) PutRecording(ctx context.Context, req *orchestratorv1.PutRecordingRequest) (*orchestratorv1.PutRecordingResponse, error) {
	if access.FromContext(ctx) != nil {
		if _, err := s.claim(ctx, bus.SweepOf(req.GetRolloutId())); err != nil {
			return nil, statusOf(err)
		}
	}
	for _, item := range req.GetItems() {
		if err := s.putItem(ctx, req.GetRolloutId(), item); err != nil {
			return nil, statusOf(err)
		}
	}
	return &orchestratorv1.PutRecordingResponse{}, nil
}

func (s *server) putItem(ctx context.Context, id string, item *orchestratorv1.RecordedItem) error {
	var document proto.Message
	var put func(ctx context.Context, rolloutID string, index int32, raw []byte) error
	switch kind := item.GetItem().(type) {
	case *orchestratorv1.RecordedItem_Turn:
		document, put = kind.Turn, s.bus.PutTurn
	case *orchestratorv1.RecordedItem_Answer:
		document, put = kind.Answer, s.bus.PutAnswer
	default:
		return status.Error(codes.InvalidArgument, "items: one of an unknown kind")
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(document)
	if err != nil {
		return fmt.Errorf("encode item %d of rollout %s: %w", item.GetIndex(), id, err)
	}
	return put(ctx, id, item.GetIndex(), raw)
}
