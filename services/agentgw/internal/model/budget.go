package model

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/retry"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// bytesPerToken and typicalAnswerTokens estimate the tokens of a request.
	bytesPerToken       = 4
	typicalAnswerTokens = 512
	// queueFullWait is how long a request waits before it reports a full queue.
	queueFullWait = 30 * time.Second
	// maxWait bounds the wait for the budget where it shortens the time for the answer.
	maxWait = time.Minute
	// slowAfter is how long a gateway has waited at least that reports a time-out for a slow model.
	slowAfter = 10 * time.Second
	// statusCloudTimeout is the status by which Cloudflare reports a time-out.
	statusCloudTimeout = 524
	// maxTimeouts is how often an answer may time out in a round of its sweep before its rollout ends:
	// an answer without an end has none later either. Requests that others crowded out do not count.
	maxTimeouts = 2
	// replyMargin is the part of a turn's time that is reserved to report a missing answer.
	replyMargin = time.Second
)

// Throttled is the error of a turn that did not begin because its budget does not admit it.
type Throttled struct {
	// SpendLimitReached: the sweep has reached its spend limit, or its spending cannot be computed.
	// Otherwise the turn may begin later.
	SpendLimitReached bool
	reason            error
}

// NewThrottled returns the error of a turn that may begin later.
func NewThrottled(reason error) *Throttled { return &Throttled{reason: reason} }

// Error returns the reason.
func (t *Throttled) Error() string { return t.reason.Error() }

// attempt asks a provider for one turn, with retries.
type attempt struct {
	*Player
	to              provider.Endpoint
	request         *provider.Request
	timeout         time.Duration
	exchange        *exchange
	query           *provider.Query
	transcript      []conversation.Entry // before it was arranged
	firstForm, form conversation.Form    // of the query's transcript, at first and now
	budget          ratelimit.Request
	answer          *provider.Answer
	spent           ratelimit.Cost
	lastRefusal     *provider.Failure // of the last refused attempt
	firstRefused    time.Time         // time of the first refused attempt
	traced          attemptTrace
}

// newAttempt returns the attempts for a turn. The error is a *provider.Failure, a *Throttled or one
// of encoding. It has a stack frame of its own, since thousands of turns wait in ask.
func (p *Player) newAttempt(
	ctx context.Context, req *agentgwv1.RespondRequest, spec *provider.Spec, query *provider.Query, earlier *agentgwv1.Exchange,
) (*attempt, error) {
	model := req.GetPlayer().GetModel()
	to, err := p.endpoint(ctx, spec, model.GetBaseUrl())
	if err != nil {
		return nil, &provider.Failure{Detail: err.Error()}
	}
	query.Official, query.Host = to.Official, hostOf(to.BaseURL)
	transcript, form := query.Transcript, conversation.Form(0)
	if !query.Compat {
		form = p.forms.recall(formKey{to.BaseURL, model.GetModel()}, transcript)
		query.Transcript, _ = form.Arrange(transcript)
	}
	codec := spec.CodecFor(req)
	request, err := codec.Encode(query)
	if err != nil {
		return nil, err
	}
	budget, err := p.budgetRequest(req, spec, to, request)
	if err != nil {
		return nil, err
	}
	return &attempt{
		Player: p, query: query, transcript: transcript, firstForm: form, form: form, to: to, request: request, budget: budget,
		timeout:  cmp.Or(time.Duration(model.GetTimeoutMs())*time.Millisecond, defaultTimeout),
		exchange: newExchange(model, codec, to, request, p.cfg.ExchangeBytes, earlier),
	}, nil
}

// hostOf returns the host of an address without its port.
func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// budgetRequest returns the request to the limiter for a turn. The error is a *Throttled if the
// sweep has a limit in money and the price of the model is unknown.
func (p *Player) budgetRequest(req *agentgwv1.RespondRequest, spec *provider.Spec, to provider.Endpoint, r *provider.Request) (ratelimit.Request, error) {
	model := req.GetPlayer().GetModel()
	output := int64(typicalAnswerTokens)
	if limit := int64(model.GetMaxTokens()); limit > 0 {
		output = min(limit, output)
	}
	limit := ratelimit.Cost{Tokens: req.GetSpendLimit().GetTokens(), Micros: req.GetSpendLimit().GetCostMicros()}
	estimate, priced := p.cost(spec.Account(), model.GetModel(), &agentgwv1.Usage{InputTokens: int64(len(r.Body)/bytesPerToken) + 1, OutputTokens: output})
	if p.cfg.Budget != nil && to.Official && !priced && limit.Micros > 0 && limit.Tokens == 0 {
		return ratelimit.Request{}, &Throttled{SpendLimitReached: true, reason: fmt.Errorf("spend limit cannot be kept: the price of %s is not known: "+
			"give a table of prices that has it (--agentgw-price-file), or limit tokens too (--spend-tokens)", model.GetModel())}
	}
	return ratelimit.Request{
		Key: keyOf(spec, to), Run: ratelimit.SweepRound{Sweep: bus.SweepOf(req.GetRolloutId()), Round: req.GetRound()}, Model: model.GetModel(),
		Estimate: estimate, Limit: limit,
	}, nil
}

