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
)

// rawField is where, in the _meta of a result or of a tool, its schema or structured content stands
// as the server wrote it. The SDK decodes both into maps, which lose the order of the fields; a
// server's own field of that name is overwritten.
const rawField = "toolsandbox/raw"

// rawTransport is a transport whose results carry that field and no secrets.
type rawTransport struct {
	mcp.Transport

	secrets secrets
	// abort ends a server that sends messages without end.
	abort func()
}

// Connect implements mcp.Transport.
func (t rawTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &rawConnection{Connection: conn, of: t}, nil
}

type rawConnection struct {
	mcp.Connection

	of rawTransport
	// unasked counts messages since the last answer.
	unasked int
}

// errUnasked says that a server sends messages without end.
var errUnasked = fmt.Errorf("it sends more than %d messages in a row that answer no request", maxUnasked)

// Read implements mcp.Connection.
func (c *rawConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	response, ok := message.(*jsonrpc.Response)
	if c.unasked++; ok {
		c.unasked = 0
	}
	switch {
	case err == nil && c.unasked > maxUnasked:
		c.of.abort()
		return nil, errUnasked
	case err != nil || !ok:
		return message, err
	}
	if stated, ok := errors.AsType[*jsonrpc.Error](response.Error); ok {
		stated.Message = c.of.secrets.redact(stated.Message)
	}
	if response.Error == nil {
		response.Result = withRaw(json.RawMessage(c.of.secrets.redact(string(response.Result))))
	}
	return response, nil
}

// withRaw adds the field to a result of tools/list or tools/call; others stay as they are.
func withRaw(result json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(result, &fields) != nil {
		return result
	}
	var tools []map[string]json.RawMessage
	switch {
	case fields["structuredContent"] != nil && string(fields["structuredContent"]) != "null":
		mark(fields, fields["structuredContent"])
	case fields["tools"] != nil && json.Unmarshal(fields["tools"], &tools) == nil:
		for _, tool := range tools {
			if tool != nil && tool["inputSchema"] != nil {
				mark(tool, tool["inputSchema"])
			}
		}
		fields["tools"] = encode(tools)
	default:
		delete(fields, "_meta")
	}
	return encode(fields)
}

// mark adds the field to an object.
func mark(object map[string]json.RawMessage, raw json.RawMessage) {
	object["_meta"] = encode(map[string]string{rawField: string(raw)})
}

// encode returns the JSON of what came from JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return raw
}

// limited is a way to send requests whose answers are not longer than a message may be.
type limited struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = &limitedBody{ReadCloser: response.Body, left: maxFrame}
	}
	return response, err
}

// CloseIdleConnections closes those of the transport below.
func (l limited) CloseIdleConnections() {
	if below, ok := l.RoundTripper.(*http.Transport); ok {
		below.CloseIdleConnections()
	}
}

type limitedBody struct {
	io.ReadCloser

	left int
}

var errLong = errors.New("the answer is too long")

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
