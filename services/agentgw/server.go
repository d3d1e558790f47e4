package agentgw

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/plugin"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// errView: a request without the conversation.
var errView = errors.New("view: expected at least one message")

// errRole: a player of this kind cannot play the role.
var errRole = errors.New("player cannot play this role")

// errTools: a request names tools that are not stored.
var errTools = errors.New("role's tools")

// errRecord: the record of turns could not be read or written.
var errRecord = errors.New("record of turns")

// Recorder stores turns that cannot be computed again, and reads tool sets. bus.AgentGateway
// implements it.
type Recorder interface {
	// Tools returns the tools with a digest. The error is bus.ErrNotFound if there are none.
	Tools(ctx context.Context, digest string) (*agentgwv1.ToolSet, error)
	// Turn returns what is stored for a message of a rollout with its revision. The error is
	// bus.ErrNotFound if nothing is stored.
	Turn(ctx context.Context, rolloutID string, index int32) (raw []byte, revision uint64, err error)
	// RecordTurn stores a turn. The error is bus.ErrExists if another one is stored.
	RecordTurn(ctx context.Context, turn bus.TurnRecord) error
}

// Server implements AgentGatewayService. Safe for concurrent use. The caller closes it.
type Server struct {
	agentgwv1.UnimplementedAgentGatewayServiceServer
	life      context.Context // until it is done, answers wait to be recorded
	recorder  Recorder
	relay     attach.Relay
	replicas  Replicas // nil if this is the only one
	replica   string   // this one's name
	plugins   *plugin.Dialer
	agents    *attach.Registry
	models    *model.Player
	tools     *lru.Cache[string, *turn.Tools]
	history   *history
	turns     turns
	cancelled cancellations
	tracer    trace.Tracer
	content   bool // spans have messages
}

