package agentgw

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/plugin"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/random"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/script"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/player"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// errRole says that a player of this kind cannot play the role.
var errRole = errors.New("player cannot play this role")

// errTools says that a request names tools that are not stored.
var errTools = errors.New("role's tools")

// errRecord says that the record of turns could not be read or written.
var errRecord = errors.New("record of turns")

// Recorder keeps turns that cannot be computed again, and has the roles' tools; *bus.Bus is one.
type Recorder interface {
	// Tools returns the tools with a digest, bus.ErrNotFound if there are none.
	Tools(ctx context.Context, digest string) (*agentgwv1.ToolSet, error)
	// Turn returns what is stored for a message of a rollout with its revision, bus.ErrNotFound if
	// nothing is.
	Turn(ctx context.Context, rolloutID string, index int32) (raw []byte, revision uint64, err error)
	// RecordTurn stores a turn, or fails with bus.ErrExists if another one is stored.
	RecordTurn(ctx context.Context, turn bus.TurnRecord) error
}

// Relay carries turns of attached agents between the replicas of the gateway; a bus is one.
type Relay interface {
	// Ask delivers a request to a replica that answers to the name, or fails with bus.ErrNotFound.
	Ask(ctx context.Context, name string, request []byte) ([]byte, error)
	// Answer answers to a name until stop is called.
	Answer(name string, atOnce int, answer func(ctx context.Context, request []byte) []byte) (stop func() error, err error)
}

// Server implements AgentGatewayService. Safe for concurrent use; whoever makes it closes it.
type Server struct {
	agentgwv1.UnimplementedAgentGatewayServiceServer
	recorder   Recorder
	relay      Relay
	replicas   Replicas // nil if this is the only one
	replica    string   // this one's name
	plugins    *plugin.Dialer
	agents     *attach.Registry
	models     *model.Player
	tools      *lru.Cache[string, *turn.Tools]
	priorTurns *lru.Cache[turnKey, *model.PriorTurn]
	turns      turns
	ended      cancellations
	tracer     trace.Tracer
}

// NewServer returns a server that keeps turns in the recorder and reaches agents at other replicas
// over the relay. It expects requests that satisfy the rules of their
// proto. Requests to model providers begin at once: only Run gives them budgets.
func NewServer(cfg Config, recorder Recorder, relay Relay) (*Server, error) {
	prices, err := cfg.check()
	if err != nil {
		return nil, err
	}
	return newServer(cfg, prices, nil, recorder, relay, nil)
}

// newServer is NewServer with prices and budgets, of which the caller keeps the care.
func newServer(
	cfg Config, prices *pricing.Table, budget *ratelimit.Limiter, recorder Recorder, relay Relay, replicas Replicas,
) (*Server, error) {
	tools, err := lru.New[string, *turn.Tools](cfg.ToolSets)
	if err != nil {
		return nil, fmt.Errorf("cache of tool sets: %w", err)
	}
	priorTurns, err := lru.New[turnKey, *model.PriorTurn](maxNatives)
	if err != nil {
		return nil, fmt.Errorf("cache of turns: %w", err)
	}
	dialects, err := dialect.Load(cfg.TemplateDir)
	if err != nil {
		return nil, fmt.Errorf("--agentgw-template-dir: %w", err)
	}
	roots, err := cfg.roots()
	if err != nil {
		return nil, err
	}
	agents := attach.New(relay, cfg.PluginMessageBytes, cmp.Or(cfg.RetryWait, attach.FirstPause))
	plugins := plugin.NewDialer(plugin.Config{
		Connections: cfg.PluginConnections, MessageBytes: cfg.PluginMessageBytes, TurnBytes: cfg.PluginTurnBytes, RetryWait: cfg.RetryWait, Roots: roots,
	}, agents)
	models := model.NewPlayer(model.Config{
		AnswerBytes: cfg.ModelAnswerBytes, TurnBytes: cfg.ModelTurnBytes, RetryWait: cfg.RetryWait, Connections: cfg.ModelConnections,
		BaseURLs: cfg.ModelBaseURLs, ExchangeBytes: cfg.ModelExchangeBytes, Providers: providers.All(dialects), Prices: prices, Budget: budget, Getenv: cfg.Getenv,
	})
	replica := ""
	if replicas != nil {
		replica = replicas.Name()
	}
	return &Server{
		recorder: recorder, relay: relay, replicas: replicas, replica: replica, plugins: plugins, agents: agents, models: models, tools: tools, priorTurns: priorTurns,
		tracer: otel.Tracer("agentgw"),
	}, nil
}

