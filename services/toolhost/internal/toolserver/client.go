// Package toolserver is a client for tool servers: external programs that execute the calls of a
// pack's tools over gRPC (toolsandbox.tools.v1) or MCP.
package toolserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/semaphore"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// Flag is the command-line flag that sets the targets.
const Flag = "--toolhost-tool-server"

const (
	// maxBody is the maximum size of an answer in bytes.
	maxBody = 1 << 20
	// maxAttempts is the maximum number of attempts of one call.
	maxAttempts = 4
	// minPause and maxPause bound the pauses between attempts, before a jitter of half a pause.
	minPause, maxPause = 200 * time.Millisecond, 2 * time.Second
	// reportTime is the time that remains to report a server that does not answer.
	reportTime = time.Second
	// maxStates is the maximum number of open connections to servers with a state per session.
	// CallStateful restores the state of an evicted session.
	maxStates = 32
	// maxAlone is the maximum number of connections for a call of its own, see Client.Call.
	maxAlone = 8
)

// These are the errors of a Client.
var (
	// ErrUnknown means that the tool host has no target for the server.
	ErrUnknown = errors.New("unknown tool server")
	// ErrUnavailable means that the server cannot be reached or does not answer in time.
	ErrUnavailable = errors.New("tool server is unavailable")
	// ErrDeadline means that the time of the caller is over.
	ErrDeadline = errors.New("the execution's time (--orchestrator-execute-timeout) is over")
	// ErrProtocol means that the server violates the protocol. Another attempt does not help.
	ErrProtocol = errors.New("tool server is broken")
	// ErrUnknownState means that the answer depends on a session state that the tool host cannot
	// derive.
	ErrUnknownState = errors.New("tool server keeps a state")
)

// Config configures a Client.
type Config struct {
	Targets Targets
	// Timeout bounds one call with all attempts. It must be positive.
	Timeout time.Duration
	// Logger receives the reasons of failures.
	Logger *slog.Logger
}

// Request is one call of a tool.
type Request struct {
	Server *setupv1.ToolServer
	Tool   *toolsv1.Tool
	// Params are all inputs of the call: arguments, and rows, now and ids if the tool declares them.
	Params *python.Dict
}

// Exchange is a request and the body of its answer.
type Exchange struct {
	Request

	Body string
}

// connection is a connection to one server. It is safe for concurrent use.
type connection interface {
	// list returns the server's tools.
	list(ctx context.Context) ([]*toolsv1.Tool, error)
	// call returns the body of the answer. Another attempt does not help if the error is ErrProtocol.
	call(ctx context.Context, request Request) (body string, err error)
	close() error
}

// connectionKey identifies a connection. session is empty for a server without state.
type connectionKey struct{ server, session string }

// cacheEntry holds at most one connection. mu serializes dialing and, for a server with state,
// calls.
type cacheEntry struct {
	key  connectionKey
	mu   sync.Mutex
	conn connection
	// historyDigest is the digest of the exchanges that led to the server's state.
	historyDigest [sha256.Size]byte
	// evicted entries do not connect again.
	evicted bool
}

// Client calls tool servers. It is safe for concurrent use. The caller that creates it closes it.
type Client struct {
	cfg Config
	mu  sync.Mutex
	// shared are the connections to servers without state, by server name.
	shared map[string]*cacheEntry
	// states are the connections to servers with state.
	states *simplelru.LRU[connectionKey, *cacheEntry]
	// alone bounds the connections for a call of its own.
	alone *semaphore.Weighted
}

// NewClient returns a client. It does not connect yet.
func NewClient(cfg Config) *Client {
	states, _ := simplelru.NewLRU[connectionKey, *cacheEntry](maxStates, nil) // fails for no size only
	return &Client{cfg: cfg, shared: make(map[string]*cacheEntry), states: states, alone: semaphore.NewWeighted(maxAlone)}
}

// Close closes all connections and stops the started programs. The client cannot be used
// afterwards.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries := slices.AppendSeq(c.states.Values(), maps.Values(c.shared))
	var wait sync.WaitGroup
	errs := make([]error, len(entries))
	for i, entry := range entries {
		wait.Go(func() { errs[i] = entry.evict() })
	}
	wait.Wait()
	clear(c.shared)
	c.states.Purge()
	return errors.Join(errs...)
}

// evict closes the connection permanently. It waits for the current user.
func (e *cacheEntry) evict() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.evicted = true
	return e.disconnect()
}

// disconnect closes the connection. The caller holds e.mu.
func (e *cacheEntry) disconnect() error {
	if e.conn == nil {
		return nil
	}
	err := e.conn.close()
	e.conn, e.historyDigest = nil, [sha256.Size]byte{}
	return err
}

// stateEntry returns the locked entry of a server with state. If the cache is full, it evicts the
// least recently used entry. It does so without c.mu, because that entry may be in use.
func (c *Client) stateEntry(key connectionKey) *cacheEntry {
	for {
		entry, evicted := c.use(key)
		if evicted != nil {
			c.warn(evicted.key.server, evicted.evict())
		}
		entry.mu.Lock()
		if !entry.evicted {
			return entry
		}
		entry.mu.Unlock() // another call evicted it
	}
}