// keyOf returns the key by which a provider counts requests to an address. Each address is counted
// for itself.
func keyOf(spec *provider.Spec, to provider.Endpoint) ratelimit.Key {
	secret := to.Secret
	if to.Expires {
		secret = ""
	}
	sum := sha256.Sum256([]byte(to.BaseURL + "\x00" + secret))
	return ratelimit.Key{Provider: spec.Account(), Fingerprint: hex.EncodeToString(sum[:8])}
}

// Key returns the key under which a model is asked. ok is false if it cannot be asked.
func (p *Player) Key(ctx context.Context, model *agentgwv1.Model) (key ratelimit.Key, ok bool) {
	spec, err := p.spec(model)
	if err != nil {
		return ratelimit.Key{}, false
	}
	to, err := p.endpoint(ctx, spec, model.GetBaseUrl())
	if err != nil {
		return ratelimit.Key{}, false
	}
	return keyOf(spec, to), true
}

// try sends the request once, when its budget admits it.
func (q *attempt) try(ctx context.Context) retry.Outcome {
	permit, refusal := q.admit(ctx)
	if refusal != nil {
		return *refusal
	}
	sent, limit := time.Now(), q.timeoutFor(ctx)
	sending, cancel := q.sendContext(ctx)
	end := q.asked.begin(q.budget.Run.Sweep, q.budget.Key.Provider)
	body, err := q.client.Send(sending, q.to, q.request, limit)
	end()
	cancel()
	took, received := time.Since(sent), err == nil
	q.answer, err = q.exchange.addAttempt(body, err)
	q.traceRequest(ctx, sent, body, err)
	failure, _ := errors.AsType[*provider.Failure](err)
	outcome := ratelimit.Outcome{Class: classOf(failure, received, err, took)}
	if failure != nil && failure.Timeout && limit < q.timeout {
		outcome.Class = ratelimit.Abandoned // the turn's deadline was shorter than the timeout
	}
	if q.answer != nil && pricing.HasTokens(q.answer.Usage) {
		outcome.Cost, _ = q.cost(q.budget.Key.Provider, q.budget.Model, q.answer.Usage)
	}
	if failure == nil {
		q.done(ctx, permit, outcome, took)
		return retry.Outcome{Err: err}
	}
	isRearranged := q.rearrange(failure)
	if failure.Demanded != 0 && !q.query.Compat {
		outcome.Class = ratelimit.Rejected // whatever its status: the server is well
	}
	outcome.RetryAfter, outcome.Charged, outcome.Reason = failure.RetryAfter, failure.Charged, failure.Error()
	q.done(ctx, permit, outcome, took)
	if isRearranged {
		return q.try(ctx)
	}
	if outcome.Class == ratelimit.TimedOut && !permit.Crowded() && q.exchange.timeOut(q.budget.Run.Round) >= maxTimeouts {
		failure.Retryable = false
		failure.Detail += fmt.Sprintf(", not for the first time in this turn: %d attempts are the most that an answer gets; see --max-tokens and --model-timeout", maxTimeouts)
	}
	isRefused := outcome.Class == ratelimit.Throttled || outcome.Class == ratelimit.Overloaded
	if isRefused && q.lastRefusal == nil {
		q.firstRefused = time.Now()
	}
	if isRefused {
		q.lastRefusal = failure
	}
	return retry.Outcome{
		Err: err, Retryable: failure.Retryable, RetryAfter: failure.RetryAfter, Throttled: q.cfg.Budget != nil && isRefused && failure.Retryable,
		Expected: time.Since(sent), // a slow request is slow again: do not pay twice for an answer that comes too late
	}
}

