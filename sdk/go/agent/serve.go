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
	"os"
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
	// grace is how long turns may run after Serve's context is done. cancelGrace is how long they may
	// run after their own contexts are done.
	grace           = 5 * time.Second
	cancelGrace     = time.Second
	maxMessageBytes = 16 << 20
	// maxAnswerBytes and maxErrorBytes bound a turn and its error text, as the gateway does.
	maxAnswerBytes  = 4 << 20
	maxErrorBytes   = 4 << 10
	minPingInterval = 10 * time.Second
)

// Serve serves an agent on host:port, together with grpc.health.v1. The connection is plain text
// unless options say otherwise: grpc.Creds(credentials.NewTLS(…)) serves `--agent
// grpcs://host:port`. Serve blocks until ctx is done, waits up to five seconds for running turns,
// cancels the others, and returns nil within another second, even if a turn ignores its context. It
// fails if it cannot listen on the address. It prints the value of --agent on the standard error.
func Serve(ctx context.Context, address string, a Agent, options ...grpc.ServerOption) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve agent: %w", err)
	}
	announce(address, listener.Addr(), len(options) > 0)
	return ServeListener(ctx, listener, a, options...)
}

// announce prints the value of --agent that plays an agent at an address. Options may turn TLS on.
func announce(wanted string, bound net.Addr, options bool) {
	host, _, _ := net.SplitHostPort(wanted)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	_, port, _ := net.SplitHostPort(bound.String())
	tls := ""
	if options {
		tls = " (grpcs:// with TLS)"
	}
	fmt.Fprintf(os.Stderr, "agent serves: toolsandbox run --agent grpc://%s%s\n", net.JoinHostPort(host, port), tls)
}

// ServeListener is Serve on a listener, which it closes. It prints nothing.
func ServeListener(ctx context.Context, listener net.Listener, a Agent, options ...grpc.ServerOption) error {
	srv := grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	}, options...)...)
	agentv1.RegisterAgentServiceServer(srv, &server{agent: a})
	healthy := health.NewServer()
	healthv1.RegisterHealthServer(srv, healthy)
	serveErr := make(chan error, 1)
	go func() { serveErr <- srv.Serve(listener) }()
	select {
	case err := <-serveErr:
		return fmt.Errorf("serve agent: %w", err)
	case <-ctx.Done():
	}
	healthy.Shutdown()
	stop(srv)
	if err := <-serveErr; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve agent: %w", err)
	}
	return nil
}

// stop stops the server gracefully within the grace time, and then without waiting for turns that
// ignore their context.
func stop(srv *grpc.Server) {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		srv.GracefulStop()
	}()
	if closedWithin(stopped, grace) {
		return
	}
	srv.Stop()
	if !closedWithin(stopped, cancelGrace) {
		logger().Warn("turns ignore their ended context, abandoning them")
	}
}

// logger returns the program's default logger.
func logger() *slog.Logger { return slog.Default() }

// closedWithin reports whether a channel is closed within a time.
func closedWithin(closed <-chan struct{}, within time.Duration) bool {
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

// Act implements AgentService. A failure of the agent's own code is a response. A panic ends its
// conversation, not the process, and is logged with its stack.
func (s *server) Act(ctx context.Context, req *agentv1.ActRequest) (response *agentv1.ActResponse, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			logger().Error("agent panicked", "conversation", req.GetConversationId(), "turn", req.GetTurn(), "panic", reason, "stack", string(debug.Stack()))
			response, err = raisedResponse("panic", fmt.Sprint(reason)), nil
		}
	}()
	reply, err := s.agent.Act(ctx, conversation(req))
	if err == nil {
		err = reply.err
	}
	if err != nil {
		return turnError(ctx, err)
	}
	response = &agentv1.ActResponse{Text: reply.text, Code: reply.code, Confidence: reply.confidence}
	for _, call := range reply.calls {
		response.Calls = append(response.Calls, &agentv1.ToolCall{Id: call.ID, Name: call.Name, ArgumentsJson: arguments(call)})
	}
	return validated(response), nil
}

// arguments returns a call's arguments as JSON, {} if they are empty.
func arguments(call ToolCall) string {
	if len(bytes.TrimSpace(call.Arguments)) == 0 {
		return "{}"
	}
	return string(call.Arguments)
}

// validated returns a response that can be sent, or one with the reason why it cannot.
func validated(response *agentv1.ActResponse) *agentv1.ActResponse {
	raw, err := proto.Marshal(response)
	switch {
	case err != nil:
		return raisedResponse(defaultErrorType, "the turn cannot be sent: "+err.Error())
	case len(raw) > maxAnswerBytes:
		return raisedResponse(defaultErrorType, fmt.Sprintf("the turn has %d bytes, expected at most %d", len(raw), maxAnswerBytes))
	}
	return response
}

// turnError keeps a gRPC status, reports the end of ctx, and turns any other error into the agent's
// own failure.
func turnError(ctx context.Context, err error) (*agentv1.ActResponse, error) {
	if st, ok := status.FromError(err); ok {
		return nil, status.Error(st.Code(), truncated(st.Message()))
	}
	if ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return raisedResponse(typeOf(err), err.Error()), nil
}

// raisedResponse is the response for an exception of the agent.
func raisedResponse(exception, text string) *agentv1.ActResponse {
	return &agentv1.ActResponse{Raised: &agentv1.Raised{ExceptionType: truncated(exception), Text: truncated(text)}}
}

// defaultErrorType is the type name of an error without one.
const defaultErrorType = "error"

// typeOf returns the type name of an error, e.g. fs.PathError. It skips the wrappers of fmt.Errorf
// and errors.Join.
func typeOf(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		switch name := strings.TrimPrefix(fmt.Sprintf("%T", err), "*"); name {
		case "errors.errorString", "errors.joinError", "fmt.wrapError", "fmt.wrapErrors":
		default:
			return name
		}
	}
	return defaultErrorType
}

// truncated returns a valid text within maxErrorBytes.
func truncated(text string) string {
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

		Traceparent: req.GetTraceparent(),
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
		return Assistant
	case agentv1.Speaker_SPEAKER_TOOL:
		return ToolResult
	case agentv1.Speaker_SPEAKER_NOTIFICATION:
		return Notification
	case agentv1.Speaker_SPEAKER_UNSPECIFIED:
		return ""
	default:
		return ""
	}
}
