package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/pricing"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/retry"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/ratelimit"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// bytesPerToken and usualAnswer make the estimate of what a request takes.
	bytesPerToken = 4
	usualAnswer   = 512
	// maxHold bounds how long a request rests that may not wait for its budget.
	maxHold = 30 * time.Second
	// maxWait bounds how long a request waits for its budget where that takes from the time for the
	// answer.
	maxWait = time.Minute
	// parting is kept of a turn's time to say that no answer came.
	parting = time.Second
)

// Throttled says why a turn was not begun: its budget does not let it.
type Throttled struct {
	// Spent says that the sweep has spent what it may, or that nobody can tell; else the turn may
	// begin later.
	Spent  bool
	reason error
}

// NewThrottled returns a hold of a turn that may begin later.
func NewThrottled(reason error) *Throttled { return &Throttled{reason: reason} }

// Error says what the turn waits for.
func (h *Throttled) Error() string { return h.reason.Error() }

// attempt asks a provider for one turn, with its retries.
type attempt struct {
	*Player
	to      provider.Endpoint
	request *provider.Request
	timeout time.Duration
	said    *exchange
	budget  ratelimit.Request
	answer  *provider.Answer
	spent   ratelimit.Cost
	refusal *provider.Failure // of the last try that was refused
	refused time.Time         // when the first one was
}

// budgetRequest returns what a turn wants of its budget. The error is a *Throttled if the sweep may
// spend some money, and nobody knows what the model costs.
func (p *Player) budgetRequest(req *agentgwv1.RespondRequest, spec *provider.Spec, to provider.Endpoint, r *provider.Request) (ratelimit.Request, error) {
	model := req.GetPlayer().GetModel()
	output := int64(usualAnswer)
	if limit := int64(model.GetMaxTokens()); limit > 0 {
		output = min(limit, output)
	}
	limit := ratelimit.Cost{Tokens: req.GetSpendLimit().GetTokens(), Micros: req.GetSpendLimit().GetCostMicros()}
	estimate, priced := p.cost(spec.Account(), model.GetModel(), &agentgwv1.Usage{InputTokens: int64(len(r.Body)/bytesPerToken) + 1, OutputTokens: output})
	if p.cfg.Budget != nil && to.Own && !priced && limit.Micros > 0 && limit.Tokens == 0 {
		return ratelimit.Request{}, &Throttled{Spent: true, reason: fmt.Errorf("spend limit cannot be kept: the price of %s is not known: "+
			"give a table of prices that has it (--agentgw-price-file), or limit tokens too (--spend-tokens)", model.GetModel())}
	}
	return ratelimit.Request{
		Key: keyOf(spec, to), Run: ratelimit.Run{Sweep: sweepOf(req.GetRolloutId()), Round: req.GetRound()}, Model: model.GetModel(),
		Estimate: estimate, Limit: limit,
	}, nil
}

// keyOf returns what a provider counts the requests to an address by. Servers count for themselves.
func keyOf(spec *provider.Spec, to provider.Endpoint) ratelimit.Key {
	secret := to.Secret
	if to.Expires {
		secret = ""
	}
	sum := sha256.Sum256([]byte(to.BaseURL + "\x00" + secret))
	return ratelimit.Key{Provider: spec.Account(), Fingerprint: hex.EncodeToString(sum[:8])}
}

// Key returns the key under which a model is asked; ok is false if it is not asked.
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

// try sends the request once, when its budget lets it.
func (q *attempt) try(ctx context.Context) retry.Outcome {
	done, err := q.begin(ctx)
	hold, held := errors.AsType[*Throttled](err)
	switch {
	case errors.Is(err, ratelimit.ErrBreakerOpen):
		return retry.Outcome{Err: &provider.Failure{Retryable: true, Detail: err.Error()}, Again: true}
	case errors.Is(err, ratelimit.ErrOutage):
		return retry.Outcome{Err: &provider.Failure{Detail: err.Error()}}
	case held && !hold.Spent && q.refusal != nil:
		return retry.Outcome{Err: q.refusal} // it was asked, in vain
	case err != nil:
		return retry.Outcome{Err: err}
	}
	sent, limit := time.Now(), q.limit(ctx)
	sending, cancel := q.sending(ctx)
	body, err := q.client.Send(sending, q.to, q.request, limit)
	cancel()
	unread := err == nil
	q.answer, err = q.said.add(body, err)
	failure, _ := errors.AsType[*provider.Failure](err)
	outcome := ratelimit.Outcome{Class: classOf(failure, unread, err)}
	if failure != nil && failure.Timeout && limit < q.timeout {
		outcome.Class = ratelimit.Abandoned // it had less time than it may take
	}
	if q.answer != nil && pricing.Counted(q.answer.Usage) {
		outcome.Cost, _ = q.cost(q.budget.Key.Provider, q.budget.Model, q.answer.Usage)
	}
	if failure == nil {
		q.spent = q.spent.Plus(done(outcome))
		return retry.Outcome{Err: err}
	}
	outcome.RetryAfter, outcome.Charged, outcome.Reason = failure.RetryAfter, failure.Charged, failure.Error()
	q.spent = q.spent.Plus(done(outcome))
	refused := outcome.Class == ratelimit.Throttled || outcome.Class == ratelimit.Overloaded
	if refused && q.refusal == nil {
		q.refused = time.Now()
	}
	if refused {
		q.refusal = failure
	}
	return retry.Outcome{
		Err: err, Again: failure.Retryable, After: failure.RetryAfter, Paced: q.cfg.Budget != nil && refused && failure.Retryable,
		Takes: time.Since(sent), // what was slow is slow again: it is not paid for twice to be dropped
	}
}

