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

// hasState says whether the server keeps a state for each session.
func (s *served) hasState() bool { return s != nil && s.server.GetSessionState() }

// call returns the answer of a tool server to a request that the session did not make before: that
// of a parent, a recording of the setup, or what the server answers now.
func (d *serviceRecorder) call(ctx context.Context, wanted request, params *python.Dict, server *served) (recordedAnswer, error) {
	if found, ok := find(d.inherited, wanted); ok {
		return found, d.keep(ctx, found)
	}
	if body, ok := d.session.setup.recorded.Find(wanted.url, params); ok {
		return recordedAnswer{body: body}, nil
	}
	if d.offline() {
		return recordedAnswer{raised: service.NotRecorded(wanted.url, params)}, nil
	}
	return d.request(ctx, wanted, func() (string, error) {
		return d.host.servers.Call(ctx, toolserver.Request{Server: server.server, Tool: server.tool, Params: params})
	})
}

// offline says that no tool server is asked.
func (d *serviceRecorder) offline() bool {
	return d.session.replay || d.session.services == toolhostv1.HostedServices_HOSTED_SERVICES_RECORDED
}

// request asks a tool server and stores what it answers.
func (d *serviceRecorder) request(ctx context.Context, wanted request, ask func() (body string, err error)) (recordedAnswer, error) {
	if len(d.known) >= maxServerRequests {
		return recordedAnswer{}, fmt.Errorf("%w: more than %d requests to tool servers at once", ErrQuota, maxServerRequests)
	}
	body, err := ask()
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
