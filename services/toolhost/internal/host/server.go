package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// maxServerRequests is how many different requests one execution may make to tool servers: those of
// the search for a failing order of parallel calls among them.
const maxServerRequests = 512

// served is a tool of a server.
type served struct {
	server *setupv1.ToolServer
	tool   *toolsv1.Tool
}

// served returns the tool of a server whose answers are recorded under an address, nil if there is
// none.
func (s *compiledSetup) served(url string) *served {
	path, ok := strings.CutPrefix(url, tool.ServerScheme)
	if !ok {
		return nil
	}
	of, name, _ := strings.Cut(path, "/")
	for _, server := range s.servers {
		for _, declared := range server.GetTools() {
			if server.GetName() == of && declared.GetName() == name {
				return &served{server, declared}
			}
		}
	}
	return nil
}

// call returns the answer of a tool server to a request that the session did not make before: that
// of a parent, a recording of the setup, or what the server answers now. A server with a state for
// each session answers by what the session asked it before, so that no answer of a parent counts.
func (d *serviceRecorder) call(ctx context.Context, wanted request, params *python.Dict, server *served) (recordedAnswer, error) {
	if found, ok := find(d.inherited, wanted); ok && !server.server.GetSessionState() {
		return found, d.keep(ctx, found)
	}
	if body, ok := d.session.setup.recorded.Find(wanted.url, params); ok {
		return recordedAnswer{body: body}, nil
	}
	if d.session.replay || d.session.services == toolhostv1.HostedServices_HOSTED_SERVICES_RECORDED {
		return recordedAnswer{raised: service.NotRecorded(wanted.url, params)}, nil
	}
	if len(d.known) >= maxServerRequests {
		return recordedAnswer{}, fmt.Errorf("%w: more than %d requests to tool servers at once", ErrQuota, maxServerRequests)
	}
	request := toolserver.Request{Server: server.server, Tool: server.tool, Params: params}
	var body string
	var err error
	if server.server.GetSessionState() {
		var history []toolserver.Answered
		if history, err = d.history(server.server); err == nil {
			body, err = d.host.servers.CallState(ctx, d.id, history, request)
		}
	} else {
		body, err = d.host.servers.Call(ctx, request)
	}
	if err != nil {
		return recordedAnswer{}, err
	}
	answer, err := decodeAnswer(&toolhostv1.ServiceAnswer{
		Recording: &setupv1.RecordedAnswer{Url: wanted.url, ParamsJson: wanted.text, ResponseJson: body},
	})
	if err != nil {
		return recordedAnswer{}, err
	}
	return answer, d.keep(ctx, answer)
}

// history returns what the session, and before its fork its parents, asked a server, in order.
func (d *serviceRecorder) history(server *setupv1.ToolServer) ([]toolserver.Answered, error) {
	record := d.session.record()
	answers, err := d.host.shared(d.id, record, d.index)
	if err != nil {
		return nil, err
	}
	var history []toolserver.Answered
	for _, stored := range answers {
		at := d.session.setup.served(stored.GetRecording().GetUrl())
		if at == nil || at.server != server {
			continue
		}
		made, err := newRequest(stored.GetRecording().GetUrl(), stored.GetRecording().GetParamsJson())
		if err != nil {
			return nil, err
		}
		params, _ := made.params.AsDict()
		history = append(history, toolserver.Answered{
			Request: toolserver.Request{Server: server, Tool: at.tool, Params: params}, Body: stored.GetRecording().GetResponseJson(),
		})
	}
	return history, nil
}
