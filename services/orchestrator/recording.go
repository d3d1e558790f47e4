package orchestrator

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// GetRecording implements OrchestratorService.
func (s *server) GetRecording(req *orchestratorv1.GetRecordingRequest, stream orchestratorv1.OrchestratorService_GetRecordingServer) error {
	return statusOf(s.recording(stream.Context(), req.GetRolloutId(), func(item *orchestratorv1.RecordedItem) error {
		return stream.Send(&orchestratorv1.GetRecordingResponse{Item: item})
	}))
}

// recording calls send with everything that came from outside in a rollout.
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
	next := int32(len(state.Messages()))
	err = s.bus.Replies(ctx, id, func(index int32, raw []byte) error {
		if index == next {
			next = -1 // the reply that ended the rollout is recorded
		}
		reply := &agentgwv1.Reply{}
		if err := proto.Unmarshal(raw, reply); err != nil {
			return fmt.Errorf("reply %d: %w", index, err)
		}
		return send(&orchestratorv1.RecordedItem{Index: index, Item: &orchestratorv1.RecordedItem_Reply{Reply: reply}})
	})
	if err != nil {
		return err
	}
	if failure := failedReply(state); failure != nil && next >= 0 {
		if err := send(&orchestratorv1.RecordedItem{Index: next, Item: &orchestratorv1.RecordedItem_Reply{Reply: failure}}); err != nil {
			return err
		}
	}
	err = s.bus.Exchanges(ctx, id, func(index int32, raw []byte) error {
		exchange := &agentgwv1.Exchange{}
		if err := proto.Unmarshal(raw, exchange); err != nil {
			return fmt.Errorf("exchange %d: %w", index, err)
		}
		return send(&orchestratorv1.RecordedItem{Index: index, Item: &orchestratorv1.RecordedItem_Exchange{Exchange: exchange}})
	})
	if err != nil {
		return err
	}
	return serviceAnswers(state, send)
}

// failedReply is the reply that makes a replay end where a player's provider failed: such a failure
// is not recorded when it happens, so that the rollout can be tried again. It is nil if the rollout
// did not end so.
func failedReply(state *rollout.State) *agentgwv1.Reply {
	end := state.End()
	if end.GetReason() != busv1.EndReason_END_REASON_INFRASTRUCTURE {
		return nil
	}
	switch messages := state.Messages(); messages[len(messages)-1].GetRecipient() {
	case worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER:
	default:
		return nil
	}
	class := end.GetFailureClass()
	if class == agentgwv1.FailureClass_FAILURE_CLASS_UNSPECIFIED { // an earlier version ended it
		class = agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
	}
	return &agentgwv1.Reply{Usage: end.GetUsage().GetUsage(), Failure: &agentgwv1.Failure{
		Class: class, ExceptionType: end.GetExceptionType(), Detail: end.GetDetail(),
	}}
}

// serviceAnswers calls send with what hosted services answered.
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
	case *orchestratorv1.RecordedItem_Reply:
		document, put = kind.Reply, s.bus.PutReply
	case *orchestratorv1.RecordedItem_Exchange:
		document, put = kind.Exchange, s.bus.PutExchange
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
