package host

import (
	"context"
	"fmt"
	"math"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/executor"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// callStateful returns the answer of a server with state. The answer depends on the session's
// earlier requests, so that equal requests can have different answers. Only the given order of the
// calls sends requests.
func (d *serviceRecorder) callStateful(ctx context.Context, req request, params *python.Dict, server *serverTool) (recordedAnswer, error) {
	if executor.Reordered(ctx) {
		return d.answerFromGivenOrder(req, server.server)
	}
	for i, answer := range d.known {
		if !d.used[i] && req.answeredBy(answer) {
			d.used[i] = true
			return answer, nil
		}
	}
	history, err := d.history(server.server)
	if err != nil {
		return recordedAnswer{}, err
	}
	at := len(d.known)
	answer, err := d.sendWithState(ctx, req, params, server, history)
	d.used[at] = len(d.known) > at
	return answer, err
}

// sendWithState returns the answer to a request that follows a history.
func (d *serviceRecorder) sendWithState(
	ctx context.Context, req request, params *python.Dict, server *serverTool, history []toolserver.Exchange,
) (recordedAnswer, error) {
	switch {
	case d.session.replay && d.session.parent != "":
		return d.inheritState(ctx, req, server.server, len(history))
	case d.offline():
		return recordedAnswer{raised: service.NotRecordedError(req.url, params)}, nil
	}
	return d.request(ctx, req, func() (string, error) {
		return d.host.servers.CallStateful(ctx, d.id, history, toolserver.Request{Server: server.server, Tool: server.tool, Params: params})
	})
}

// answerFromGivenOrder returns the server's answer to an equal request in the given order of the
// calls. The error is toolserver.ErrUnknownState if there is none, or if there are different ones.
func (d *serviceRecorder) answerFromGivenOrder(req request, server *setupv1.ToolServer) (recordedAnswer, error) {
	found, ok := find(d.known, req)
	for _, other := range d.known {
		ok = ok && (!req.answeredBy(other) || other.body.Equal(found.body))
	}
	if !ok {
		return recordedAnswer{}, fmt.Errorf("%w: %s: parallel calls depend on their order, and what it answers to %s in another order than the given one is not known: make the calls one after the other",
			toolserver.ErrUnknownState, server.GetName(), req.url)
	}
	return found, nil
}

// inheritState returns the server's answer to a parent after the same number of requests. The error
// is toolserver.ErrUnknownState if the parent's request there differs: a fork that contacts no
// server cannot know the answer.
func (d *serviceRecorder) inheritState(ctx context.Context, req request, server *setupv1.ToolServer, number int) (recordedAnswer, error) {
	record, err := d.host.record(d.session.parent)
	if err != nil {
		return recordedAnswer{}, err
	}
	answers, err := d.host.answersWithParents(d.session.parent, record, math.MaxInt32)
	if err != nil {
		return recordedAnswer{}, err
	}
	for _, stored := range answers {
		if at := d.session.setup.findServerTool(stored.GetRecording().GetUrl()); at == nil || at.server != server {
			continue
		}
		if number--; number >= 0 {
			continue
		}
		answer, err := decodeAnswer(stored)
		if err == nil && req.answeredBy(answer) {
			return answer, d.keep(ctx, answer)
		}
		if err != nil {
			return recordedAnswer{}, err
		}
		break
	}
	return recordedAnswer{}, fmt.Errorf("%w: %s: session %s asks nothing of servers, and session %s did not make the same request to %s at this point",
		toolserver.ErrUnknownState, server.GetName(), d.id, d.session.parent, req.url)
}

// history returns the requests of the session, and of its parents before the fork, to a server, in
// order.
func (d *serviceRecorder) history(server *setupv1.ToolServer) ([]toolserver.Exchange, error) {
	answers, err := d.host.answersWithParents(d.id, d.session.record(), d.index)
	if err != nil {
		return nil, err
	}
	var history []toolserver.Exchange
	for _, stored := range answers {
		at := d.session.setup.findServerTool(stored.GetRecording().GetUrl())
		if at == nil || at.server != server {
			continue
		}
		recorded, err := newRequest(stored.GetRecording().GetUrl(), stored.GetRecording().GetParamsJson())
		if err != nil {
			return nil, err
		}
		params, _ := recorded.params.AsDict()
		history = append(history, toolserver.Exchange{
			Request: toolserver.Request{Server: server, Tool: at.tool, Params: params}, Body: stored.GetRecording().GetResponseJson(),
		})
	}
	return history, nil
}
