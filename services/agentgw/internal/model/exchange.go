package model

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/httpclient"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/lenient"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// maxAttempts is how many attempts of an exchange are stored. The last ones count.
	maxAttempts = 20
	// maxUnreadable bounds the stored bytes of an answer that cannot be decoded.
	maxUnreadable = 4 << 10
)

// History returns the recorded turn of a rollout whose first message has the index, nil if there is
// none.
type History func(ctx context.Context, rolloutID string, index int32) (*PriorTurn, error)

// PriorTurn is an earlier turn in the native form of its provider. Callers must not change it.
type PriorTurn struct {
	Provider string
	// Native is empty if the provider does not want its turns back as they were.
	Native []byte
}

// exchange collects the requests and answers of one turn. It is not safe for concurrent use.
type exchange struct {
	codec  provider.Codec
	from   provider.Endpoint
	limit  int
	record *agentgwv1.Exchange
	// unreadable says why the last answer could not be decoded.
	unreadable string
}

// newExchange begins an exchange that continues an earlier one about the same turn, which may be
// nil.
func newExchange(model *agentgwv1.Model, codec provider.Codec, to provider.Endpoint, r *provider.Request, limit int, earlier *agentgwv1.Exchange) *exchange {
	x := &exchange{codec: codec, from: to, limit: limit, record: &agentgwv1.Exchange{
		Provider: model.GetProvider(), Model: model.GetModel(), Path: r.Path, Attempts: earlier.GetAttempts(),
	}}
	x.setRequest(r)
	return x
}

// setRequest records the request of the attempts that follow.
func (x *exchange) setRequest(r *provider.Request) {
	x.record.Request = httpclient.Redact(r.Body, x.from.Secret)
	x.record.RequestBytes = int64(len(x.record.GetRequest()))
}

// addAttempt records one attempt: the body of an answer, or the error. It returns the decoded
// answer. A body that cannot be decoded yields a *provider.Failure. It redacts the key first, so
// that the played answer equals the recorded one.
func (x *exchange) addAttempt(body []byte, err error) (*provider.Answer, error) {
	var answer *provider.Answer
	try := &agentgwv1.Attempt{}
	if err == nil {
		body = httpclient.Redact(body, x.from.Secret)
		try.Status, try.Answer = http.StatusOK, body
		try.AnswerBytes = int64(len(try.Answer))
		if answer, err = x.codec.Decode(body); err != nil {
			err = x.decodeFailure(body, err)
			try.Answer = cut(try.GetAnswer(), maxUnreadable)
		}
	}
	if err != nil {
		try.Failure = strings.ToValidUTF8(err.Error(), "?")
	}
	if failure, ok := errors.AsType[*provider.Failure](err); ok && try.GetStatus() == 0 {
		try.Status = int32(failure.Status)
	}
	x.record.Attempts = append(x.record.Attempts, try)
	return answer, err
}

// timeOut marks the last attempt as timed out in a round of the sweep, and returns how many of the
// turn are.
func (x *exchange) timeOut(round int32) int {
	attempts := x.record.GetAttempts()
	last := attempts[len(attempts)-1]
	last.TimedOut, last.Round = true, round
	n := 0
	for _, try := range attempts {
		if try.GetTimedOut() && try.GetRound() == round {
			n++
		}
	}
	return n
}

// decodeFailure returns the failure of an answer that cannot be decoded. It is not retryable if the
// last answer was unreadable in the same way: the server speaks another interface. What the server
// itself says that it failed, and what it did not finish, may pass.
func (x *exchange) decodeFailure(body []byte, err error) *provider.Failure {
	failure := httpclient.DecodeFailure(body, err, x.from)
	if errors.Is(err, provider.ErrServer) || errors.Is(err, lenient.ErrStream) || errors.Is(err, lenient.ErrIncomplete) || failure.Status != 0 {
		return failure
	}
	if x.unreadable == err.Error() && failure.Retryable {
		failure.Retryable = false
		failure.Detail = "twice in the same way: " + failure.Detail
	}
	x.unreadable = err.Error()
	return failure
}

// finish returns the exchange, nil if there was no attempt. answer is the one that counts, nil if
// there is none.
func (x *exchange) finish(answer *provider.Answer) *agentgwv1.Exchange {
	if len(x.record.GetAttempts()) == 0 {
		return nil
	}
	x.truncate()
	if answer != nil {
		x.record.Usage = answer.Usage
	}
	return x.record
}

// truncate bounds the exchange. A too long answer keeps its beginning. The request gets the
// remaining bytes.
func (x *exchange) truncate() {
	x.record.Attempts = x.record.GetAttempts()[max(len(x.record.GetAttempts())-maxAttempts, 0):]
	remaining := x.limit
	for i := len(x.record.GetAttempts()) - 1; i >= 0; i-- {
		try := x.record.GetAttempts()[i]
		try.Answer = cut(try.GetAnswer(), remaining)
		remaining -= len(try.GetAnswer())
	}
	x.record.Request = cut(x.record.GetRequest(), remaining)
}

func cut(body []byte, limit int) []byte { return body[:min(len(body), max(limit, 0))] }
