package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

const (
	// grace is how long turns may go on after Serve's context is done, lastGrace how long after their own contexts are.
	grace           = 5 * time.Second
	lastGrace       = time.Second
	maxMessageBytes = 16 << 20
	// maxAnswerBytes and maxErrorBytes bound a turn and the reason of a failed one; the gateway takes no longer ones.
	maxAnswerBytes  = 4 << 20
	maxErrorBytes   = 4 << 10
	minPingInterval = 10 * time.Second
)

// Serve serves an agent on host:port, with grpc.health.v1 beside it. The connection is plain text unless options say otherwise:
// grpc.Creds(credentials.NewTLS(…)) is for `--agent grpcs://host:port`. It blocks until ctx is done, lets turns that are under way end for up
// to five seconds, ends the contexts of the others, and returns nil within another second, even if a turn does not heed its context. It
// fails if the address cannot be listened on.
func Serve(ctx context.Context, address string, a Agent, options ...grpc.ServerOption) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve agent: %w", err)
	}
	return ServeListener(ctx, listener, a, options...)
}

// ServeListener is Serve on a listener, which it closes.
func ServeListener(ctx context.Context, listener net.Listener, a Agent, options ...grpc.ServerOption) error {
	srv := grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	}, options...)...)
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

// stop ends the server gracefully within the grace time, and then without waiting for turns that do not heed their context.
func stop(srv *grpc.Server) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		srv.GracefulStop()
	}()
	if done(stopped, grace) {
		return
	}
	srv.Stop()
	if !done(stopped, lastGrace) {
		logger().Warn("turns do not heed their context, leaving without them")
	}
}

// logger is that of the program that the package is part of: its user has chosen where it writes.
func logger() *slog.Logger { return slog.Default() }

// done says whether a channel is closed within a time.
func done(closed <-chan struct{}, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}

// server translates between the wire and an Agent.
type server struct {
	agentv1.UnimplementedAgentServiceServer
	agent Agent
}

// Act implements AgentService. A panic of the agent ends its conversation, not the process, and goes to the log with its stack.
func (s *server) Act(ctx context.Context, req *agentv1.ActRequest) (response *agentv1.ActResponse, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			logger().Error("agent panicked", "conversation", req.GetConversationId(), "turn", req.GetTurn(), "panic", reason, "stack", string(debug.Stack()))
			response, err = nil, failure(codes.Internal, fmt.Sprintf("agent panicked: %v", reason))
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
		response.Calls = append(response.Calls, &agentv1.ToolCall{Id: call.ID, Name: call.Name, ArgumentsJson: arguments(call)})
	}
	return response, check(response)
}

// arguments returns a call's arguments as JSON; those that are empty are none.
func arguments(call ToolCall) string {
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return "{}"
	}
	return string(call.Arguments)
}

// check finds out whether a turn can be sent.
func check(response *agentv1.ActResponse) error {
	raw, err := proto.Marshal(response)
	if err != nil {
		return failure(codes.Internal, "the turn cannot be sent: "+err.Error())
	}
	if len(raw) > maxAnswerBytes {
		return failure(codes.ResourceExhausted, fmt.Sprintf("the turn has %d bytes, expected at most %d", len(raw), maxAnswerBytes))
	}
	return nil
}

// asStatus keeps the code of an error that is a gRPC status, names the end of ctx, and makes any other the end of the conversation.
func asStatus(ctx context.Context, err error) error {
	if failed, ok := status.FromError(err); ok {
		return failure(failed.Code(), failed.Message())
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return failure(codes.Unknown, err.Error())
}

// failure is an error whose text can be sent.
func failure(code codes.Code, text string) error {
	if len(text) > maxErrorBytes {
		text = text[:maxErrorBytes] + "…"
	}
	if text == "" {
		text = "the agent failed and gives no reason"
	}
	return status.Error(code, strings.ToValidUTF8(text, string(utf8.RuneError)))
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
