package model

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/wire"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// maxTries is how many tries of an exchange are kept, the last ones.
	maxTries = 20
	// maxUseless bounds what is kept of an answer that could not be read.
	maxUseless = 4 << 10
)

// History returns what was recorded of the turn of a rollout whose first message has the index, nil
// if nothing was.
type History func(ctx context.Context, rolloutID string, index int32) (*PriorTurn, error)

// PriorTurn is an earlier turn in the form of the provider that made it. It is not to be changed.
type PriorTurn struct {
	Provider string
	// Native is empty if the provider does not want its turns back as they were.
	Native []byte
}

// exchange gathers what is said about one turn. A turn is asked by one goroutine.
type exchange struct {
	codec  provider.Codec
	secret string
	limit  int
	said   *agentgwv1.Exchange
}

// newExchange begins an exchange behind an earlier one about the same turn, which may be nil.
func newExchange(model *agentgwv1.Model, codec provider.Codec, to provider.Endpoint, r *provider.Request, limit int, earlier *agentgwv1.Exchange) *exchange {
	request := wire.Hide(r.Body, to.Secret)
	return &exchange{codec: codec, secret: to.Secret, limit: limit, said: &agentgwv1.Exchange{
		Provider: model.GetProvider(), Model: model.GetModel(), Path: r.Path, Request: request, RequestBytes: int64(len(request)),
		Tries: earlier.GetTries(),
	}}
}

// add notes one try: the body of an answer, or how asking failed. It returns the body as an answer;
// one that cannot be read is a *provider.Failure. The key is taken out first: what is played
// is what is recorded.
func (x *exchange) add(body []byte, err error) (*provider.Answer, error) {
	var answer *provider.Answer
	try := &agentgwv1.Try{}
	if err == nil {
		body = wire.Hide(body, x.secret)
		try.Status, try.Answer = http.StatusOK, body
		try.AnswerBytes = int64(len(try.Answer))
		if answer, err = x.codec.Decode(body); err != nil {
			err = wire.Unread(body, err, x.secret)
			try.Answer = cut(try.GetAnswer(), maxUseless)
		}
	}
	if err != nil {
		try.Failure = strings.ToValidUTF8(err.Error(), "?")
	}
	if failure, ok := errors.AsType[*provider.Failure](err); ok && try.GetStatus() == 0 {
		try.Status = int32(failure.Status)
	}
	x.said.Tries = append(x.said.Tries, try)
	return answer, err
}

// end returns what was said, nil if nothing was. answer is the one that counts, nil if none came.
func (x *exchange) end(answer *provider.Answer) *agentgwv1.Exchange {
	if len(x.said.GetTries()) == 0 {
		return nil
	}
	x.bound()
	if answer != nil {
		x.said.Usage = answer.Usage
	}
	return x.said
}

// bound cuts what was said: of an answer that is too long the beginning stays, of the request what
// room is left.
func (x *exchange) bound() {
	x.said.Tries = x.said.GetTries()[max(len(x.said.GetTries())-maxTries, 0):]
	room := x.limit
	for i := len(x.said.GetTries()) - 1; i >= 0; i-- {
		try := x.said.GetTries()[i]
		try.Answer = cut(try.GetAnswer(), room)
		room -= len(try.GetAnswer())
	}
	x.said.Request = cut(x.said.GetRequest(), room)
}

func cut(body []byte, limit int) []byte { return body[:min(len(body), max(limit, 0))] }