// Close closes the connections to plug-ins and to providers.
func (s *Server) Close() error {
	s.models.Close()
	return s.plugins.Close()
}

// Respond implements AgentGatewayService.
func (s *Server) Respond(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	return s.atOwner(ctx, req)
}

// play plays a turn here.
func (s *Server) play(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	ctx, span := s.start(ctx, req)
	defer span.End()
	turn, end := s.ended.begin(ctx, req)
	response, err := s.respond(turn, req)
	err = held(turn, err)
	end()
	if hold, held := errors.AsType[*model.Throttled](err); held {
		response, err = &agentgwv1.RespondResponse{Hold: &agentgwv1.Hold{Spent: hold.Spent, Detail: hold.Error()}}, nil
	}
	if err != nil {
		span.SetStatus(otelcodes.Error, err.Error())
		return nil, stated(err)
	}
	if failure := response.GetFailure(); failure != nil {
		span.SetStatus(otelcodes.Error, failure.GetDetail())
	}
	if usage := response.GetUsage(); pricing.Counted(usage) {
		span.SetAttributes(
			attribute.Int64("gen_ai.usage.input_tokens", usage.GetInputTokens()),
			attribute.Int64("gen_ai.usage.output_tokens", usage.GetOutputTokens()),
		)
	}
	return response, nil
}

// respond lets the player play. Only what cannot be computed again is recorded.
func (s *Server) respond(ctx context.Context, req *agentgwv1.RespondRequest) (*agentgwv1.RespondResponse, error) {
	if !slices.Contains(player.Roles(req.GetPlayer()), req.GetRole()) {
		return nil, fmt.Errorf("%w: %s as %s", errRole, req.GetPlayer().GetName(), world.RoleText(req.GetRole()))
	}
	tools, err := s.toolsOf(ctx, req)
	if err != nil {
		return nil, err
	}
	switch req.GetPlayer().GetKind().(type) {
	case *agentgwv1.Player_Scripted:
		return played(script.Respond(req, tools))
	case *agentgwv1.Player_Unhelpful:
		return played(script.Refuse(req), nil)
	case *agentgwv1.Player_Random:
		return played(random.Respond(req, tools))
	case *agentgwv1.Player_Plugin:
		return s.recorded(ctx, req, func(*agentgwv1.RecordedTurn) (*agentgwv1.RecordedTurn, error) {
			response, err := s.plugins.Respond(ctx, req, tools)
			if err != nil {
				return nil, err
			}
			return &agentgwv1.RecordedTurn{Reply: &agentgwv1.Reply{Messages: response.GetMessages(), Failure: response.GetFailure()}}, nil
		})
	case *agentgwv1.Player_Model:
		if model.NoReplyNeeded(req.GetView()) {
			return &agentgwv1.RespondResponse{}, nil
		}
		return s.recorded(ctx, req, func(earlier *agentgwv1.RecordedTurn) (*agentgwv1.RecordedTurn, error) {
			return s.models.Respond(ctx, req, tools, s.priorTurn, earlier)
		})
	default:
		return nil, fmt.Errorf("%w: no kind of player is set", errRole)
	}
}

