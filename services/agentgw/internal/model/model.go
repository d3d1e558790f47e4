// Package model plays a role with a language model. It encodes the conversation in the wire format
// of the model's provider, sends it over HTTP, and turns the answer into messages.
package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/httpclient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/retry"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrUnavailable means that the provider kept failing, and the failure may pass.
var ErrUnavailable = errors.New("provider cannot answer now")

// ErrTimeout means that the provider did not answer in time.
var ErrTimeout = errors.New("provider did not answer in time")

const (
	defaultTimeout  = 100 * time.Second
	defaultAttempts = 5
	// maxCalls bounds the calls of one turn.
	maxCalls = 128
	// Exception types of failures that the original does not have, and of a view that does not end
	// with the role's turn.
	exceptionAnswer   = "ValueError"
	exceptionProvider = "RuntimeError"
	exceptionTurn     = "KeyError"
)

// Config bounds the cost of models and says where their keys are.
type Config struct {
	// AnswerBytes bounds the body of one response.
	AnswerBytes int64
	// TurnBytes bounds the messages of one answer.
	TurnBytes int
	// ExchangeBytes bounds the stored exchange of one turn.
	ExchangeBytes int
	// RetryWait is the first wait before a failed request is retried. It doubles. 0 selects the
	// default.
	RetryWait time.Duration
	// Connections is the number of idle connections to each provider.
	Connections int
	// BaseURLs are the addresses that players may name besides the official ones and those of the
	// environment. "*" allows all.
	BaseURLs []string
	// Providers are all known providers.
	Providers []provider.Spec
	// Prices are the prices of models. Nil leaves the cost of turns unknown.
	Prices *pricing.Table
	// Budget limits requests. Nil sets no limit.
	Budget *ratelimit.Limiter
	// Getenv returns an environment variable, "" if it is unset. It is called concurrently.
	Getenv func(name string) string
	// Logger gets warnings about models.
	Logger *slog.Logger
}

// Player plays roles with models. Safe for concurrent use. The caller of NewPlayer closes it.
type Player struct {
	cfg    Config
	client *httpclient.Client
	forms  formMemory
	meters *meters

	asked, limited load

	life  context.Context // done when the process ends
	abort context.CancelFunc
}

// NewPlayer returns a player without connections. The error is that of its metrics.
func NewPlayer(cfg Config) (*Player, error) {
	meters, err := newMeters()
	if err != nil {
		return nil, err
	}
	life, abort := context.WithCancel(context.Background())
	return &Player{
		cfg: cfg, client: httpclient.NewClient(cfg.AnswerBytes, cfg.Connections), meters: meters,
		life: life, abort: abort,
	}, nil
}

// Close aborts and closes idle connections.
func (p *Player) Close() {
	p.abort()
	p.client.Close()
}

// Abort cancels requests without a waiting caller, now and later. The process calls it when it
// ends.
func (p *Player) Abort() { p.abort() }

// sendContext returns the context of a request to a provider. A request in flight is paid for, so
// it continues after its caller is gone. The next request for the turn finds its answer.
func (p *Player) sendContext(ctx context.Context) (context.Context, context.CancelFunc) {
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(p.life, func() { context.AfterFunc(ctx, cancel) })
	return sending, func() { stop(); cancel() }
}

// NoReplyNeeded reports whether no role has to speak: the view ends with a configuration message
// from SYSTEM.
func NoReplyNeeded(view []*worldv1.Message) bool {
	return len(view) > 0 && view[len(view)-1].GetSender() == worldv1.Role_ROLE_SYSTEM
}

// Respond asks the model for its turn. A mistake of the model beyond repair is a failure in the
// reply. earlier is the record of this turn, nil if there is none. The returned turn extends its
// exchange, also beside an error. An answer that arrived is composed even if the caller is gone.
// Errors: ErrUnavailable, ErrTimeout, a *Throttled, that of history or of ctx.
func (p *Player) Respond(
	ctx context.Context, req *agentgwv1.RespondRequest, tools *turn.Tools, history History, earlier *agentgwv1.RecordedTurn,
) (*agentgwv1.RecordedTurn, error) {
	view := req.GetView()
	// If the last message is hidden from the role, the view ends with an earlier one, and the role
	// answers that.
	if last := view[len(view)-1]; last.GetIndex() == req.GetIndex()-1 && last.GetRecipient() != req.GetRole() {
		return failedTurn(agentgwv1.FailureClass_FAILURE_CLASS_MODEL, exceptionTurn, "the conversation's last message is not for this role"), nil
	}
	model := req.GetPlayer().GetModel()
	spec, err := p.spec(model)
	if err != nil {
		return failedTurn(agentgwv1.FailureClass_FAILURE_CLASS_INTERNAL, exceptionProvider, err.Error()), nil
	}
	tools = tools.OrNone()
	query, err := p.query(ctx, req, tools, spec, history)
	if err != nil {
		return nil, err
	}
	answer, recorded, err := p.ask(ctx, req, spec, query, earlier)
	failure, isFailure := errors.AsType[*provider.Failure](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return recorded, ctx.Err()
	case isFailure && failure.Refusal != "" && !req.GetCompat():
		recorded.Reply = p.compose(req, spec, tools, &provider.Answer{EmptyReason: failure.Error(), Refusal: failure.Refusal})
	case isFailure:
		if failure.ContextOverflow = failure.ContextOverflow && !req.GetCompat(); failure.ContextOverflow {
			failure.Retryable = false
		}
		recorded.Reply, err = p.replyToFailure(model, failure)
	case err == nil:
		if recorded.Reply = p.compose(req, spec, tools, answer); UserSimulatorFault(req, recorded.GetReply().GetFailure()) {
			tries := recorded.GetExchange().GetAttempts()
			last := tries[len(tries)-1]
			last.Failure = strings.ToValidUTF8(recorded.GetReply().GetFailure().GetDetail(), "?")
		}
	}
	if failure := recorded.GetReply().GetFailure(); failure != nil && req.GetRole() == worldv1.Role_ROLE_USER {
		failure.Detail = "the simulated user: " + failure.GetDetail()
	}
	return recorded, err
}

