package toolserver

import (
	"context"
	"errors"
	"fmt"

	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// sharedEntry returns the entry of a server without state.
func (c *Client) sharedEntry(server string) *cacheEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.shared[server]
	if !ok {
		entry = &cacheEntry{key: connectionKey{server: server}}
		c.shared[server] = entry
	}
	return entry
}

// List returns the validated tools of a server. The error is that of Call.
func (c *Client) List(ctx context.Context, name string) (tools []*toolsv1.Tool, err error) {
	entry := c.sharedEntry(name)
	err = c.retry(ctx, name, func(ctx context.Context) error {
		conn, err := c.connect(ctx, entry)
		if err != nil {
			return cause(err)
		}
		if tools, err = conn.list(ctx); err != nil {
			c.discard(entry, conn)
		}
		return cause(err)
	})
	if err != nil {
		return nil, err
	}
	return tools, checkTools(name, tools)
}

// lostError is an error after which a connection is of no use. Any of the calls that share the
// connection may have caused it.
type lostError struct{ error }

// Unwrap returns the cause.
func (e lostError) Unwrap() error { return e.error }

// cause returns the error in a lostError, and other errors as they are.
func cause(err error) error {
	if lost, ok := errors.AsType[lostError](err); ok {
		return lost.error
	}
	return err
}

// Call returns the body of the answer: a JSON object with value and changes, or with raised. Calls
// share a connection. A call that loses it, or gets no answer in time, is repeated on a connection
// of its own with the timeout anew, so that it does not fail because of another call. Attempts have
// jittered pauses. The error is ErrUnknown, ErrUnavailable, ErrProtocol or the cause of ctx's end.
func (c *Client) Call(ctx context.Context, request Request) (body string, err error) {
	name := request.Server.GetName()
	err = c.retry(ctx, name, func(ctx context.Context) (err error) {
		body, err = c.callShared(ctx, request)
		return err
	})
	if _, lost := errors.AsType[lostError](err); !lost {
		return body, err
	}
	err = c.retry(ctx, name, func(ctx context.Context) (err error) {
		body, err = c.callAlone(ctx, request)
		return err
	})
	return body, err
}

// callShared makes a call on the shared connection. Its error is a lostError if the call may
// succeed on a connection of its own.
func (c *Client) callShared(ctx context.Context, request Request) (string, error) {
	entry := c.sharedEntry(request.Server.GetName())
	conn, err := c.connect(ctx, entry)
	if err != nil {
		return "", cause(err)
	}
	body, err := conn.call(ctx, request)
	if _, lost := errors.AsType[lostError](err); lost {
		c.discard(entry, conn)
	}
	return body, err
}

// callAlone makes a call on a connection of its own.
func (c *Client) callAlone(ctx context.Context, request Request) (body string, err error) {
	if err := c.alone.Acquire(ctx, 1); err != nil {
		return "", fmt.Errorf("wait for one of %d connections for calls alone: %w", maxAlone, err)
	}
	defer c.alone.Release(1)
	name := request.Server.GetName()
	conn, err := c.dial(ctx, name)
	if err != nil {
		return "", cause(err)
	}
	defer func() { c.warn(name, conn.close()) }()
	body, err = conn.call(ctx, request)
	return body, cause(err)
}

// connect returns the connection of an entry. It dials if there is none.
func (c *Client) connect(ctx context.Context, entry *cacheEntry) (connection, error) {
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.conn != nil {
		return entry.conn, nil
	}
	var err error
	entry.conn, err = c.dial(ctx, entry.key.server)
	return entry.conn, err
}

// discard closes a lost connection unless another one has replaced it. It keeps a gRPC connection,
// which reconnects.
func (c *Client) discard(entry *cacheEntry, conn connection) {
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.conn == conn && !c.cfg.Targets[entry.key.server].isGRPC() {
		c.warn(entry.key.server, entry.disconnect())
	}
}