// use returns the entry of a key and makes it the most recently used one. evicted is the entry to
// close, nil for none.
func (c *Client) use(key connectionKey) (entry, evicted *cacheEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, ok := c.states.Get(key); ok {
		return entry, nil
	}
	if c.states.Len() == maxStates {
		_, evicted, _ = c.states.RemoveOldest()
	}
	entry = &cacheEntry{key: key}
	c.states.Add(key, entry)
	return entry, evicted
}

func (c *Client) warn(server string, err error) {
	if err != nil {
		c.cfg.Logger.Debug("connection to tool server ended", "server", server, "error", err)
	}
}

// CallStateful is Call for a server with a state per session. history is the session's earlier
// exchanges, in order. If the server's state differs, CallStateful repeats them on a new
// connection. It serializes the calls of a session.
func (c *Client) CallStateful(ctx context.Context, session string, history []Exchange, request Request) (body string, err error) {
	name := request.Server.GetName()
	entry := c.stateEntry(connectionKey{server: name, session: session})
	defer entry.mu.Unlock()
	var digest [sha256.Size]byte
	for _, exchange := range history {
		digest = exchange.digest(digest)
	}
	err = c.retry(ctx, name, func(ctx context.Context) error {
		if entry.conn != nil && entry.historyDigest != digest {
			c.warn(name, entry.disconnect())
		}
		err := c.restore(ctx, entry, history)
		if err == nil {
			body, err = entry.conn.call(ctx, request)
		}
		if err != nil {
			c.warn(name, entry.disconnect()) // the server's state is unknown
			return cause(err)
		}
		entry.historyDigest = Exchange{request, body}.digest(digest)
		return nil
	})
	return body, err
}

// digest returns the digest of a history that ends with x. previous is the digest of the earlier
// exchanges.
func (x Exchange) digest(previous [sha256.Size]byte) [sha256.Size]byte {
	text := python.JSON(python.List(python.Str(x.Tool.GetName()), x.Params.Value(), python.Str(x.Body)))
	return sha256.Sum256(append(previous[:], text...))
}

// restore connects, if there is no connection, and repeats the history. The error is ErrProtocol if
// an answer differs.
func (c *Client) restore(ctx context.Context, entry *cacheEntry, history []Exchange) error {
	if entry.conn != nil {
		return nil
	}
	var err error
	if entry.conn, err = c.dial(ctx, entry.key.server); err != nil {
		return err
	}
	for i, exchange := range history {
		body, err := entry.conn.call(ctx, exchange.Request)
		if err != nil {
			return err
		}
		if body != exchange.Body {
			return fmt.Errorf("%w: %s: request %d of the session's history, %s, was answered otherwise when it was repeated: its answers depend on more than the calls of the session",
				ErrProtocol, entry.key.server, i, exchange.Tool.GetName())
		}
		entry.historyDigest = exchange.digest(entry.historyDigest)
	}
	return nil
}

// dial opens a connection to a server.
func (c *Client) dial(ctx context.Context, name string) (connection, error) {
	target, ok := c.cfg.Targets[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w %q: start the tool host with %s %s=address", ErrUnknown, name, Flag, name)
	case target.isGRPC():
		return dialGRPC(name, target)
	default:
		return dialMCP(ctx, name, target)
	}
}

// retry calls do until it succeeds, fails permanently, or the timeout passes. It returns a
// lostError at once.
func (c *Client) retry(parent context.Context, name string, do func(context.Context) error) error {
	limit, ofCaller := c.limit(parent)
	if limit <= 0 && parent.Err() == nil {
		return fmt.Errorf("%w: no time is left to ask %s", ErrDeadline, name)
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = minPause, maxPause
	var last error
	tries := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		err := do(ctx)
		_, lost := errors.AsType[lostError](err)
		if lost || errors.Is(err, ErrProtocol) || errors.Is(err, ErrUnknown) {
			err = backoff.Permanent(err)
		}
		if err != nil && (ctx.Err() == nil || last == nil) {
			last = err
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(maxAttempts), backoff.WithMaxElapsedTime(limit))
	_, lost := errors.AsType[lostError](last)
	if lost && parent.Err() == nil && (ctx.Err() == nil || !ofCaller) {
		return last // there is time for a call of its own
	}
	last = cause(last)
	switch {
	case err == nil:
		return nil
	case parent.Err() != nil:
		return fmt.Errorf("ask tool server %s: %w", name, context.Cause(parent))
	case errors.Is(last, ErrProtocol), errors.Is(last, ErrUnknown):
		c.cfg.Logger.WarnContext(parent, "tool server failed", "server", name, "attempts", tries, "error", last)
		return last
	case ctx.Err() != nil:
		last = fmt.Errorf("no answer within %s: %w", limit.Round(time.Millisecond), last)
	}
	c.cfg.Logger.WarnContext(parent, "tool server failed", "server", name, "attempts", tries, "error", last)
	err = fmt.Errorf("%w: %s at %s: %w", ErrUnavailable, name, c.cfg.Targets[name], last)
	if ofCaller && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrDeadline, err)
	}
	return err
}

// limit returns the time of a call, and whether its caller bounds it. A call ends a little before
// its caller stops waiting, so that the caller learns which server did not answer.
func (c *Client) limit(ctx context.Context) (limit time.Duration, ofCaller bool) {
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline) - reportTime; left < c.cfg.Timeout {
			return left, true
		}
	}
	return c.cfg.Timeout, false
}