// query builds the query to the model.
func (p *Player) query(ctx context.Context, req *agentgwv1.RespondRequest, tools *turn.Tools, spec *provider.Spec, history History) (*provider.Query, error) {
	query := &provider.Query{Model: req.GetPlayer().GetModel(), Tools: tools.List(), ToolText: tools.Text(), Compat: req.GetCompat()}
	if first := query.Model.Seed; first != nil {
		query.Seed = proto.Int64((*first + int64(req.GetTrial())) & math.MaxInt32)
	}
	if query.Tools == nil {
		query.Tools = []*worldv1.Tool{}
	}
	if req.GetPrompt() != "" {
		setPrompt(query, req.GetPrompt(), spec.Reasoning)
		return query, nil
	}
	view := req.GetView()
	if req.GetRole() == worldv1.Role_ROLE_USER {
		query.PlaysUser, query.Transcript = true, conversation.UserView(view, tools.HasUserTools())
		if view[len(view)-1].GetSender() != worldv1.Role_ROLE_AGENT && !tools.HasUserTools() {
			query.Tools = nil
		}
	} else {
		query.Transcript = conversation.AgentView(view)
	}
	if !query.Compat {
		conversation.UniqueIDs(query.Transcript)
	}
	if !spec.ReplaysNative {
		return query, nil
	}
	query.Native = make(map[int32][]byte)
	hasOwn := false
	for _, entry := range query.Transcript {
		speaks := entry.Kind == conversation.ToolCall || entry.Kind == conversation.Assistant
		if begins := speaks && !hasOwn; begins {
			past, err := history(ctx, req.GetRolloutId(), entry.Index)
			if err != nil {
				return nil, err
			}
			if past != nil && len(past.Native) > 0 && past.Provider == query.Model.GetProvider() {
				query.Native[entry.Index] = past.Native
			}
		}
		hasOwn = speaks
	}
	return query, nil
}

// UserSimulatorFault reports whether a failure is one of the user simulator, which does not count
// against the agent. With compat it does count, as in the original.
func UserSimulatorFault(req *agentgwv1.RespondRequest, failure *agentgwv1.Failure) bool {
	return failure.GetClass() == agentgwv1.FailureClass_FAILURE_CLASS_MODEL && req.GetRole() == worldv1.Role_ROLE_USER && !req.GetCompat()
}

// ask sends the request until an answer can be decoded, and returns the exchange. The error is a
// *provider.Failure, a *Throttled or one of encoding.
func (p *Player) ask(
	ctx context.Context, req *agentgwv1.RespondRequest, spec *provider.Spec, query *provider.Query, earlier *agentgwv1.RecordedTurn,
) (*provider.Answer, *agentgwv1.RecordedTurn, error) {
	q, err := p.newAttempt(ctx, req, spec, query, earlier.GetExchange())
	if err != nil {
		return nil, &agentgwv1.RecordedTurn{}, err
	}
	err = q.deferRefusal(p.retryPolicy(req.GetPlayer().GetModel()).Do(ctx, q.try))
	if q.answer != nil {
		err = nil
		q.rememberForm()
	}
	spent := q.spent.Plus(ratelimit.Cost{Tokens: earlier.GetCost().GetTokens(), Micros: earlier.GetCost().GetMicros()})
	recorded := &agentgwv1.RecordedTurn{Exchange: q.exchange.finish(q.answer)}
	if spent != (ratelimit.Cost{}) {
		recorded.Cost = &agentgwv1.Cost{Tokens: spent.Tokens, Micros: spent.Micros}
	}
	return q.answer, recorded, err
}

// retryPolicy returns the retry policy of a model.
func (p *Player) retryPolicy(model *agentgwv1.Model) retry.Policy {
	return retry.Policy{
		Attempts: cmp.Or(int(model.GetAttempts()), defaultAttempts), InitialWait: cmp.Or(p.cfg.RetryWait, retry.InitialWait), Jitter: rand.Float64,
	}
}

