package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

const (
	// grace is how long turns may go on after Serve's context is done, lastGrace how long after
	// their own contexts are.
	grace           = 5 * time.Second
	lastGrace       = time.Second
	maxMessageBytes = 16 << 20
	// maxAnswerBytes and maxErrorBytes bound a turn and the reason of a failed one; the gateway
	// takes no longer ones.
	maxAnswerBytes  = 4 << 20
	maxErrorBytes   = 4 << 10
	minPingInterval = 10 * time.Second
)

// Serve serves an agent on host:port, with grpc.health.v1 beside it. The connection is plain text
// unless options say otherwise: grpc.Creds(credentials.NewTLS(…)) is for `--agent
// grpcs://host:port`. It blocks until ctx is done, lets turns that are under way end for up to five
// seconds, ends the contexts of the others, and returns nil within another second, even if a turn
// does not heed its context. It fails if the address cannot be listened on.
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

// stop ends the server gracefully within the grace time, and then without waiting for turns that do
// not heed their context.
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

// Act implements AgentService. What the agent's own code fails with is its answer. A panic ends its
// conversation, not the process, and goes to the log with its stack.
func (s *server) Act(ctx context.Context, req *agentv1.ActRequest) (response *agentv1.ActResponse, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			logger().Error("agent panicked", "conversation", req.GetConversationId(), "turn", req.GetTurn(), "panic", reason, "stack", string(debug.Stack()))
			response, err = raised("panic", fmt.Sprint(reason)), nil
		}
	}()
	reply, err := s.agent.Act(ctx, conversation(req))
	if err == nil {
		err = reply.err
	}
	if err != nil {
		return failed(ctx, err)
	}
	response = &agentv1.ActResponse{Text: reply.text, Code: reply.code}
	for _, call := range reply.calls {
		response.Calls = append(response.Calls, &agentv1.ToolCall{Id: call.ID, Name: call.Name, ArgumentsJson: arguments(call)})
	}
	return checked(response), nil
}

// arguments returns a call's arguments as JSON; those that are empty are none.
func arguments(call ToolCall) string {
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return "{}"
	}
	return string(call.Arguments)
}

// checked returns a turn that can be sent, or why it cannot.
func checked(response *agentv1.ActResponse) *agentv1.ActResponse {
	raw, err := proto.Marshal(response)
	switch {
	case err != nil:
		return raised(plainError, "the turn cannot be sent: "+err.Error())
	case len(raw) > maxAnswerBytes:
		return raised(plainError, fmt.Sprintf("the turn has %d bytes, expected at most %d", len(raw), maxAnswerBytes))
	}
	return response
}

// failed keeps an error that is a gRPC status, names the end of ctx, and makes any other the
// agent's own failure.
func failed(ctx context.Context, err error) (*agentv1.ActResponse, error) {
	if stated, ok := status.FromError(err); ok {
		return nil, status.Error(stated.Code(), sendable(stated.Message()))
	}
	if ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return raised(typeOf(err), err.Error()), nil
}

// raised is the answer in place of a turn.
func raised(exception, text string) *agentv1.ActResponse {
	return &agentv1.ActResponse{Raised: &agentv1.Raised{ExceptionType: sendable(exception), Text: sendable(text)}}
}

// plainError is the type of an error that has none of its own.
const plainError = "error"

// typeOf returns the type of an error, e.g. fs.PathError: the first one that says something, since
// fmt.Errorf and errors.Join wrap others.
func typeOf(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		switch name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*"); name {
		case "errors.errorString", "errors.joinError", "fmt.wrapError", "fmt.wrapErrors":
		default:
			return name
		}
	}
	return plainError
}

// sendable returns a text that can be sent.
func sendable(text string) string {
	if len(text) > maxErrorBytes {
		text = text[:maxErrorBytes] + "…"
	}
	return strings.ToValidUTF8(cmp.Or(text, "the agent gives no reason"), string(utf8.RuneError))
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
			CallID: m.GetCallId(), ToolName: m.GetToolName(), Failed: m.GetFailed(), Code: m.GetCode(),
		}
		if m.ValueJson != nil {
			c.Messages[i].Value = json.RawMessage(m.GetValueJson())
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
		return ToolResult
	case agentv1.Speaker_SPEAKER_UNSPECIFIED:
		return ""
	default:
		return ""
	}
}