// admit waits for the permit of the budget. refusal is the outcome of the attempt without one.
func (q *attempt) admit(ctx context.Context) (permit *ratelimit.Permit, refusal *retry.Outcome) {
	q.traced.backedOff(ctx)
	end, queued := q.limited.begin(q.budget.Run.Sweep, q.budget.Key.Provider), time.Now()
	permit, err := q.acquireBudget(ctx)
	end()
	traceWait(ctx, waitLimit, queued)
	throttled, isThrottled := errors.AsType[*Throttled](err)
	switch {
	case err == nil:
		return permit, nil
	case errors.Is(err, ratelimit.ErrBreakerOpen):
		return nil, &retry.Outcome{Err: &provider.Failure{Retryable: true, Detail: err.Error()}, Retryable: true}
	case errors.Is(err, ratelimit.ErrOutage):
		return nil, &retry.Outcome{Err: &provider.Failure{Detail: err.Error()}}
	case isThrottled && !throttled.SpendLimitReached && q.lastRefusal != nil:
		return nil, &retry.Outcome{Err: q.lastRefusal} // an earlier attempt was refused
	}
	return nil, &retry.Outcome{Err: err}
}

// timeoutFor returns the timeout of a request that begins now: q.timeout, but no longer than its
// turn.
func (q *attempt) timeoutFor(ctx context.Context) time.Duration {
	deadline, limited := ctx.Deadline()
	if !limited {
		return q.timeout
	}
	remaining := time.Until(deadline)
	remaining -= min(replyMargin, remaining/10)
	if remaining > time.Second {
		remaining = remaining.Truncate(time.Second)
	}
	return min(q.timeout, remaining)
}

// deferRefusal returns a *Throttled for a refusal during an outage, which hits all requests.
// Otherwise the refusal may concern this request alone, for example because it is too large for the
// account, and counts.
func (q *attempt) deferRefusal(err error) error {
	failure, ok := errors.AsType[*provider.Failure](err)
	if ok && failure == q.lastRefusal && failure.Retryable && q.cfg.Budget != nil && q.cfg.Budget.InOutage(q.budget.Key, q.firstRefused) {
		return &Throttled{reason: failure}
	}
	return err
}

// acquireBudget waits for the budget, but leaves time for the answer. Without a limiter it returns
// a nil permit at once. The error is a *Throttled, ratelimit.ErrBreakerOpen, ratelimit.ErrOutage or
// that of ctx.
func (q *attempt) acquireBudget(ctx context.Context) (*ratelimit.Permit, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if q.cfg.Budget == nil {
		return nil, nil
	}
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if deadline, limited := ctx.Deadline(); limited {
		remaining := time.Until(deadline)
		waiting, cancel = context.WithTimeout(ctx, max(remaining-q.timeout, min(remaining/2, maxWait)))
	}
	defer cancel()
	permit, err := q.cfg.Budget.Acquire(waiting, q.budget)
	switch {
	case err == nil && ctx.Err() != nil:
		permit.Done(ratelimit.Outcome{Class: ratelimit.Unsent}) // the caller is gone
		return nil, ctx.Err()
	case err == nil:
		return permit, nil
	case errors.Is(err, ratelimit.ErrSpendLimit):
		return nil, &Throttled{SpendLimitReached: true, reason: err}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ratelimit.ErrQueueFull):
		rest, stop := context.WithTimeout(waiting, queueFullWait)
		defer stop()
		<-rest.Done() // an earlier retry would fail too
		return nil, &Throttled{reason: err}
	case waiting.Err() != nil:
		return nil, &Throttled{reason: err}
	}
	return nil, err
}

// classOf returns the class of an attempt for the limiter. An answer that cannot be decoded was
// paid for. A provider that asks for a longer wait than a turn lasts counts as overloaded, whatever
// its status: its budget pauses, because the turn would be retried too soon. took distinguishes a
// gateway that waited in vain for the model's server from one that could not reach it.
func classOf(failure *provider.Failure, received bool, err error, took time.Duration) ratelimit.Class {
	switch {
	case err == nil:
		return ratelimit.Succeeded
	case failure != nil && failure.Retryable && failure.RetryAfter > retry.MaxRetryAfter && failure.Status != http.StatusTooManyRequests:
		return ratelimit.Overloaded
	case failure == nil, received && failure.Status == 0:
		return ratelimit.Abandoned
	case failure.NoCredit:
		return ratelimit.Rejected // whatever its status: a lower rate does not help
	case failure.Timeout, isTimeout(failure.Status) && took >= slowAfter:
		return ratelimit.TimedOut
	case failure.Status == 0 && !failure.Network:
		return ratelimit.Unsent
	}
	return classOfStatus(failure.Status)
}

func isTimeout(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout || status == statusCloudTimeout
}

// classOfStatus returns the class of an HTTP status. Status 0 means that no answer arrived.
func classOfStatus(status int) ratelimit.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return ratelimit.Throttled
	case status == http.StatusServiceUnavailable || status == provider.StatusOverloaded:
		return ratelimit.Overloaded
	case status == 0 || status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return ratelimit.Failed
	case status >= http.StatusMultipleChoices: // redirects are not followed
		return ratelimit.Rejected
	}
	return ratelimit.Succeeded
}