// limit returns how long a request may take that begins now: as long as any, but not longer than
// its turn.
func (q *attempt) limit(ctx context.Context) time.Duration {
	deadline, limited := ctx.Deadline()
	if !limited {
		return q.timeout
	}
	left := time.Until(deadline)
	left -= min(parting, left/10)
	if left > time.Second {
		left = left.Truncate(time.Second)
	}
	return min(q.timeout, left)
}

// deferRefusal makes a hold of a refusal that came to all requests. One that came while others were
// answered may be this request's own, which may be too large for the account, and counts.
func (q *attempt) deferRefusal(err error) error {
	failure, ok := errors.AsType[*provider.Failure](err)
	if ok && failure == q.refusal && failure.Retryable && q.cfg.Budget != nil && q.cfg.Budget.InOutage(q.budget.Key, q.refused) {
		return &Throttled{reason: failure}
	}
	return err
}

// begin waits for the budget, but not so long that no time is left for the answer. Without budgets
// it does not wait. The error is a *Throttled, ratelimit.ErrBreakerOpen,
// ratelimit.ErrOutage or that of ctx.
func (q *attempt) begin(ctx context.Context) (done func(ratelimit.Outcome) ratelimit.Cost, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if q.cfg.Budget == nil {
		return func(ratelimit.Outcome) ratelimit.Cost { return ratelimit.Cost{} }, nil
	}
	waiting, cancel := context.WithCancel(ctx)
	if deadline, limited := ctx.Deadline(); limited {
		cancel()
		left := time.Until(deadline)
		waiting, cancel = context.WithTimeout(ctx, max(left-q.timeout, min(left/2, maxWait)))
	}
	defer cancel()
	permit, err := q.cfg.Budget.Acquire(waiting, q.budget)
	switch {
	case err == nil && ctx.Err() != nil:
		permit.Done(ratelimit.Outcome{Class: ratelimit.Unsent}) // nobody waits any more
		return nil, ctx.Err()
	case err == nil:
		return permit.Done, nil
	case errors.Is(err, ratelimit.ErrSpent):
		return nil, &Throttled{Spent: true, reason: err}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, ratelimit.ErrQueueFull):
		rest, stop := context.WithTimeout(waiting, maxHold)
		defer stop()
		<-rest.Done() // asking again sooner is of no use
		return nil, &Throttled{reason: err}
	case waiting.Err() != nil:
		return nil, &Throttled{reason: err}
	}
	return nil, err
}

// classOf says how a try ended. An answer that cannot be read was paid for. A provider that asks
// for more time than a turn has is too busy, whatever its status: its budget rests, for a turn that
// only ended would be asked for again too soon.
func classOf(failure *provider.Failure, unread bool, err error) ratelimit.Class {
	switch {
	case err == nil:
		return ratelimit.Succeeded
	case failure != nil && failure.Retryable && failure.RetryAfter > retry.MaxAsked && failure.Status != http.StatusTooManyRequests:
		return ratelimit.Overloaded
	case failure == nil, unread && failure.Status == 0:
		return ratelimit.Abandoned
	case failure.Unpaid:
		return ratelimit.Rejected // whatever its status: asking less does not help
	case failure.Status == 0 && !failure.Network:
		return ratelimit.Unsent
	}
	return classOfStatus(failure.Status)
}

// classOfStatus returns the class of an HTTP status, or of status 0 if no answer came.
func classOfStatus(status int) ratelimit.Class {
	const overloaded = 529 // Anthropic's
	switch {
	case status == http.StatusTooManyRequests:
		return ratelimit.Throttled
	case status == http.StatusServiceUnavailable || status == overloaded:
		return ratelimit.Overloaded
	case status == 0 || status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return ratelimit.Failed
	case status >= http.StatusMultipleChoices: // nobody follows
		return ratelimit.Rejected
	}
	return ratelimit.Succeeded
}
