// Package plugin plays an agent that serves toolsandbox.agent.v1.AgentService elsewhere, or that
// attached itself. It sends the agent the conversation and turns its answer into messages. A faulty
// agent affects only its own rollout.
package plugin

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/attach"

	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrUnavailable means that no attempt reached the plug-in.
var ErrUnavailable = errors.New("plug-in cannot be reached")

// ErrRetriesExhausted means that attempts reached the plug-in, but it could not answer or the
// connection broke.
var ErrRetriesExhausted = errors.New("plug-in cannot answer now")

// ErrTimeout means that the plug-in did not answer within its time.
var ErrTimeout = errors.New("plug-in did not answer in time")

const (
	defaultTimeout = time.Minute
	// maxCalls bounds the calls of one turn.
	maxCalls = 128
)

// Config bounds the cost of plug-ins.
type Config struct {
	// Connections is the largest number of concurrent connections.
	Connections int
	// MessageBytes bounds one gRPC message to or from a plug-in.
	MessageBytes int
	// TurnBytes bounds the messages of one answer.
	TurnBytes int
	// RetryWait is the first wait before a call that may succeed later is retried. Later waits are
	// longer. 0 selects the default.
	RetryWait time.Duration
	// Roots are the authorities to trust at grpcs:// addresses. Nil selects the system's.
	Roots *x509.CertPool
}

// Attached asks agents that attached themselves.
type Attached interface {
	// Act asks an agent for a turn, and returns the process that answered. Errors:
	// attach.ErrNotAttached, attach.ErrNoAnswer, attach.ErrRetriesExhausted, attach.ErrUnsendable,
	// and, with the process, a gRPC status that the agent answered, except UNAVAILABLE and CANCELLED.
	Act(ctx context.Context, at attach.Address, act *agentv1.ActRequest) (*agentv1.ActResponse, *agentgwv1.Instance, error)
}

// Dialer asks plug-ins for turns. Safe for concurrent use. The caller of NewDialer closes it.
type Dialer struct {
	cfg      Config
	conns    *pool
	attached Attached
}

// NewDialer returns a dialer without connections.
func NewDialer(cfg Config, attached Attached) *Dialer {
	return &Dialer{cfg: cfg, conns: newPool(cfg), attached: attached}
}

// Close closes all connections. Turns in flight fail with ErrUnavailable.
func (d *Dialer) Close() error { return d.conns.close() }

// Respond asks a plug-in for its turn. A mistake of the plug-in is a failure in the answer. Errors:
// ErrAddress, ErrTooManyConnections, ErrUnavailable, ErrRetriesExhausted, ErrTimeout or that of
// ctx.
func (d *Dialer) Respond(ctx context.Context, req *agentgwv1.RespondRequest, tools *turn.Tools) (*agentgwv1.RespondResponse, error) {
	act := actRequest(req, tools)
	answer, instance, err := d.act(ctx, req.GetPlayer().GetPlugin(), act)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	response, err := d.respond(req, tools, act, answer, err)
	if err != nil {
		return nil, err
	}
	response.AnsweredBy = instance
	return response, nil
}

// respond turns an answer, or the error that came instead, into a response.
func (d *Dialer) respond(req *agentgwv1.RespondRequest, tools *turn.Tools, act *agentv1.ActRequest, answer *agentv1.ActResponse, err error) (*agentgwv1.RespondResponse, error) {
	role := strings.ToLower(world.RoleName(req.GetRole()))
	switch {
	case errors.Is(err, errAgentFailed):
		return turn.Failed(classOf(req.GetRole()), exceptionRemote, shorten("the "+role+" "+err.Error(), maxReason)), nil
	case errors.Is(err, errUnavailable), errors.Is(err, errConversationEnded):
		return turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER, exceptionRemote, shorten("the "+role+" "+err.Error(), maxReason)), nil
	case err != nil:
		return nil, err
	}
	if raised := answer.GetRaised(); raised != nil {
		exception, detail := raisedFailure(raised, act, role)
		return turn.Failed(classOf(req.GetRole()), exception, detail), nil
	}
	return d.compose(req, tools, answer)
}

// act asks a plug-in. instance is the process that answered as an attached agent, nil for others.
func (d *Dialer) act(ctx context.Context, player *agentgwv1.Plugin, act *agentv1.ActRequest) (answer *agentv1.ActResponse, instance *agentgwv1.Instance, err error) {
	timeout := time.Duration(player.GetTimeoutMs()) * time.Millisecond
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	act.Traceparent = telemetry.Traceparent(ctx)
	if player.GetAddress() == "" {
		return d.actAttached(ctx, attach.Address{Name: player.GetAttached(), Secret: player.GetSecretDigest()}, act, timeout)
	}
	answer, err = d.actDialled(ctx, player.GetAddress(), act, timeout)
	return answer, nil, err
}

