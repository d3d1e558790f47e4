package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsandbox/toolsandbox/internal/python"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

const (
	// protocol is the version that is asked for: the newest one whose sessions a server can tell
	// apart.
	protocol = "2025-11-25"
	// maxTools and maxPages bound a list of tools.
	maxTools, maxPages = 256, 64
	// maxFrame is the size of one message of a server.
	maxFrame = 4 * maxBody
	// maxUnasked is how many messages in a row a server may send that answer no request.
	maxUnasked = 4096
	// closeLimit bounds how long a server may take to say goodbye.
	closeLimit = 2 * time.Second
)

// overMCP is a session of an MCP server.
type overMCP struct {
	name    string
	session *mcp.ClientSession
	program *program // nil without one
	web     *http.Client
	// stop ends what the session does by itself.
	stop context.CancelFunc
}

// dialMCP begins a session.
func dialMCP(ctx context.Context, name string, target Target) (connection, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	m := &overMCP{name: name, stop: stop}
	transport := rawTransport{abort: func() { m.program.abort() }}
	if target.Address != "" {
		base, _ := http.DefaultTransport.(*http.Transport)
		m.web = &http.Client{
			Transport:     base.Clone(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		m.web.Transport = limited{m.web.Transport}
		transport.Transport = &mcp.StreamableClientTransport{
			Endpoint: target.Address, HTTPClient: m.web, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxFrame,
		}
	} else {
		var err error
		if m.program, err = start(target); err != nil {
			stop()
			return nil, err
		}
		transport.Transport = &mcp.IOTransport{Reader: m.program.stdout, Writer: m.program, MaxLineLength: maxFrame}
		transport.secrets = m.program.secrets
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "toolsandbox", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	// A session outlives the call that opens it, so the call's end only cuts the opening short.
	unwatch := context.AfterFunc(ctx, m.abort)
	session, err := client.Connect(life, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	unwatch()
	if err != nil {
		err = errors.Join(m.failed("begin a session", err), m.closeTransport())
		stop()
		return nil, err
	}
	m.session = session
	return m, nil
}

// closeTransport frees what a session does not close by itself.
func (m *overMCP) closeTransport() error {
	if m.web != nil {
		m.web.CloseIdleConnections()
		return nil
	}
	return m.program.Close()
}

func (m *overMCP) close() error {
	timer := time.AfterFunc(closeLimit, m.abort)
	defer timer.Stop()
	err := errors.Join(m.session.Close(), m.closeTransport())
	m.stop()
	return err
}

// abort ends the session at once, whatever waits for the server.
func (m *overMCP) abort() {
	m.stop()
	m.program.abort()
}

// failed says whether another try may help: an error that the server states and an answer that is
// none are no failures of the connection.
func (m *overMCP) failed(what string, err error) error {
	if stated, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Errorf("%w: %s: %s: %s (code %d)", ErrBroken, m.name, what, stated.Message, stated.Code)
	}
	_, garbled := errors.AsType[*json.SyntaxError](err)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	if garbled || mistyped || errors.Is(err, errUnasked) {
		return fmt.Errorf("%w: %s: %s: %w", ErrBroken, m.name, what, m.program.because(err))
	}
	return fmt.Errorf("%s: %w", what, m.program.because(err))
}

func (m *overMCP) list(ctx context.Context) ([]*toolsv1.Tool, error) {
	defer context.AfterFunc(ctx, m.abort)() // a server that does not read would be waited for
	var tools []*toolsv1.Tool
	params := &mcp.ListToolsParams{}
	for page := 0; ; page++ {
		result, err := m.session.ListTools(ctx, params)
		if err != nil {
			return nil, m.failed("list tools", err)
		}
		for _, listed := range result.Tools {
			tool, err := m.tool(listed)
			if err != nil {
				return nil, err
			}
			tools = append(tools, tool)
		}
		if result.NextCursor == "" {
			return tools, nil
		}
		if params.Cursor = result.NextCursor; len(tools) > maxTools || page >= maxPages {
			return nil, fmt.Errorf("%w: %s: it has more than %d tools or %d pages of them", ErrBroken, m.name, maxTools, maxPages)
		}
	}
}

// noName is what cannot stand in the name of a tool.
var noName = regexp.MustCompile(`[^A-Za-z0-9_]`)

// tool translates a tool. A name that models' providers or Python do not take gets underscores.
func (m *overMCP) tool(listed *mcp.Tool) (*toolsv1.Tool, error) {
	tool := &toolsv1.Tool{
		Name: noName.ReplaceAllString(listed.Name, "_"), Description: listed.Description,
		ReadOnly: listed.Annotations != nil && listed.Annotations.ReadOnlyHint,
	}
	if tool.GetName() != listed.Name {
		tool.ServerName = listed.Name
	}
	raw, ok := listed.Meta[rawField].(string)
	if !ok {
		return nil, fmt.Errorf("%w: %s: tool %s has no schema of its arguments", ErrBroken, m.name, listed.Name)
	}
	tool.ParametersJson = raw
	return tool, nil
}

func (m *overMCP) call(ctx context.Context, request Request) (string, error) {
	defer context.AfterFunc(ctx, m.abort)()
	arguments, _ := request.Params.Get(FieldArguments)
	result, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: named(request.Tool), Arguments: json.RawMessage(python.JSON(arguments))})
	var stated *jsonrpc.Error
	switch {
	case errors.As(err, &stated) && stated.Code == jsonrpc.CodeInvalidParams:
		return raisedBody("", stated.Message), nil // it is about the arguments
	case err != nil:
		return "", m.failed(request.Tool.GetName(), err)
	case result.IsError:
		return raisedBody("", text(result.Content)), nil
	}
	body := valueBody(python.Str(text(result.Content)), nil)
	if raw, ok := result.Meta[rawField].(string); ok {
		value, err := jsonValue("structuredContent", raw)
		if err != nil {
			return "", fmt.Errorf("%w: %s: answer to %s: %w", ErrBroken, m.name, request.Tool.GetName(), err)
		}
		body = valueBody(value, nil)
	}
	if len(body) > maxBody {
		return "", fmt.Errorf("%w: %s: answer to %s: more than %d bytes", ErrBroken, m.name, request.Tool.GetName(), maxBody)
	}
	return body, nil
}

// text returns what a result says in words. Of what are no words it tells kind and size.
func text(content []mcp.Content) string {
	var parts []string
	for _, item := range content {
		switch item := item.(type) {
		case *mcp.TextContent:
			parts = append(parts, item.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("[%s, %d bytes]", item.MIMEType, len(item.Data)))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[%s, %d bytes]", item.MIMEType, len(item.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, item.URI)
		case *mcp.EmbeddedResource:
			switch {
			case item.Resource == nil:
			case item.Resource.Text != "":
				parts = append(parts, item.Resource.Text)
			default:
				parts = append(parts, fmt.Sprintf("[%s, %d bytes]", item.Resource.URI, len(item.Resource.Blob)))
			}
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD")
}
