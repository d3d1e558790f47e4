package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

const (
	// grace is how long running calls may continue after Serve's context is done.
	grace           = 5 * time.Second
	maxMessageBytes = 16 << 20
	minPingInterval = 10 * time.Second
)

// Serve serves tools and grpc.health.v1 on host:port. The connection is plain text unless options
// say otherwise. It blocks until ctx is done, gives running calls up to five seconds, and returns
// nil. It fails if two tools have the same name, or if it cannot listen on the address.
func Serve(ctx context.Context, address string, tools []Tool, options ...grpc.ServerOption) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve tools: %w", err)
	}
	return ServeListener(ctx, listener, tools, options...)
}

// ServeListener is Serve on a listener, which it closes.
func ServeListener(ctx context.Context, listener net.Listener, tools []Tool, options ...grpc.ServerOption) error {
	handler := &server{tools: make(map[string]Tool)}
	for _, t := range tools {
		if _, twice := handler.tools[t.declared.GetName()]; twice {
			return errors.Join(fmt.Errorf("serve tools: two are called %s", t.declared.GetName()), listener.Close())
		}
		handler.tools[t.declared.GetName()] = t
		handler.list = append(handler.list, t.declared)
	}
	srv := grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	}, options...)...)
	toolsv1.RegisterToolServiceServer(srv, handler)
	healthv1.RegisterHealthServer(srv, health.NewServer())
	stopped := context.AfterFunc(ctx, func() {
		kill := time.AfterFunc(grace, srv.Stop)
		defer kill.Stop()
		srv.GracefulStop()
	})
	defer stopped()
	if err := srv.Serve(listener); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve tools: %w", err)
	}
	return nil
}

// server implements ToolService.
type server struct {
	toolsv1.UnimplementedToolServiceServer
	tools map[string]Tool
	list  []*toolsv1.Tool
}

// ListTools implements ToolService.
func (s *server) ListTools(context.Context, *toolsv1.ListToolsRequest) (*toolsv1.ListToolsResponse, error) {
	return &toolsv1.ListToolsResponse{Tools: s.list}, nil
}

// Call implements ToolService. A panic becomes an exception and is logged with its stack.
func (s *server) Call(ctx context.Context, req *toolsv1.CallRequest) (response *toolsv1.CallResponse, err error) {
	t, ok := s.tools[req.GetTool()]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "there is no tool %s", req.GetTool())
	}
	defer func() {
		if r := recover(); r != nil {
			slog.Default().Error("tool panicked", "tool", req.GetTool(), "panic", r, "stack", string(debug.Stack()))
			response, err = errorResponse(fmt.Errorf("panic: %v", r)), nil
		}
	}()
	call := &Call{Now: req.GetNow(), IDs: req.GetIds()}
	if err := decode([]byte(req.GetRowsJson()), &call.Rows); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "rows_json: %v", err)
	}
	value, err := t.run(ctx, call, []byte(req.GetArgumentsJson()))
	if err == nil {
		err = call.err
	}
	if err != nil && ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		return errorResponse(err), nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return errorResponse(err), nil
	}
	return &toolsv1.CallResponse{Outcome: &toolsv1.CallResponse_ValueJson{ValueJson: string(raw)}, Changes: call.changes}, nil
}

// errorResponse returns the response to a failed call.
func errorResponse(err error) *toolsv1.CallResponse {
	exception := &toolsv1.Raised{Text: err.Error()}
	var raised *Raised
	if errors.As(err, &raised) {
		exception = &toolsv1.Raised{Type: raised.Type, Text: raised.Text}
	}
	exception.Text = strings.ToValidUTF8(exception.GetText(), "\uFFFD")
	return &toolsv1.CallResponse{Outcome: &toolsv1.CallResponse_Raised{Raised: exception}}
}