// actDialled asks a plug-in at an address.
func (d *Dialer) actDialled(ctx context.Context, address string, act *agentv1.ActRequest, timeout time.Duration) (*agentv1.ActResponse, error) {
	conn, release, err := d.conns.acquire(address)
	if err != nil {
		return nil, err
	}
	defer release()
	if act.GetTraceparent() != "" { // for instrumented servers
		ctx = metadata.AppendToOutgoingContext(ctx, telemetry.TraceparentHeader, act.GetTraceparent())
	}
	var reached peer.Peer // has no address if no attempt connected
	answer, err := agentv1.NewAgentServiceClient(conn).Act(ctx, act, grpc.Peer(&reached))
	if err == nil {
		return answer, nil
	}
	detail := status.Convert(err)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %s, turn %d, limit %s", ErrTimeout, address, act.GetTurn(), timeout)
	case detail.Code() == codes.Unavailable && reached.Addr == nil:
		return nil, fmt.Errorf("%w: %s: %s%s", ErrUnavailable, address, shorten(detail.Message(), maxReason), tlsHint(address, detail.Message()))
	}
	return nil, statusError(address, act, detail)
}

// actAttached asks an attached agent. The agent may attach itself while the turn waits.
func (d *Dialer) actAttached(
	ctx context.Context, at attach.Address, act *agentv1.ActRequest, limit time.Duration,
) (*agentv1.ActResponse, *agentgwv1.Instance, error) {
	if err := attach.CheckName(at.Name); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrAddress, err)
	}
	answer, instance, err := d.attached.Act(ctx, at, act)
	switch {
	case errors.Is(err, attach.ErrUnsendable):
		return nil, nil, fmt.Errorf("%w: %s, turn %d: %w", errUnavailable, at, act.GetTurn(), err)
	case errors.Is(err, attach.ErrRetriesExhausted):
		return nil, nil, fmt.Errorf("%w: %s, turn %d: %s", ErrRetriesExhausted, at, act.GetTurn(), shorten(err.Error(), maxReason))
	}
	if st, answered := status.FromError(err); answered && err != nil {
		return nil, instance, statusError(at.Name, act, st)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s, turn %d, limit %s: %w", ErrTimeout, at, act.GetTurn(), limit, err)
	}
	return answer, instance, nil
}

// compose turns an answer into messages. Calls take precedence over text.
func (d *Dialer) compose(req *agentgwv1.RespondRequest, tools *turn.Tools, answer *agentv1.ActResponse) (*agentgwv1.RespondResponse, error) {
	if n := len(answer.GetCalls()); n > maxCalls {
		return d.invalidAnswer("%d calls in one turn, expected at most %d", n, maxCalls), nil
	}
	if n := proto.Size(answer); n > d.cfg.TurnBytes {
		return d.invalidAnswer("an answer of %d bytes, expected at most %d", n, d.cfg.TurnBytes), nil
	}
	if c := answer.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		return d.invalidAnswer("a confidence of %v, expected 0 to 1", *c), nil
	}
	messages, err := compose(req, tools, answer)
	var mistake *turn.Mistake
	if errors.As(err, &mistake) {
		return turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_MODEL, mistake.Exception, mistake.Detail), nil
	}
	if err != nil {
		return nil, err
	}
	response := &agentgwv1.RespondResponse{Messages: messages, Confidence: answer.Confidence}
	if n := proto.Size(response); n > d.cfg.TurnBytes {
		return d.invalidAnswer("messages of %d bytes, expected at most %d", n, d.cfg.TurnBytes), nil
	}
	return response, nil
}

func (d *Dialer) invalidAnswer(format string, args ...any) *agentgwv1.RespondResponse {
	return turn.Failed(agentgwv1.FailureClass_FAILURE_CLASS_MODEL, exceptionAnswer, "plug-in answered "+fmt.Sprintf(format, args...))
}

func compose(req *agentgwv1.RespondRequest, tools *turn.Tools, answer *agentv1.ActResponse) ([]*worldv1.Message, error) {
	composer := turn.Composer{Role: req.GetRole(), Index: req.GetIndex(), Compat: req.GetCompat()}
	switch {
	case len(answer.GetCalls()) > 0:
	case answer.Code != nil:
		return composer.Code(answer.GetCode()), nil
	default:
		return composer.Say(answer.GetText()), nil
	}
	calls := make([]turn.Call, len(answer.GetCalls()))
	for i, call := range answer.GetCalls() {
		calls[i] = turn.Call{ID: &call.Id, IDRule: turn.IndexID, Name: call.GetName(), Arguments: call.GetArgumentsJson()}
	}
	messages, _, err := composer.Calls(calls, tools)
	return messages, err
}
