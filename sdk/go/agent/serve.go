package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

const (
	// grace is how long turns may go on after Serve's context is done.
	grace           = 5 * time.Second
	maxMessageBytes = 16 << 20
	minPingInterval = 10 * time.Second
)

// Serve serves an agent on host:port over plain gRPC, with grpc.health.v1 beside it. It blocks until ctx is done, lets
// turns that are under way end for some seconds, and then returns nil. It fails if the address cannot be listened on.
func Serve(ctx context.Context, address string, a Agent) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve agent: %w", err)
	}
	return ServeListener(ctx, listener, a)
}

// ServeListener is Serve on a listener, which it closes.
func ServeListener(ctx context.Context, listener net.Listener, a Agent) error {
	srv := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	agentv1.RegisterAgentServiceServer(srv, &server{agent: a})
	healthy := health.NewServer()
	healthv1.RegisterHealthServer(srv, healthy)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve agent: %w", err)
	case <-ctx.Done():
	}
	healthy.Shutdown()
	stop(srv)
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve agent: %w", err)
	}
	return nil
}

// stop ends the server gracefully within the grace time.
func stop(srv *grpc.Server) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		srv.GracefulStop()
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-stopped:
	case <-timer.C:
		srv.Stop()
		<-stopped
	}
}

// server translates between the wire and an Agent.
type server struct {
	agentv1.UnimplementedAgentServiceServer
	agent Agent
}

// Act implements AgentService. A panic of the agent ends its conversation, not the process.
func (s *server) Act(ctx context.Context, req *agentv1.ActRequest) (response *agentv1.ActResponse, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			response, err = nil, status.Errorf(codes.Internal, "agent panicked: %v", reason)
		}
	}()
	reply, err := s.agent.Act(ctx, conversation(req))
	if err == nil {
		err = reply.err
	}
	if err != nil {
		return nil, asStatus(ctx, err)
	}
	response = &agentv1.ActResponse{Text: reply.text}
	for _, call := range reply.calls {
		response.Calls = append(response.Calls, &agentv1.ToolCall{Id: call.ID, Name: call.Name, ArgumentsJson: string(call.Arguments)})
	}
	return response, nil
}

// asStatus keeps an error that is a gRPC status, names the end of ctx, and makes any other the end of the conversation.
func asStatus(ctx context.Context, err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return status.Error(codes.Unknown, err.Error())
}

func conversation(req *agentv1.ActRequest) *Conversation {
	c := &Conversation{
		ID:       req.GetConversationId(),
		Turn:     int(req.GetTurn()),
		Messages: make([]Message, len(req.GetMessages())),
		Tools:    make([]Tool, len(req.GetTools())),
	}
	for i, m := range req.GetMessages() {
		c.Messages[i] = Message{
			Speaker: speaker(m.GetSpeaker()), Text: m.GetText(),
			CallID: m.GetCallId(), ToolName: m.GetToolName(), Failed: m.GetFailed(),
		}
		for _, call := range m.GetCalls() {
			c.Messages[i].Calls = append(c.Messages[i].Calls, ToolCall{ID: call.GetId(), Name: call.GetName(), Arguments: []byte(call.GetArgumentsJson())})
		}
	}
	for i, tool := range req.GetTools() {
		c.Tools[i] = Tool{Name: tool.GetName(), Description: tool.GetDescription(), Parameters: []byte(tool.GetParametersJson())}
	}
	return c
}

// speaker returns "" for a speaker that this version does not know.
func speaker(s agentv1.Speaker) Speaker {
	switch s {
	case agentv1.Speaker_SPEAKER_SYSTEM:
		return System
	case agentv1.Speaker_SPEAKER_USER:
		return User
	case agentv1.Speaker_SPEAKER_AGENT:
		return Self
	case agentv1.Speaker_SPEAKER_TOOL:
		return ToolAnswer
	case agentv1.Speaker_SPEAKER_UNSPECIFIED:
		return ""
	default:
		return ""
	}
}
