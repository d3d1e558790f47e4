package host

import (
	"context"
	"fmt"
	"strings"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/service"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/toolserver"
)

// maxServerRequests is the limit of different requests to tool servers per execution. It includes
// those of the search for a failing order of parallel calls.
const maxServerRequests = 512

// serverTool is a tool with its server.
type serverTool struct {
	server *setupv1.ToolServer
	tool   *toolsv1.Tool
}

// findServerTool returns the tool with recorded answers at an address, nil for an address of
// another kind.
func (s *compiledSetup) findServerTool(url string) *serverTool {
	path, ok := strings.CutPrefix(url, tool.ServerScheme)
	if !ok {
		return nil
	}
	serverName, name, _ := strings.Cut(path, "/")
	for _, server := range s.servers {
		for _, declared := range server.GetTools() {
			if server.GetName() == serverName && declared.GetName() == name {
				return &serverTool{server, declared}
			}
		}
	}
	return nil
}

// hasState reports whether the server keeps state for each session.
func (s *serverTool) hasState() bool { return s != nil && s.server.GetSessionState() }

// call returns the answer of a tool server to a new request of the session: an answer of a parent,
// a recording of the setup, or a new answer.
func (d *serviceRecorder) call(ctx context.Context, req request, params *python.Dict, server *serverTool) (recordedAnswer, error) {
	if found, ok := find(d.inherited, req); ok {
		return found, d.keep(ctx, found)
	}
	if body, ok := d.session.setup.recorded.Find(req.url, params); ok {
		return recordedAnswer{body: body}, nil
	}
	if d.offline() {
		return recordedAnswer{raised: service.NotRecordedError(req.url, params)}, nil
	}
	return d.request(ctx, req, func() (string, error) {
		return d.host.servers.Call(ctx, toolserver.Request{Server: server.server, Tool: server.tool, Params: params})
	})
}

// offline reports whether the session contacts no tool server.
func (d *serviceRecorder) offline() bool {
	return d.session.replay || d.session.services == toolhostv1.HostedServices_HOSTED_SERVICES_RECORDED
}

// request sends a request to a tool server and stores the answer.
func (d *serviceRecorder) request(ctx context.Context, req request, send func() (body string, err error)) (recordedAnswer, error) {
	if len(d.known) >= maxServerRequests {
		return recordedAnswer{}, fmt.Errorf("%w: more than %d requests to tool servers at once", ErrQuota, maxServerRequests)
	}
	body, err := send()
	if err != nil {
		return recordedAnswer{}, err
	}
	answer, err := decodeAnswer(&toolhostv1.ServiceAnswer{
		Recording: &setupv1.RecordedAnswer{Url: req.url, ParamsJson: req.text, ResponseJson: body},
	})
	if err != nil {
		return recordedAnswer{}, err
	}
	return answer, d.keep(ctx, answer)
}
