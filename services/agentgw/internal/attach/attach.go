// Package attach plays agents that attach themselves. Each agent opens a stream to one replica of
// the gateway, which carries the turns of many conversations. A replica without a stream of the
// name asks the other replicas over a relay.
package attach

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

// ErrNotAttached means that no agent attached itself under the name in time.
var ErrNotAttached = errors.New("no agent is attached")

// ErrNoAnswer means that an agent is attached and did not answer in time.
var ErrNoAnswer = errors.New("the attached agent did not answer")

// ErrRetriesExhausted means that the agent answered UNAVAILABLE or CANCELLED to every attempt. The
// error has its reason.
var ErrRetriesExhausted = errors.New("the agent cannot answer now")

// ErrUnsendable means that the conversation exceeds one message or is not valid.
var ErrUnsendable = errors.New("the conversation cannot be sent")

// InitialBackoff is the default wait before a turn that was answered UNAVAILABLE is retried.
const InitialBackoff = 100 * time.Millisecond

const (
	// retryInterval is the time between two questions to the other replicas.
	retryInterval = 250 * time.Millisecond
	// maxAttempts, backoffFactor and maxBackoff define the retries of a turn. Dialled agents get the
	// same.
	maxAttempts   = 5
	backoffFactor = 3
	maxBackoff    = 2 * time.Second
	// maxAffinities bounds the conversations that stick to a stream. One beyond that may move to
	// another stream of its name.
	maxAffinities = 1 << 16
	// maxRelayed bounds the concurrent turns of one name that a replica plays for others.
	maxRelayed = 1024
	// maxRelayedAnswer bounds a relayed answer. No turn may be longer, and NATS would drop it without
	// an error at the requester.
	maxRelayedAnswer = 4<<20 + 1<<10
	// leaveTimeout bounds the end of the relay of a name whose last agent has left.
	leaveTimeout = 2 * time.Second
)

// Relay carries turns between the replicas of the gateway. bus.AgentGateway implements it.
type Relay interface {
	// Request delivers a request to a replica that serves the name. The error is bus.ErrNotFound if
	// there is none.
	Request(ctx context.Context, name string, request []byte) ([]byte, error)
	// Serve handles requests to a name until stop is called, which waits for running ones and cancels
	// them when its ctx is done.
	Serve(name string, concurrency int, handle func(ctx context.Context, request []byte) []byte) (stop func(ctx context.Context) error, err error)
}

// Registry holds the agents that are attached to this replica. It implements AttachService. Safe
// for concurrent use. It holds no resources once all streams have ended and Wait has returned.
type Registry struct {
	agentv1.UnimplementedAttachServiceServer
	relay          Relay
	messageBytes   int
	initialBackoff time.Duration
	log            *slog.Logger
	// sending counts the send goroutines. One that blocks in flow control ends after its stream's
	// handler.
	sending sync.WaitGroup

	mu     sync.Mutex
	agents map[string]*agent
	// draining: no turns of other replicas are played here any more.
	draining bool
	// changed is closed and replaced when a stream opens.
	changed chan struct{}
	// affinity maps a conversation to its stream.
	affinity *lru.Cache[conversation, *agentStream]
	// lastNotice is the time of the last log line about a name that turns wait for. An agent of the
	// name clears it.
	lastNotice map[string]time.Time
}

// agent holds all streams of one name. stop ends the relay subscription, nil if there is none.
type agent struct {
	streams []*agentStream
	stop    func(ctx context.Context) error
}

// conversation is one conversation of the agents of a name.
type conversation struct{ name, id string }

// New returns an empty registry that sends requests of at most messageBytes. Agents that answer
// UNAVAILABLE are retried with exponential backoff that starts with pause.
func New(relay Relay, messageBytes int, pause time.Duration) *Registry {
	affinity, err := lru.New[conversation, *agentStream](maxAffinities)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &Registry{
		relay: relay, messageBytes: messageBytes, initialBackoff: pause, log: slog.New(slog.DiscardHandler),
		agents: make(map[string]*agent), changed: make(chan struct{}), affinity: affinity,
		lastNotice: make(map[string]time.Time),
	}
}