// newServer returns a server that records turns with the recorder and reaches agents at other
// replicas over the relay. It expects requests that satisfy the validation rules of their proto. A
// nil limiter limits no requests to model providers. The caller closes the limiter. Answers that
// cannot be recorded are kept until life is done.
func newServer(
	life context.Context, cfg Config, prices *pricing.Table, budget *ratelimit.Limiter, recorder Recorder, relay attach.Relay, replicas Replicas, logger *slog.Logger,
) (*Server, error) {
	tools, err := lru.New[string, *turn.Tools](cfg.ToolSets)
	if err != nil {
		return nil, fmt.Errorf("cache of tool sets: %w", err)
	}
	past, err := newHistory()
	if err != nil {
		return nil, err
	}
	dialects, err := dialect.Load(cfg.TemplateDir)
	if err != nil {
		return nil, fmt.Errorf("--agentgw-template-dir: %w", err)
	}
	roots, err := cfg.roots()
	if err != nil {
		return nil, err
	}
	agents := attach.New(relay, cfg.PluginMessageBytes, cmp.Or(cfg.RetryWait, attach.InitialBackoff), logger)
	plugins := plugin.NewDialer(plugin.Config{
		Connections: cfg.PluginConnections, MessageBytes: cfg.PluginMessageBytes, TurnBytes: cfg.PluginTurnBytes, RetryWait: cfg.RetryWait, Roots: roots,
	}, agents)
	models, err := model.NewPlayer(model.Config{
		AnswerBytes: cfg.ModelAnswerBytes, TurnBytes: cfg.ModelTurnBytes, RetryWait: cfg.RetryWait, Connections: cfg.ModelConnections,
		BaseURLs: cfg.ModelBaseURLs, ExchangeBytes: cfg.ModelExchangeBytes, Providers: providers.All(dialects), Prices: prices, Budget: budget, Getenv: cfg.Getenv,
		Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	replica := ""
	if replicas != nil {
		replica = replicas.Name()
	}
	return &Server{
		life: life, recorder: recorder, relay: relay, replicas: replicas, replica: replica, plugins: plugins, agents: agents, models: models, tools: tools, history: past,
		tracer: otel.Tracer(telemetry.Scope),
	}, nil
}

// Close closes the connections to plug-ins and to providers.
func (s *Server) Close() error {
	s.models.Close()
	return s.plugins.Close()
}

// playHere plays a turn at this replica.
func (s *Server) playHere(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	ctx, span := s.startSpan(ctx, req)
	defer span.End()
	turn, end := s.cancelled.begin(ctx, req)
	response, err := s.respond(turn, req)
	err = throttleIfCancelled(turn, err)
	end()
	return s.traceTurn(span, req, response, err)
}

// respond asks the player for its turn. It records only what cannot be computed again.
func (s *Server) respond(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	if !s.canPlay(req.GetPlayer(), req.GetRole()) {
		return nil, fmt.Errorf("%w: %s as %s", errRole, req.GetPlayer().GetName(), world.RoleName(req.GetRole()))
	}
	if len(req.GetView()) == 0 {
		return nil, errView
	}
	tools, err := s.toolsOf(ctx, req)
	if err != nil {
		return nil, err
	}
	switch req.GetPlayer().GetKind().(type) {
	case *agentgwv1.Player_Plugin:
		return s.recordedTurn(ctx, req, func(*agentgwv1.RecordedTurn) (*agentgwv1.RecordedTurn, error) {
			response, err := s.plugins.Respond(ctx, req, tools)
			if err != nil {
				return nil, err
			}
			return &agentgwv1.RecordedTurn{Reply: &agentgwv1.Reply{
				Messages: response.GetMessages(), Failure: response.GetFailure(), AnsweredBy: response.GetAnsweredBy(), Confidence: response.Confidence,
			}}, nil
		})
	case *agentgwv1.Player_Model:
		if model.NoReplyNeeded(req.GetView()) {
			return &agentgwv1.RespondResponse{}, nil
		}
		return s.recordedTurn(ctx, req, func(earlier *agentgwv1.RecordedTurn) (*agentgwv1.RecordedTurn, error) {
			return s.models.Respond(ctx, req, tools, s.priorTurn, earlier)
		})
	default:
		return nil, fmt.Errorf("%w: no kind of player is set", errRole)
	}
}

// canPlay reports whether a player can play a role.
func (s *Server) canPlay(p *agentgwv1.Player, role worldv1.Role) bool {
	switch p.GetKind().(type) {
	case *agentgwv1.Player_Model:
		return s.models.CanPlay(p.GetModel(), role)
	case *agentgwv1.Player_Plugin:
		return role == worldv1.Role_ROLE_AGENT || role == worldv1.Role_ROLE_USER
	}
	return false
}

// toolsOf returns the role's tools, or turn.AnyTools for a request without tools and digest.
func (s *Server) toolsOf(ctx context.Context, req *agentgwv1.RespondRequest) (*turn.Tools, error) {
	digest := req.GetToolSetDigest()
	switch {
	case len(req.GetTools()) > 0:
		return turn.NewTools(req.GetTools()), nil
	case digest == "":
		return turn.AnyTools(), nil
	}
	if cached, ok := s.tools.Get(digest); ok {
		return cached, nil
	}
	set, err := s.recorder.Tools(ctx, digest)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", errTools, err)
	}
	if err != nil {
		return nil, err
	}
	tools := turn.NewTools(set.GetTools())
	s.tools.Add(digest, tools)
	return tools, nil
}

// statusError returns an error with its gRPC code and, where it is known, its failure class.
func statusError(err error) error {
	st := status.New(code(err), err.Error())
	var class agentgwv1.FailureClass
	failure, ok := errors.AsType[*provider.Failure](err)
	switch {
	case ok:
		class = failure.Class()
	case errors.Is(err, plugin.ErrUnavailable):
		class = agentgwv1.FailureClass_FAILURE_CLASS_NETWORK
	case errors.Is(err, plugin.ErrTimeout), errors.Is(err, plugin.ErrRetriesExhausted):
		class = agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
	default:
		return st.Err()
	}
	return withFailure(st, &agentgwv1.Failure{Class: class})
}

// withFailure returns a status as an error with the failure as detail, if it is not nil.
func withFailure(st *status.Status, failure *agentgwv1.Failure) error {
	if failure == nil {
		return st.Err()
	}
	if detailed, err := st.WithDetails(failure); err == nil {
		st = detailed
	}
	return st.Err()
}

// code maps errors to gRPC codes.
func code(err error) codes.Code {
	return rpc.ErrorCodes{
		{Err: errRecord, Code: codes.Unavailable},
		{Err: bus.ErrUnavailable, Code: codes.Unavailable},
		{Err: errTools, Code: codes.NotFound},
		{Err: context.Canceled, Code: codes.Canceled},
		{Err: context.DeadlineExceeded, Code: codes.DeadlineExceeded},
		{Err: errRole, Code: codes.InvalidArgument},
		{Err: errView, Code: codes.InvalidArgument},
		{Err: plugin.ErrAddress, Code: codes.InvalidArgument},
		{Err: plugin.ErrTimeout, Code: codes.DeadlineExceeded},
		{Err: plugin.ErrUnavailable, Code: codes.Unavailable},        // no agent was asked
		{Err: plugin.ErrRetriesExhausted, Code: codes.Aborted},       // retries are used up: gRPC would repeat UNAVAILABLE at once
		{Err: plugin.ErrTooManyConnections, Code: codes.Unavailable}, // transient, and another replica may have room
		{Err: model.ErrTimeout, Code: codes.DeadlineExceeded},
		{Err: model.ErrUnavailable, Code: codes.Aborted}, // retries are used up: gRPC would repeat UNAVAILABLE at once
	}.Code(err)
}
