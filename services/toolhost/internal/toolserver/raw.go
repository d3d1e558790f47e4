package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolsandbox/toolsandbox/internal/telemetry"
)

// rawField is the field of _meta that holds the server's text of a tool's schema or of a result's
// structured content. The SDK decodes both into maps, which lose the order of fields. A server's
// field of that name is overwritten.
const rawField = "toolsandbox/raw"

// rawTransport adds rawField to results and redacts secrets.
type rawTransport struct {
	mcp.Transport

	secrets secrets
	// abort stops a server that floods the connection.
	abort func()
}

// Connect implements mcp.Transport.
func (t rawTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &rawConnection{Connection: conn, transport: t}, nil
}

type rawConnection struct {
	mcp.Connection

	transport rawTransport
	// unsolicited counts the messages since the last answer.
	unsolicited int
}

// errUnsolicited means that the server floods the connection.
var errUnsolicited = fmt.Errorf("it sends more than %d messages in a row that answer no request", maxUnsolicited)

// Read implements mcp.Connection.
func (c *rawConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	response, ok := message.(*jsonrpc.Response)
	if c.unsolicited++; ok {
		c.unsolicited = 0
	}
	switch {
	case err == nil && c.unsolicited > maxUnsolicited:
		c.transport.abort()
		return nil, errUnsolicited
	case err != nil || !ok:
		return message, err
	}
	if rpcErr, ok := errors.AsType[*jsonrpc.Error](response.Error); ok {
		rpcErr.Message = c.transport.secrets.redact(rpcErr.Message)
	}
	if response.Error == nil {
		response.Result = withRaw(json.RawMessage(c.transport.secrets.redact(string(response.Result))))
	}
	return response, nil
}

// withRaw adds rawField to a result of tools/list or tools/call. It does not change other results.
func withRaw(result json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(result, &fields) != nil {
		return result
	}
	var tools []map[string]json.RawMessage
	switch {
	case fields["structuredContent"] != nil && string(fields["structuredContent"]) != "null":
		setRaw(fields, fields["structuredContent"])
	case fields["tools"] != nil && json.Unmarshal(fields["tools"], &tools) == nil:
		for _, tool := range tools {
			if tool != nil && tool["inputSchema"] != nil {
				setRaw(tool, tool["inputSchema"])
			}
		}
		fields["tools"] = encode(tools)
	default:
		delete(fields, "_meta")
	}
	return encode(fields)
}

// setRaw sets rawField of an object.
func setRaw(object map[string]json.RawMessage, raw json.RawMessage) {
	object["_meta"] = encode(map[string]string{rawField: string(raw)})
}

// encode returns the JSON of a value that was decoded from JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}

// limitedTransport limits the bodies of responses to maxFrame bytes. It returns a status of a POST
// that is no success as a statusError, because the SDK drops its code, body and target.
type limitedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if parent := telemetry.Traceparent(request.Context()); parent != "" {
		request = request.Clone(request.Context())
		request.Header.Set(telemetry.TraceparentHeader, parent)
	}
	response, err := l.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if request.Method == http.MethodPost {
		if err := newStatusError(request, response); err != nil {
			return nil, err
		}
	}
	response.Body = &limitedBody{ReadCloser: response.Body, left: maxFrame}
	return response, nil
}

// CloseIdleConnections implements the interface that http.Client uses.
func (l limitedTransport) CloseIdleConnections() {
	if below, ok := l.RoundTripper.(*http.Transport); ok {
		below.CloseIdleConnections()
	}
}

type limitedBody struct {
	io.ReadCloser

	left int
}

var errTooLong = errors.New("the answer is too long")

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
