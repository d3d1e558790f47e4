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
	"go.opentelemetry.io/otel/trace"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	// protocol is the requested MCP version: the newest with session ids.
	protocol = "2025-11-25"
	// maxTools and maxPages bound a list of tools.
	maxTools, maxPages = 256, 64
	// maxFrame is the maximum size of a server's message in bytes.
	maxFrame = 4 * maxBody
	// maxUnsolicited is the maximum number of consecutive messages that answer no request.
	maxUnsolicited = 4096
	// closeTimeout bounds the time to close a session.
	closeTimeout = 2 * time.Second
)

// mcpConnection is a session of an MCP server.
type mcpConnection struct {
	name       string
	session    *mcp.ClientSession
	program    *program // nil over HTTP
	httpClient *http.Client
	// stop cancels the background work of the session.
	stop context.CancelFunc
}

// dialMCP opens a session.
func dialMCP(ctx context.Context, name string, target Target) (connection, error) {
	// The session outlives the rollout, so it has no trace.
	sessionContext, stop := context.WithCancel(trace.ContextWithSpanContext(context.WithoutCancel(ctx), trace.SpanContext{}))
	m := &mcpConnection{name: name, stop: stop}
	transport := rawTransport{abort: func() { m.program.abort() }}
	if target.Address != "" {
		base, _ := http.DefaultTransport.(*http.Transport)
		m.httpClient = &http.Client{
			Transport:     base.Clone(),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		m.httpClient.Transport = limitedTransport{m.httpClient.Transport}
		transport.Transport = &mcp.StreamableClientTransport{
			Endpoint: target.Address, HTTPClient: m.httpClient, MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxFrame,
		}
	} else {
		var err error
		if m.program, err = startProgram(target); err != nil {
			stop()
			return nil, err
		}
		transport.Transport = &mcp.IOTransport{Reader: m.program.stdout, Writer: m.program}
		transport.secrets = m.program.secrets
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "toolsandbox", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	// The session outlives ctx, which bounds only its opening.
	stopWatch := context.AfterFunc(ctx, m.abort)
	session, err := client.Connect(sessionContext, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	stopWatch()
	if err != nil {
		err = errors.Join(m.wrapError("begin a session", err), m.closeTransport())
		stop()
		return nil, err
	}
	m.session = session
	return m, nil
}

// closeTransport closes the idle connections or the program, which the session does not close.
func (m *mcpConnection) closeTransport() error {
	if m.httpClient != nil {
		m.httpClient.CloseIdleConnections()
		return nil
	}
	return m.program.Close()
}

func (m *mcpConnection) close() error {
	timer := time.AfterFunc(closeTimeout, m.abort)
	defer timer.Stop()
	err := errors.Join(m.session.Close(), m.closeTransport())
	m.stop()
	return err
}

// abort ends the session at once, without waiting for the server.
func (m *mcpConnection) abort() {
	m.stop()
	m.program.abort()
}

func (m *mcpConnection) list(ctx context.Context) ([]*toolsv1.Tool, error) {
	defer context.AfterFunc(ctx, m.abort)() // the SDK blocks on a server that does not read
	var tools []*toolsv1.Tool
	params := &mcp.ListToolsParams{}
	for page := 0; ; page++ {
		result, err := m.session.ListTools(ctx, params)
		if err != nil {
			return nil, m.wrapError("list tools", err)
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
			return nil, fmt.Errorf("%w: %s: it has more than %d tools or %d pages of them", ErrProtocol, m.name, maxTools, maxPages)
		}
	}
}

// invalidNameCharacter matches the characters that a tool's name cannot contain.
var invalidNameCharacter = regexp.MustCompile(`[^A-Za-z0-9_]`)

// tool converts a tool. It replaces invalid characters of the name by underscores.
func (m *mcpConnection) tool(listed *mcp.Tool) (*toolsv1.Tool, error) {
	tool := &toolsv1.Tool{
		Name: invalidNameCharacter.ReplaceAllString(listed.Name, "_"), Description: listed.Description,
		ReadOnly: listed.Annotations != nil && listed.Annotations.ReadOnlyHint,
	}
	if tool.GetName() != listed.Name {
		tool.ServerName = listed.Name
	}
	raw, ok := listed.Meta[rawField].(string)
	if !ok {
		return nil, fmt.Errorf("%w: %s: tool %s has no schema of its arguments", ErrProtocol, m.name, listed.Name)
	}
	tool.ParametersJson = raw
	return tool, nil
}

func (m *mcpConnection) call(ctx context.Context, request Request) (string, error) {
	defer context.AfterFunc(ctx, m.abort)()
	arguments, _ := request.Params.Get(FieldArguments)
	params := &mcp.CallToolParams{Name: nameOnServer(request.Tool), Arguments: json.RawMessage(python.JSON(arguments))}
	if parent := telemetry.Traceparent(ctx); parent != "" {
		params.Meta = mcp.Meta{telemetry.TraceparentHeader: parent}
	}
	result, err := m.session.CallTool(ctx, params)
	var rpcErr *jsonrpc.Error
	switch {
	case errors.As(err, &rpcErr) && rpcErr.Code == jsonrpc.CodeInvalidParams:
		return raisedBody("", rpcErr.Message), nil // the server rejects the arguments
	case err != nil:
		return "", m.wrapError(request.Tool.GetName(), err)
	case result.IsError:
		return raisedBody("", text(result.Content)), nil
	}
	body := valueBody(python.Str(text(result.Content)), nil)
	if raw, ok := result.Meta[rawField].(string); ok {
		value, err := jsonValue("structuredContent", raw)
		if err != nil {
			return "", fmt.Errorf("%w: %s: answer to %s: %w", ErrProtocol, m.name, request.Tool.GetName(), err)
		}
		body = valueBody(value, nil)
	}
	if len(body) > maxBody {
		return "", fmt.Errorf("%w: %s: answer to %s: more than %d bytes", ErrProtocol, m.name, request.Tool.GetName(), maxBody)
	}
	return body, nil
}

// text returns the texts of a result. It represents other content by type and size.
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
