package toolhost

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/world"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/host"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/store"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// defaultPageSize is the page size of requests without one.
const defaultPageSize = 100

// server implements ToolHostService.
type server struct {
	toolhostv1.UnimplementedToolHostServiceServer
	host      *host.Host
	catalogue *tool.Catalogue
	// check returns an error unless this tool host owns a session.
	check func(sessionID string) error
	// hosts returns the live tool hosts.
	hosts  func() (epoch int64, addresses []string)
	meters *meters
	tracer trace.Tracer
	// content adds arguments and results to spans.
	content bool
}

// statusOf converts errors of the host to gRPC statuses.
func statusOf(err error) error {
	return rpc.ErrorCodes{
		{Err: host.ErrNotFound, Code: codes.NotFound},
		{Err: host.ErrNoSetup, Code: codes.NotFound},
		{Err: host.ErrExists, Code: codes.AlreadyExists},
		{Err: host.ErrSetup, Code: codes.InvalidArgument},
		{Err: host.ErrConflict, Code: codes.InvalidArgument},
		{Err: store.ErrID, Code: codes.InvalidArgument},
		{Err: toolserver.ErrUnknown, Code: codes.InvalidArgument},
		{Err: toolserver.ErrProtocol, Code: codes.InvalidArgument},
		{Err: toolserver.ErrUnknownState, Code: codes.InvalidArgument},
		{Err: host.ErrTool, Code: codes.InvalidArgument},
		{Err: host.ErrIndex, Code: codes.FailedPrecondition},
		{Err: host.ErrStateMismatch, Code: codes.FailedPrecondition},
		{Err: host.ErrDiverged, Code: codes.DataLoss},
		{Err: host.ErrQuota, Code: codes.ResourceExhausted},
		{Err: store.ErrFatal, Code: codes.Unavailable},
		{Err: store.ErrClosed, Code: codes.Unavailable},
		{Err: host.ErrPublish, Code: codes.Unavailable},
		{Err: bus.ErrUnavailable, Code: codes.Unavailable},
		{Err: toolserver.ErrDeadline, Code: codes.DeadlineExceeded},
		{Err: toolserver.ErrUnavailable, Code: codes.Unavailable},
	}.Status(err)
}

// CreateSession implements ToolHostService.
func (s *server) CreateSession(ctx context.Context, req *toolhostv1.CreateSessionRequest) (*toolhostv1.CreateSessionResponse, error) {
	if err := s.check(req.GetSessionId()); err != nil {
		return nil, err
	}
	made, err := creationOf(req)
	if err != nil {
		return nil, err
	}
	s.meters.created.Add(ctx, 1)
	ctx, end := s.startSpan(ctx, "create_session")
	response, err := s.host.Create(ctx, req.GetSessionId(), made)
	end(err)
	if err != nil {
		return nil, statusOf(err)
	}
	return response, nil
}

// creationOf converts a request. The error is that it has not exactly one setup, which is not a
// rule of the proto, because rules are evaluated for every session.
func creationOf(req *toolhostv1.CreateSessionRequest) (host.Creation, error) {
	origin := host.SetupRef{Setup: req.GetSetup(), Digest: req.GetSetupDigest()}
	made := host.Creation{Origin: origin, Services: req.GetHostedServices(), Replay: req.GetReplay(), Answers: req.GetAnswers()}
	switch {
	case origin.Setup != nil && origin.Digest != "":
		return made, status.Error(codes.InvalidArgument, "setup, setup_digest: both are given, expected one of them")
	case origin.Setup == nil && origin.Digest == "":
		return made, status.Error(codes.InvalidArgument, "setup, setup_digest: neither is given, expected one of them")
	case origin.Setup == nil && (len(origin.Digest) != 2*sha256.Size || strings.Trim(origin.Digest, "0123456789abcdef") != ""):
		return made, status.Errorf(codes.InvalidArgument, "setup_digest: %.70q, expected %d lower-case hex digits", origin.Digest, 2*sha256.Size)
	}
	return made, nil
}