// replyToFailure returns an error for a provider failure that may pass, else a reply that ends the
// rollout.
func (p *Player) replyToFailure(model *agentgwv1.Model, failure *provider.Failure) (*agentgwv1.Reply, error) {
	name := model.GetProvider()
	switch {
	case failure.Timeout && failure.Retryable:
		return nil, fmt.Errorf("%w: %s, %s: %w", ErrTimeout, name, model.GetModel(), failure)
	case failure.Retryable:
		return nil, fmt.Errorf("%w: %s, %s: %w", ErrUnavailable, name, model.GetModel(), failure)
	}
	return failureReply(failure.Class(), exceptionProvider, fmt.Sprintf("%s, %s: %v", name, model.GetModel(), failure)), nil
}

// compose turns an answer into messages. Calls take precedence over text. A model with maxMistakes
// unusable turns in a row ends its rollout. With compat, a turn that the original accepts is no
// mistake.
func (p *Player) compose(req *agentgwv1.RespondRequest, spec *provider.Spec, tools *turn.Tools, answer *provider.Answer) *agentgwv1.Reply {
	composer := turn.Composer{Role: req.GetRole(), Index: req.GetIndex(), View: req.GetView(), Compat: req.GetCompat()}
	reply := &agentgwv1.Reply{Usage: p.withCost(spec, req.GetPlayer().GetModel().GetModel(), answer.Usage)}
	if n := len(answer.Calls); n > maxCalls {
		return mistakeReply(reply, &turn.Mistake{Exception: exceptionAnswer, Detail: fmt.Sprintf("the model made %d calls in one turn, expected at most %d", n, maxCalls)})
	}
	if raised := answer.Raised; raised != nil && req.GetCompat() {
		return mistakeReply(reply, &turn.Mistake{Exception: raised.Exception, Detail: raised.Detail})
	}
	if answer.ContextOverflow && !req.GetCompat() {
		overflow := failureReply(agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT, exceptionProvider, answer.EmptyReason)
		overflow.Usage = reply.GetUsage()
		return overflow
	}
	var mistake *turn.Mistake
	if len(answer.Calls) == 0 {
		said, empty := answer.Text, cmp.Or(answer.EmptyReason, "the answer is empty")
		if !req.GetCompat() {
			_, said = lenient.SplitThinking(answer.Text)
		}
		reply.Messages = composer.Say(said)
		if answer.Text != "" {
			empty = "the answer is reasoning only"
		}
		if said == "" && !(answer.EmptyText && req.GetCompat()) {
			mistake = &turn.Mistake{Exception: exceptionAnswer, Detail: empty}
		}
	} else {
		var err error
		if reply.Messages, mistake, err = composer.Calls(answer.Calls, tools); err != nil {
			return mistakeReply(reply, mistake)
		}
		if mistake != nil && mistake.OriginalAccepts() && req.GetCompat() {
			mistake = nil
		}
	}
	reply.Remarks = remarks(answer, reply.GetMessages(), tools)
	if mistake != nil && countMistakes(req.GetView(), req.GetRole(), tools)+1 >= maxMistakes {
		mistake.Detail = fmt.Sprintf("%d turns in a row could not be used; the last: %s", maxMistakes, mistake.Detail)
		return mistakeReply(reply, mistake)
	}
	reply.Provider = req.GetPlayer().GetModel().GetProvider()
	if answer.NativeLacksIDs || idsUnchanged(reply.GetMessages(), answer.Calls) {
		reply.Native = answer.Native
	}
	if n := proto.Size(reply); n > p.cfg.TurnBytes {
		return mistakeReply(reply, &turn.Mistake{Exception: exceptionAnswer, Detail: fmt.Sprintf("the model answered %d bytes, expected at most %d", n, p.cfg.TurnBytes)})
	}
	return reply
}

// idsUnchanged reports whether the messages carry the call ids of the model. The native form of a
// turn holds those ids, so it cannot precede results with other ids.
func idsUnchanged(messages []*worldv1.Message, calls []turn.Call) bool {
	for i, call := range calls {
		if id := messages[i].GetCall().Id; id != nil && call.ID != nil && *id != *call.ID {
			return false
		}
	}
	return true
}

func failureReply(class agentgwv1.FailureClass, exception, detail string) *agentgwv1.Reply {
	return &agentgwv1.Reply{Failure: turn.Failed(class, exception, detail).GetFailure()}
}

// failedTurn is the turn of a failure before the model was asked.
func failedTurn(class agentgwv1.FailureClass, exception, detail string) *agentgwv1.RecordedTurn {
	return &agentgwv1.RecordedTurn{Reply: failureReply(class, exception, detail)}
}

// mistakeReply returns a reply that ends the rollout with a mistake, and keeps the usage.
func mistakeReply(reply *agentgwv1.Reply, mistake *turn.Mistake) *agentgwv1.Reply {
	ended := failureReply(agentgwv1.FailureClass_FAILURE_CLASS_MODEL, mistake.Exception, mistake.Detail)
	ended.Usage = reply.GetUsage()
	return ended
}
