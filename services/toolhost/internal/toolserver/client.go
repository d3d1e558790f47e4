// Package toolserver asks tool servers: programs elsewhere that answer the calls of a pack's tools,
// over gRPC (toolsandbox.tools.v1) or MCP.
package toolserver

import (
	"container/list"
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

	"github.com/toolsandbox/toolsandbox/internal/python"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolsv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/tools/v1"
)

// Flag is the one that says where servers are.
const Flag = "--toolhost-tool-server"

const (
	// maxBody is the size of an answer in bytes.
	maxBody = 1 << 20
	// maxTries is how often one call is sent, the first time included.
	maxTries = 4
	// firstPause and longestPause bound the pauses between tries before they are jittered by half.
	firstPause, longestPause = 200 * time.Millisecond, 2 * time.Second
	// maxStates is how many servers with a state for a session are open at once. That of another
	// session is made again when it is needed.
	maxStates = 32
)

// Errors that a caller can act on.
var (
	// ErrUnknown says that nobody told the tool host where a server is.
	ErrUnknown = errors.New("unknown tool server")
	// ErrAway says that a server cannot be reached or does not answer in time.
	ErrAway = errors.New("tool server is away")
	// ErrBroken says that a server answers what it must not.
	ErrBroken = errors.New("tool server is broken")
	// ErrState says that nobody knows what a server with a state for each session would answer.
	ErrState = errors.New("tool server keeps a state")
)

// Config says which servers there are and how they are asked.
type Config struct {
	Targets Targets
	// Timeout bounds one call with all its tries; it must be more than 0.
	Timeout time.Duration
	// Logger is told why calls failed.
	Logger *slog.Logger
}

// Request is one call of a tool.
type Request struct {
	Server *setupv1.ToolServer
	Tool   *toolsv1.Tool
	// Params are what decides the answer: arguments, rows, now and ids, where the tool declares them.
	Params *python.Dict
}

// Answered is a request with the body that answered it.
type Answered struct {
	Request

	Body string
}

// connection is one to a server. It is safe for concurrent use.
type connection interface {
	// list returns the server's tools.
	list(ctx context.Context) ([]*toolsv1.Tool, error)
	// call returns the body of an answer. An error that wraps ErrBroken is not mended by another
	// try.
	call(ctx context.Context, request Request) (body string, err error)
	close() error
}

// place is that of a connection: a server, and a session if the server has a state for each.
type place struct{ server, session string }

// slot holds the connection of a place, if it is open. mu makes sure that only one is opened.
type slot struct {
	place place
	mu    sync.Mutex
	open  connection
	// served identifies the requests that made the server's state.
	served [sha256.Size]byte
	// gone says that the slot made room: it is not opened again.
	gone bool
}

// Client asks tool servers. It is safe for concurrent use. Whoever made it closes it.
type Client struct {
	cfg Config
	mu  sync.Mutex
	// shared are the slots of servers without a state, by name.
	shared map[string]*slot
	// states are the slots of servers with a state by place; recent has them, used last first.
	states map[place]*list.Element
	recent *list.List
}

// NewClient returns a client that has not connected to anything yet.
func NewClient(cfg Config) *Client {
	return &Client{cfg: cfg, shared: make(map[string]*slot), states: make(map[place]*list.Element), recent: list.New()}
}

// Close closes all connections and ends the programs that were started. Nothing may be asked then.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := slices.Collect(maps.Values(c.shared))
	for _, element := range c.states {
		s, _ := element.Value.(*slot)
		open = append(open, s)
	}
	var wait sync.WaitGroup
	errs := make([]error, len(open))
	for i, s := range open {
		wait.Go(func() { errs[i] = s.reset() })
	}
	wait.Wait()
	clear(c.shared)
	clear(c.states)
	return errors.Join(errs...)
}

// reset closes the connection of a slot for good, when nobody uses it.
func (s *slot) reset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	return s.drop()
}

// drop closes the connection of a locked slot.
func (s *slot) drop() error {
	if s.open == nil {
		return nil
	}
	err := s.open.close()
	s.open, s.served = nil, [sha256.Size]byte{}
	return err
}

// sharedSlot returns the slot of a server without a state.
func (c *Client) sharedSlot(server string) *slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.shared[server]
	if !ok {
		s = &slot{place: place{server: server}}
		c.shared[server] = s
	}
	return s
}

// stateSlot returns the slot of a server with a state, locked. The slot that was used longest ago
// makes room: it is closed after the client's lock is released, because it may be in use.
func (c *Client) stateSlot(p place) *slot {
	for {
		s, evicted := c.touch(p)
		if evicted != nil {
			c.warn(evicted.place.server, evicted.reset())
		}
		s.mu.Lock()
		if !s.gone {
			return s
		}
		s.mu.Unlock() // it made room before it was locked
	}
}

// touch returns the slot of a place as the one that was used last, and the one that makes room, nil
// if none has to.
func (c *Client) touch(p place) (s, evicted *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.states[p]; ok {
		c.recent.MoveToFront(element)
		s, _ = element.Value.(*slot)
		return s, nil
	}
	s = &slot{place: p}
	c.states[p] = c.recent.PushFront(s)
	if c.recent.Len() > maxStates {
		evicted, _ = c.recent.Remove(c.recent.Back()).(*slot)
		delete(c.states, evicted.place)
	}
	return s, evicted
}