// Execute implements ToolHostService.
func (s *server) Execute(ctx context.Context, req *toolhostv1.ExecuteRequest) (*toolhostv1.ExecuteResponse, error) {
	if err := s.check(req.GetSessionId()); err != nil {
		return nil, err
	}
	if err := checkCalls(req.GetCalls(), req.Now); err != nil {
		return nil, err
	}
	start := time.Now()
	batch := host.Batch{Index: req.GetIndex(), Calls: req.GetCalls(), Now: req.Now, Digest: req.GetSessionDigest(), Failing: req.GetFailing()}
	response, err := s.host.Execute(ctx, req.GetSessionId(), batch, s.observer(ctx))
	if err != nil {
		err = statusOf(err)
	}
	s.meters.executed(ctx, start, err)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// checkCalls returns an error unless a request is a batch of calls of one sender or an
// interruption.
func checkCalls(calls []*worldv1.Message, now *float64) error {
	if len(calls) == 0 && now == nil {
		return status.Error(codes.InvalidArgument, "calls: none given, and no time at which an event interrupts")
	}
	for i, call := range calls {
		switch {
		case call.GetRecipient() != worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
			return status.Errorf(codes.InvalidArgument, "calls[%d]: addressed to %s", i, world.RoleName(call.GetRecipient()))
		case call.GetSender() != calls[0].GetSender():
			return status.Errorf(codes.InvalidArgument, "calls[%d]: sent by %s, those before by %s", i,
				world.RoleName(call.GetSender()), world.RoleName(calls[0].GetSender()))
		case call.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT:
			return status.Errorf(codes.InvalidArgument, "calls[%d]: sent by %s itself", i, world.RoleName(call.GetSender()))
		}
	}
	return nil
}

// RestoreSession implements ToolHostService.
func (s *server) RestoreSession(ctx context.Context, req *toolhostv1.RestoreSessionRequest) (*toolhostv1.RestoreSessionResponse, error) {
	create := req.GetCreate()
	if err := s.check(create.GetSessionId()); err != nil {
		return nil, err
	}
	creation, err := creationOf(create)
	if err != nil {
		return nil, err
	}
	for i, execution := range req.GetExecutions() {
		if err := checkCalls(execution.GetCalls(), execution.GetOutcome().Now); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "executions[%d].%s", i, status.Convert(err).Message())
		}
	}
	ctx, end := s.startSpan(ctx, "restore_session")
	repeated, dropped, err := s.host.Restore(ctx, create.GetSessionId(), creation, req.GetExecutions())
	end(err)
	if err != nil {
		return nil, statusOf(err)
	}
	s.meters.rebuilt.Add(ctx, 1)
	return &toolhostv1.RestoreSessionResponse{Repeated: int32(repeated), Dropped: int32(dropped)}, nil
}

// ReadTables implements ToolHostService.
func (s *server) ReadTables(ctx context.Context, req *toolhostv1.ReadTablesRequest) (*toolhostv1.ReadTablesResponse, error) {
	if err := s.check(req.GetSessionId()); err != nil {
		return nil, err
	}
	tables, err := s.host.Tables(ctx, req.GetSessionId(), req.GetIndex(), req.GetTables())
	if err != nil {
		return nil, statusOf(err)
	}
	return &toolhostv1.ReadTablesResponse{Tables: tables}, nil
}

// ListVersions implements ToolHostService.
func (s *server) ListVersions(req *toolhostv1.ListVersionsRequest, stream toolhostv1.ToolHostService_ListVersionsServer) error {
	if err := s.check(req.GetSessionId()); err != nil {
		return err
	}
	tables, err := s.host.Versions(stream.Context(), req.GetSessionId())
	if err != nil {
		return statusOf(err)
	}
	for _, table := range tables {
		if err := stream.Send(&toolhostv1.ListVersionsResponse{Table: table}); err != nil {
			return err
		}
	}
	return nil
}

// ListAnswers implements ToolHostService.
func (s *server) ListAnswers(req *toolhostv1.ListAnswersRequest, stream toolhostv1.ToolHostService_ListAnswersServer) error {
	if err := s.check(req.GetSessionId()); err != nil {
		return err
	}
	answers, err := s.host.Answers(stream.Context(), req.GetSessionId())
	if err != nil {
		return statusOf(err)
	}
	for _, answer := range answers {
		if err := stream.Send(&toolhostv1.ListAnswersResponse{Answer: answer}); err != nil {
			return err
		}
	}
	return nil
}