// SetLogger sets the logger for agents that attach and detach. Call it before the registry is
// served.
func (r *Registry) SetLogger(log *slog.Logger) { r.log = log }

// Wait waits for goroutines that still send to streams whose handlers have returned. Call it when
// the server has stopped.
func (r *Registry) Wait() { r.sending.Wait() }

// namePattern matches names of agents. A name is also one token of a NATS subject.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckName returns an error if a name is invalid.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("agent name %q: expected 1 to 64 letters, digits, _ and -", name)
	}
	return nil
}

// Attach implements AttachService.
func (r *Registry) Attach(stream agentv1.AttachService_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	name := first.GetName()
	if err := CheckName(name); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	s := newAgentStream(stream)
	streams, err := r.add(name, s)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	log := r.log.With("agent", name, "peer", address(stream.Context()))
	log.Info("agent attached", "streams", streams)
	r.sending.Go(s.send)
	err = s.receive()
	log.Info("agent detached", "reason", reason(err))
	return errors.Join(err, r.remove(name, s))
}

func address(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok {
		return p.Addr.String()
	}
	return ""
}

func reason(err error) string {
	if err == nil {
		return "it left"
	}
	return status.Convert(err).Message()
}

// Act asks an agent of the name for a turn. A conversation stays with one stream of this replica
// while the stream lives. A turn whose stream ends is asked on another one. Errors: ErrNotAttached
// or ErrNoAnswer if ctx ends without an answer, ErrRetriesExhausted, ErrUnsendable, and a gRPC
// status that the agent answered, except UNAVAILABLE and CANCELLED.
func (r *Registry) Act(ctx context.Context, name string, act *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	raw, err := r.encode(act)
	if err != nil {
		return nil, err
	}
	pause, start := r.initialBackoff, time.Now()
	for try := 1; ; {
		s, changed := r.streamFor(name, act.GetConversationId())
		answer, err := r.request(ctx, s, name, act, raw)
		wait := retryInterval
		code := codeOf(answer)
		retryable := code == codes.Unavailable || code == codes.Canceled
		switch {
		case err == nil && retryable && try == maxAttempts:
			return nil, fmt.Errorf("%w: %s", ErrRetriesExhausted, answer.GetError())
		case err == nil && retryable:
			try++
			wait, changed = pause/2+rand.N(pause), nil
			pause = min(backoffFactor*pause, maxBackoff)
		case err == nil && code != codes.OK:
			return nil, status.Error(code, answer.GetError())
		case err == nil:
			return answer.GetResponse(), nil
		case errors.Is(err, bus.ErrTooLarge):
			return nil, fmt.Errorf("%w: %w", ErrUnsendable, err)
		case ctx.Err() != nil && !errors.Is(err, bus.ErrNotFound):
			return nil, fmt.Errorf("%w as %s: %w", ErrNoAnswer, name, ctx.Err())
		case errors.Is(err, errStreamEnded):
			continue // the registry has removed that stream
		case errors.Is(err, bus.ErrNotFound):
			r.notify(ctx, name, start)
		}
		if !waitOrChange(ctx, wait, changed) {
			return nil, fmt.Errorf("%w as %s: %w", ErrNotAttached, name, ctx.Err())
		}
	}
}

// codeOf returns the gRPC status code of an answer, OK for a turn.
func codeOf(answer *agentv1.AttachAnswer) codes.Code {
	if answer.GetError() != "" && answer.GetCode() <= 0 {
		return codes.Unknown
	}
	return codes.Code(max(0, answer.GetCode()))
}

// waitOrChange waits for a duration or until changed is closed. It returns false if ctx is done.
func waitOrChange(ctx context.Context, duration time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// encode marshals a request and checks its size before it is sent. A request that cannot be sent
// would end the stream with all of its turns.
func (r *Registry) encode(act *agentv1.ActRequest) ([]byte, error) {
	raw, err := proto.Marshal(act)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsendable, err)
	}
	if limit := r.messageBytes - frameBytes; len(raw) > limit {
		return nil, fmt.Errorf("%w: it has %d bytes, expected at most %d", ErrUnsendable, len(raw), limit)
	}
	return raw, nil
}