func (c *Client) warn(server string, err error) {
	if err != nil {
		c.cfg.Logger.Debug("connection to tool server ended", "server", server, "error", err)
	}
}

// List returns the tools of a server, checked.
func (c *Client) List(ctx context.Context, name string) (tools []*toolsv1.Tool, err error) {
	s := c.sharedSlot(name)
	err = c.retry(ctx, name, func(ctx context.Context) error {
		open, err := c.connect(ctx, s)
		if err != nil {
			return err
		}
		if tools, err = open.list(ctx); err != nil {
			c.forget(s, open)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return tools, checkTools(name, tools)
}

// Call returns the body of the answer to a request: a JSON object with value and changes, or with
// raised. It tries again after failures of the network, with jittered pauses, until the timeout has
// passed. The error is ErrUnknown, ErrAway, ErrBroken or the cause of ctx's end.
func (c *Client) Call(ctx context.Context, request Request) (body string, err error) {
	s := c.sharedSlot(request.Server.GetName())
	err = c.retry(ctx, request.Server.GetName(), func(ctx context.Context) error {
		open, err := c.connect(ctx, s)
		if err != nil {
			return err
		}
		if body, err = open.call(ctx, request); err != nil && !errors.Is(err, ErrBroken) {
			c.forget(s, open)
		}
		return err
	})
	return body, err
}

// CallState is Call for a server that keeps a state for each session. history is what made the
// session's state, in its order: where the server does not have it, it is made again. Calls of one
// session wait for each other.
func (c *Client) CallState(ctx context.Context, session string, history []Answered, request Request) (body string, err error) {
	name := request.Server.GetName()
	s := c.stateSlot(place{server: name, session: session})
	defer s.mu.Unlock()
	var before [sha256.Size]byte
	for _, answered := range history {
		before = answered.after(before)
	}
	err = c.retry(ctx, name, func(ctx context.Context) error {
		if s.open != nil && s.served != before {
			c.warn(name, s.drop())
		}
		err := c.restore(ctx, s, history)
		if err == nil {
			body, err = s.open.call(ctx, request)
		}
		if err != nil {
			c.warn(name, s.drop()) // what the server made of the request is not known
			return err
		}
		s.served = Answered{request, body}.after(before)
		return nil
	})
	return body, err
}

// after identifies a history that ends with the request; before identifies what came earlier.
func (a Answered) after(before [sha256.Size]byte) [sha256.Size]byte {
	text := python.JSON(python.List(python.Str(a.Tool.GetName()), a.Params.Value(), python.Str(a.Body)))
	return sha256.Sum256(append(before[:], text...))
}

// restore gives a server the state that a history makes, unless it has one.
func (c *Client) restore(ctx context.Context, s *slot, history []Answered) error {
	if s.open != nil {
		return nil
	}
	var err error
	if s.open, err = c.dial(ctx, s.place.server); err != nil {
		return err
	}
	for i, before := range history {
		body, err := s.open.call(ctx, before.Request)
		if err != nil {
			return err
		}
		if body != before.Body {
			return fmt.Errorf("%w: %s: request %d of the session's history, %s, was answered otherwise when it was repeated: its answers depend on more than the calls of the session",
				ErrBroken, s.place.server, i, before.Tool.GetName())
		}
		s.served = before.after(s.served)
	}
	return nil
}

// connect returns the connection of a slot, which it opens if there is none.
func (c *Client) connect(ctx context.Context, s *slot) (connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != nil {
		return s.open, nil
	}
	var err error
	s.open, err = c.dial(ctx, s.place.server)
	return s.open, err
}

// forget closes a connection that failed, unless another one has taken its place. One over gRPC
// stays: it connects again by itself, and the calls of other sessions travel on it.
func (c *Client) forget(s *slot, failed connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == failed && !c.cfg.Targets[s.place.server].overGRPC() {
		c.warn(s.place.server, s.drop())
	}
}

// dial opens a connection to a server.
func (c *Client) dial(ctx context.Context, name string) (connection, error) {
	target, ok := c.cfg.Targets[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w %q: start the tool host with %s %s=address", ErrUnknown, name, Flag, name)
	case target.overGRPC():
		return dialGRPC(name, target)
	default:
		return dialMCP(ctx, name, target)
	}
}

// retry calls do until it succeeds, cannot, or the time is up.
func (c *Client) retry(parent context.Context, name string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(parent, c.cfg.Timeout)
	defer cancel()
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, longestPause
	var last error
	tries := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		err := do(ctx)
		if errors.Is(err, ErrBroken) || errors.Is(err, ErrUnknown) {
			err = backoff.Permanent(err)
		}
		if err != nil && (ctx.Err() == nil || last == nil) {
			last = err
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(c.cfg.Timeout))
	switch {
	case err == nil:
		return nil
	case parent.Err() != nil:
		return fmt.Errorf("ask tool server %s: %w", name, context.Cause(parent))
	case errors.Is(last, ErrBroken), errors.Is(last, ErrUnknown):
		c.cfg.Logger.WarnContext(parent, "tool server failed", "server", name, "tries", tries, "error", last)
		return last
	case ctx.Err() != nil:
		last = fmt.Errorf("no answer within %s: %w", c.cfg.Timeout, last)
	}
	c.cfg.Logger.WarnContext(parent, "tool server failed", "server", name, "tries", tries, "error", last)
	return fmt.Errorf("%w: %s at %s: %w", ErrAway, name, c.cfg.Targets[name], last)
}