// GetSession implements ToolHostService.
func (s *server) GetSession(ctx context.Context, req *toolhostv1.GetSessionRequest) (*toolhostv1.GetSessionResponse, error) {
	if err := s.check(req.GetSessionId()); err != nil {
		return nil, err
	}
	session, err := s.host.Get(ctx, req.GetSessionId())
	if err != nil {
		return nil, statusOf(err)
	}
	return &toolhostv1.GetSessionResponse{Session: session}, nil
}

// ListSessions implements ToolHostService.
func (s *server) ListSessions(_ context.Context, req *toolhostv1.ListSessionsRequest) (*toolhostv1.ListSessionsResponse, error) {
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPageSize
	}
	sessions, more, err := s.host.List(req.GetPrefix(), req.GetPageToken(), size)
	if err != nil {
		return nil, statusOf(err)
	}
	response := &toolhostv1.ListSessionsResponse{Sessions: sessions}
	if more && len(sessions) > 0 {
		response.NextPageToken = sessions[len(sessions)-1].GetId()
	}
	return response, nil
}

// ForkSession implements ToolHostService.
func (s *server) ForkSession(ctx context.Context, req *toolhostv1.ForkSessionRequest) (*toolhostv1.ForkSessionResponse, error) {
	if err := s.check(req.GetSessionId()); err != nil {
		return nil, err
	}
	if err := s.check(req.GetNewSessionId()); err != nil {
		return nil, status.Errorf(codes.FailedPrecondition, "new_session_id: another tool host owns %s than %s", req.GetNewSessionId(), req.GetSessionId())
	}
	session, err := s.host.Fork(ctx, req.GetSessionId(), req.GetIndex(), req.GetNewSessionId(), req.GetReplay())
	if err != nil {
		return nil, statusOf(err)
	}
	return &toolhostv1.ForkSessionResponse{Session: session}, nil
}

// DeleteSession implements ToolHostService.
func (s *server) DeleteSession(ctx context.Context, req *toolhostv1.DeleteSessionRequest) (*toolhostv1.DeleteSessionResponse, error) {
	if err := s.host.Delete(ctx, req.GetSessionId()); err != nil {
		return nil, statusOf(err)
	}
	return &toolhostv1.DeleteSessionResponse{}, nil
}

// DeleteSessions implements ToolHostService.
func (s *server) DeleteSessions(ctx context.Context, req *toolhostv1.DeleteSessionsRequest) (*toolhostv1.DeleteSessionsResponse, error) {
	deleted, err := s.host.DeleteAll(ctx, req.GetSweepId()+".")
	if err != nil {
		return nil, statusOf(err)
	}
	return &toolhostv1.DeleteSessionsResponse{Sessions: int64(deleted)}, nil
}

// ListTools implements ToolHostService.
func (s *server) ListTools(_ context.Context, req *toolhostv1.ListToolsRequest) (*toolhostv1.ListToolsResponse, error) {
	schema, err := world.NewSchema(req.GetSchema())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "schema: %v", err)
	}
	catalogue, err := s.catalogue.Extend(tool.Pack{
		Modules: req.GetToolModules(), Servers: req.GetToolServers(), Backend: req.GetToolBackend(), Schema: schema,
	})
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "tools: %v", err)
	}
	return &toolhostv1.ListToolsResponse{Tools: listed(catalogue)}, nil
}

// TryTools implements ToolHostService.
func (s *server) TryTools(ctx context.Context, req *toolhostv1.TryToolsRequest) (*toolhostv1.TryToolsResponse, error) {
	faults, err := s.host.Try(ctx, req.GetSetup())
	if err != nil {
		return nil, statusOf(err)
	}
	response := &toolhostv1.TryToolsResponse{}
	for _, fault := range faults {
		response.Faults = append(response.Faults, &toolhostv1.ToolFault{
			File: fault.File, Line: int32(fault.Line), Column: int32(fault.Column), Tool: fault.Function, Reason: fault.Reason,
		})
	}
	return response, nil
}

// ListHosts implements ToolHostService.
func (s *server) ListHosts(context.Context, *toolhostv1.ListHostsRequest) (*toolhostv1.ListHostsResponse, error) {
	epoch, addresses := s.hosts()
	return &toolhostv1.ListHostsResponse{Epoch: epoch, Addresses: addresses}, nil
}