// request asks a stream of this replica, or the other replicas if s is nil.
func (r *Registry) request(ctx context.Context, s *agentStream, name string, act *agentv1.ActRequest, raw []byte) (*agentv1.AttachAnswer, error) {
	if s != nil {
		return s.request(ctx, act)
	}
	raw, err := r.relay.Request(ctx, name, raw)
	if err != nil {
		return nil, err
	}
	answer := &agentv1.AttachAnswer{}
	if err := proto.Unmarshal(raw, answer); err != nil {
		return nil, err
	}
	if answer.GetResponse() == nil && codeOf(answer) == codes.OK {
		return nil, bus.ErrNotFound // its stream has just ended
	}
	return answer, nil
}

// relayHandler answers requests of other replicas. It returns nothing if the turn has to be asked
// again. It also returns nothing to an empty request, which only tests whether an agent is
// attached.
func (r *Registry) relayHandler(name string) func(ctx context.Context, request []byte) []byte {
	return func(ctx context.Context, request []byte) []byte {
		if len(request) == 0 {
			return nil
		}
		act := &agentv1.ActRequest{}
		if proto.Unmarshal(request, act) != nil {
			return nil
		}
		s, _ := r.streamFor(name, act.GetConversationId())
		if s == nil {
			return nil
		}
		answer, err := s.request(ctx, act)
		if err != nil {
			return nil
		}
		raw, err := proto.Marshal(answer)
		if err != nil {
			return nil
		}
		if len(raw) > maxRelayedAnswer {
			return r.tooLongAnswer(len(raw))
		}
		return raw
	}
}

// tooLongAnswer is the answer in place of one that exceeds maxRelayedAnswer.
func (r *Registry) tooLongAnswer(size int) []byte {
	raw, err := proto.Marshal(&agentv1.AttachAnswer{Code: int32(codes.OutOfRange), Error: fmt.Sprintf("an answer of %d bytes, expected at most %d", size, maxRelayedAnswer)})
	if err != nil {
		return nil
	}
	return raw
}

// streamFor returns the stream of a conversation, nil if there is none, and a channel that is
// closed when another stream opens.
func (r *Registry) streamFor(name, id string) (*agentStream, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	if a == nil {
		return nil, r.changed
	}
	key := conversation{name, id}
	if s, ok := r.affinity.Get(key); ok && slices.Contains(a.streams, s) {
		return s, r.changed
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	s := a.streams[int(h.Sum32()%uint32(len(a.streams)))]
	r.affinity.Add(key, s)
	return s, r.changed
}

// add adds a stream and returns the number of streams of its name.
func (r *Registry) add(name string, s *agentStream) (streams int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	if a == nil {
		a = &agent{}
		if !r.draining {
			if a.stop, err = r.relay.Serve(name, maxRelayed, r.relayHandler(name)); err != nil {
				return 0, err
			}
		}
		r.agents[name] = a
		delete(r.lastNotice, name)
	}
	a.streams = append(a.streams, s)
	close(r.changed)
	r.changed = make(chan struct{})
	return len(a.streams), nil
}

// remove removes a stream, and then ends the turns that wait on it.
func (r *Registry) remove(name string, s *agentStream) error {
	r.mu.Lock()
	a := r.agents[name]
	a.streams = slices.DeleteFunc(a.streams, func(other *agentStream) bool { return other == s })
	last := len(a.streams) == 0
	if last {
		delete(r.agents, name)
	}
	for _, key := range r.affinity.Keys() {
		if current, ok := r.affinity.Peek(key); ok && current == s {
			r.affinity.Remove(key)
		}
	}
	r.mu.Unlock()
	close(s.closed)
	if !last || a.stop == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	return a.stop(ctx)
}

// Drain accepts no more turns of other replicas and waits for running ones. When ctx is done, it
// cancels them. Agents stay attached for the turns of this replica.
func (r *Registry) Drain(ctx context.Context) error {
	r.mu.Lock()
	r.draining = true
	stops := make([]func(context.Context) error, 0, len(r.agents))
	for _, a := range r.agents {
		if a.stop != nil {
			stops = append(stops, a.stop)
		}
	}
	r.mu.Unlock()
	errs := make([]error, len(stops))
	var group sync.WaitGroup
	for i, stop := range stops {
		group.Go(func() { errs[i] = stop(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}
