package toolserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxStatusBody is the kept length of the body of an HTTP error in bytes.
const maxStatusBody = 200

// statusError is an HTTP status that is no success.
type statusError struct {
	text string
	// lost means that another attempt, or another session, may help.
	lost bool
}

// Error implements error.
func (e *statusError) Error() string { return e.text }

// newStatusError returns the error for a response, nil for a success. It closes the body of others.
func newStatusError(request *http.Request, response *http.Response) error {
	code := response.StatusCode
	if code >= http.StatusOK && code < http.StatusMultipleChoices {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxStatusBody)) // the status says more than a broken body
	_ = response.Body.Close()
	text := fmt.Sprintf("HTTP %d %s", code, http.StatusText(code))
	if target, err := response.Location(); err == nil {
		return &statusError{text: text + ": it redirects to " + (Target{Address: target.String()}).String() + "; use that address"}
	}
	if said := strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD")); said != "" {
		text += fmt.Sprintf(": %q", said)
	}
	// A session that is over is 404 in the protocol, and 400 at many servers.
	ended := (code == http.StatusNotFound || code == http.StatusBadRequest) && request.Header.Get("Mcp-Session-Id") != ""
	busy := code >= http.StatusInternalServerError || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests
	return &statusError{text: text, lost: ended || busy}
}

// brokenStream lists texts of errors without a type that the SDK makes when an HTTP response breaks
// off.
var brokenStream = []string{"failed to read body", "request terminated without response", "failed to reconnect"}

// isLost reports whether an error is a lost connection, so that another attempt may help.
func isLost(err error) bool {
	if status, ok := errors.AsType[*statusError](err); ok {
		return status.lost
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true // the request or its response got lost
	}
	for _, lost := range []error{
		io.EOF, io.ErrUnexpectedEOF, mcp.ErrConnectionClosed, mcp.ErrSessionMissing, syscall.EPIPE, os.ErrClosed, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	has := func(text string) bool { return strings.Contains(err.Error(), text) }
	return slices.ContainsFunc(brokenStream, has) && !has(errTooLong.Error())
}

// wrapError returns ErrProtocol unless the connection was lost. All but a JSON-RPC error of the
// server are a lostError.
func (m *mcpConnection) wrapError(operation string, err error) error {
	lost := isLost(err)
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err // the URL may hold a secret
	} else if rpcErr, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return fmt.Errorf("%w: %s: %s: %s (code %d)", ErrProtocol, m.name, operation, rpcErr.Message, rpcErr.Code)
	}
	if lost {
		return lostError{fmt.Errorf("%s: %w", operation, m.program.explain(err))}
	}
	return lostError{fmt.Errorf("%w: %s: %s: %w", ErrProtocol, m.name, operation, m.program.explain(err))}
}