// played makes the answer out of a turn: its messages, or the failure that a mistake is.
func played(messages []*worldv1.Message, err error) (*agentgwv1.RespondResponse, error) {
	var mistake *turn.Mistake
	if errors.As(err, &mistake) {
		return turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_MODEL, mistake.Exception, mistake.Detail), nil
	}
	if err != nil {
		return nil, err
	}
	return &agentgwv1.RespondResponse{Messages: messages}, nil
}

// toolsOf returns the role's tools; any tool if the request says nothing about them.
func (s *Server) toolsOf(ctx context.Context, req *agentgwv1.RespondRequest) (*turn.Tools, error) {
	digest := req.GetToolSetDigest()
	switch {
	case len(req.GetTools()) > 0:
		return turn.NewTools(req.GetTools()), nil
	case digest == "":
		return turn.AnyTools(), nil
	}
	if known, ok := s.tools.Get(digest); ok {
		return known, nil
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

// start opens the span of a turn, named and described as OpenTelemetry's conventions for generative
// AI ask.
func (s *Server) start(ctx context.Context, req *agentgwv1.RespondRequest) (context.Context, trace.Span) {
	operation := "chat"
	if req.GetPlayer().GetPlugin() != nil {
		operation = "invoke_agent"
	}
	name := req.GetPlayer().GetName()
	ctx, span := s.tracer.Start(ctx, operation+" "+name, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("gen_ai.operation.name", operation),
			attribute.String("gen_ai.agent.name", name),
			attribute.String("gen_ai.conversation.id", req.GetRolloutId()),
			attribute.String("toolsandbox.role", world.RoleText(req.GetRole())),
			attribute.Int("toolsandbox.message.index", int(req.GetIndex())),
		)
		if m := req.GetPlayer().GetModel(); m != nil {
			span.SetAttributes(
				attribute.String("gen_ai.provider.name", m.GetProvider()),
				attribute.String("gen_ai.request.model", m.GetModel()),
			)
		}
	}
	return ctx, span
}

// stated returns an error with its gRPC code and, where that is known, whose fault it is.
func stated(err error) error {
	said := status.New(code(err), err.Error())
	var class agentgwv1.FailureClass
	failure, asked := errors.AsType[*provider.Failure](err)
	switch {
	case asked:
		class = failure.Class()
	case errors.Is(err, plugin.ErrUnavailable):
		class = agentgwv1.FailureClass_FAILURE_CLASS_NETWORK
	case errors.Is(err, plugin.ErrTimeout), errors.Is(err, plugin.ErrAgain):
		class = agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
	default:
		return said.Err()
	}
	return withFailure(said, &agentgwv1.Failure{Class: class})
}

// withFailure returns a status as an error that says whose fault it is, where that is known.
func withFailure(said *status.Status, failure *agentgwv1.Failure) error {
	if failure == nil {
		return said.Err()
	}
	if detailed, err := said.WithDetails(failure); err == nil {
		said = detailed
	}
	return said.Err()
}

// code is the table from errors to gRPC codes. The first row that fits counts.
func code(err error) codes.Code {
	for _, row := range []struct {
		err  error
		code codes.Code
	}{
		{errRecord, codes.Unavailable},
		{bus.ErrAway, codes.Unavailable},
		{errTools, codes.NotFound},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{errRole, codes.InvalidArgument},
		{plugin.ErrAddress, codes.InvalidArgument},
		{plugin.ErrTimeout, codes.DeadlineExceeded},
		{plugin.ErrUnavailable, codes.Unavailable}, // nobody was asked
		{plugin.ErrAgain, codes.Aborted},           // was asked often enough: UNAVAILABLE would be tried again at once
		{plugin.ErrBusy, codes.Unavailable},        // passes, and another replica may have room
		{model.ErrTimeout, codes.DeadlineExceeded},
		{model.ErrUnavailable, codes.Aborted}, // was tried often enough: UNAVAILABLE would be tried again at once
	} {
		if errors.Is(err, row.err) {
			return row.code
		}
	}
	return codes.Internal
}
