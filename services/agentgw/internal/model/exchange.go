package model

import (
	"bytes"
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

// Record is what is known of one rollout, and where it becomes known. Its methods may be called
// although nobody waits for the turn any more: what was paid for is kept.
type Record interface {
	// Past returns what was recorded of the turn whose first message has the index, nil if nothing
	// was.
	Past(ctx context.Context, index int32) (*PriorTurn, error)
	// Exchange returns what was said to and by the provider about this turn, nil if nothing was.
	Exchange(ctx context.Context) (*agentgwv1.Exchange, error)
	// Keep stores it in place of what Exchange or Keep returned last. If something else is stored,
	// that stays and is returned.
	Keep(ctx context.Context, exchange *agentgwv1.Exchange) (other *agentgwv1.Exchange, err error)
}

// PriorTurn is an earlier turn in the form of the provider that made it. It is not to be changed.
type PriorTurn struct {
	Provider string
	// Native is empty if the provider does not want its turns back as they were.
	Native []byte
}

// exchange gathers what is said about one turn. A turn is asked by one goroutine.
type exchange struct {
	record Record
	codec  provider.Codec
	secret string
	limit  int
	// earlier is what was said before this gateway asked, nil if nothing was.
	earlier *agentgwv1.Exchange
	now     *agentgwv1.Exchange
}

// open reads what was said before.
func (p *Player) open(ctx context.Context, record Record, model *agentgwv1.Model, codec provider.Codec, to provider.Endpoint, r *provider.Request) (*exchange, error) {
	earlier, err := record.Exchange(ctx)
	if err != nil {
		return nil, err
	}
	x := &exchange{record: record, codec: codec, secret: to.Secret, limit: p.cfg.ExchangeBytes, earlier: earlier}
	request := wire.Hide(r.Body, x.secret)
	x.now = &agentgwv1.Exchange{
		Provider: model.GetProvider(), Model: model.GetModel(), Path: r.Path, Request: request, RequestBytes: int64(len(request)),
		Tries: earlier.GetTries(),
	}
	return x, nil
}

// answered returns the answer that came to the same request before, if one did: whoever asked then
// died before it was recorded as a reply, and it is not paid for twice.
func (x *exchange) answered() (*provider.Answer, bool) { return x.usable(x.earlier) }

// usable returns the answer in a record about the same request, if it has one.
func (x *exchange) usable(said *agentgwv1.Exchange) (*provider.Answer, bool) {
	tries := said.GetTries()
	if len(tries) == 0 || said.GetProvider() != x.now.GetProvider() || said.GetModel() != x.now.GetModel() ||
		said.GetPath() != x.now.GetPath() || said.GetRequestBytes() != x.now.GetRequestBytes() || !bytes.Equal(said.GetRequest(), x.now.GetRequest()) {
		return nil, false
	}
	last := tries[len(tries)-1]
	if last.GetFailure() != "" || int64(len(last.GetAnswer())) != last.GetAnswerBytes() {
		return nil, false
	}
	answer, err := x.codec.Decode(last.GetAnswer())
	return answer, err == nil
}

// add notes one try: the body of an answer, or how asking failed. It returns the body as an answer;
// one that cannot be read is a *provider.Failure. The key is taken out first, so that what is
// played now is what would be read from the record.
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
	x.now.Tries = append(x.now.Tries, try)
	return answer, err
}

// keep stores what was said and returns the answer that counts: the given one, or that of somebody
// else who asked the same meanwhile and stored it first. The record then is about what is played.
func (x *exchange) keep(ctx context.Context, answer *provider.Answer) (*provider.Answer, error) {
	if len(x.now.GetTries()) == 0 {
		return answer, nil
	}
	x.bound()
	if answer != nil {
		x.now.Usage = answer.Usage
	}
	for {
		other, err := x.record.Keep(context.WithoutCancel(ctx), x.now)
		if other == nil || err != nil {
			return answer, err
		}
		if theirs, ok := x.usable(other); ok {
			x.now = other
			return theirs, nil
		}
	}
}

// bound cuts what was said: of an answer that is too long the beginning stays, of the request what
// room is left.
func (x *exchange) bound() {
	x.now.Tries = x.now.GetTries()[max(len(x.now.GetTries())-maxTries, 0):]
	room := x.limit
	for i := len(x.now.GetTries()) - 1; i >= 0; i-- {
		try := x.now.GetTries()[i]
		try.Answer = cut(try.GetAnswer(), room)
		room -= len(try.GetAnswer())
	}
	x.now.Request = cut(x.now.GetRequest(), room)
}

// reject stores that the last answer is of no use as a turn, so that who asks later asks the
// provider again.
func (x *exchange) reject(ctx context.Context, answer *provider.Answer, why string) error {
	tries := x.now.GetTries()
	if len(tries) == 0 {
		return nil
	}
	tries[len(tries)-1].Failure = strings.ToValidUTF8(why, "?")
	_, err := x.keep(ctx, answer)
	return err
}

func cut(body []byte, limit int) []byte { return body[:min(len(body), max(limit, 0))] }
