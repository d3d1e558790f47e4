// Package attach plays agents that attach themselves. Each agent opens a stream to one replica of
// the gateway, which carries the turns of many conversations. A replica without a stream of the
// agent asks the other replicas over a relay.
//
// An agent is found by its name and its secret, see Address: a process without the secret gets no
// turn. Refusing such a process as well is for the people who start it.
package attach

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
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

// errUnanswered: the agent of another replica did not answer in time, or its stream has just ended.
var errUnanswered = errors.New("the replica has no answer")

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
	// maxStreams bounds the open streams of this replica, because anybody who reaches it may open one.
	maxStreams = 1 << 12
	// maxRelayed bounds the concurrent turns of one name that a replica plays for others.
	maxRelayed = 1024
	// maxRelayedAnswer bounds a relayed answer. No turn may be longer, and NATS would drop it without
	// an error at the requester.
	maxRelayedAnswer = 4<<20 + 1<<10
	// leaveTimeout bounds the end of the relay of a name whose last agent has left.
	leaveTimeout = 2 * time.Second
)

// Relay carries turns of attached agents and of models between the replicas of the gateway.
// bus.AgentGateway implements it.
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
	// running counts the goroutines of streams. One that blocks in gRPC ends after its stream's
	// handler.
	running sync.WaitGroup
	streams atomic.Int64 // open ones

	mu     sync.Mutex
	agents map[Address]*agent
	// demands are the addresses that turns ask for.
	demands map[Address]*demand
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

// agent holds all streams of one address. stop ends its relay subscriptions, nil if there are none.
type agent struct {
	streams []*agentStream
	stop    func(ctx context.Context) error
}

// conversation is one conversation of the agents of an address.
type conversation struct {
	at Address
	id string
}

// New returns an empty registry that sends requests of at most messageBytes. Agents that answer
// UNAVAILABLE are retried with exponential backoff that starts with pause. The log tells which
// agents attach, detach and are waited for.
func New(relay Relay, messageBytes int, pause time.Duration, log *slog.Logger) *Registry {
	affinity, err := lru.New[conversation, *agentStream](maxAffinities)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &Registry{
		relay: relay, messageBytes: messageBytes, initialBackoff: pause, log: log,
		agents: make(map[Address]*agent), demands: make(map[Address]*demand), changed: make(chan struct{}), affinity: affinity,
		lastNotice: make(map[string]time.Time),
	}
}

// Wait waits for goroutines of streams whose handlers have returned. Call it when the server has
// stopped.
func (r *Registry) Wait() { r.running.Wait() }

// Attach implements AttachService.
func (r *Registry) Attach(stream agentv1.AttachService_AttachServer) error {
	defer r.streams.Add(-1)
	if r.streams.Add(1) > maxStreams {
		return status.Errorf(codes.ResourceExhausted, "%d agents are attached, the most at once", maxStreams)
	}
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	at, instance, err := introduction(stream.Context(), first)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	log := r.log.With("agent", at.Name, "peer", instance.GetPeer(), "instance", instance.GetId())
	s := newAgentStream(stream, instance)
	streams, err := r.admit(stream.Context(), at, s)
	if err != nil {
		log.Warn("agent refused", "reason", reason(err))
		return err
	}
	log.Info("agent attached", "secret", at.Secret != "", "streams", streams)
	r.running.Go(s.send)
	received := make(chan error, 1)
	r.running.Go(func() { received <- s.receive() })
	select {
	case err = <-received:
	case refused := <-s.refused:
		err = status.Error(codes.PermissionDenied, refused.Error())
	}
	log.Info("agent detached", "reason", reason(err))
	if removeErr := r.remove(at, s); removeErr != nil {
		err = errors.Join(err, removeErr)
	}
	return err
}

func reason(err error) string {
	if err == nil {
		return "it left"
	}
	return status.Convert(err).Message()
}

// Act asks an agent for a turn, and returns the process that answered. A conversation stays with
// one stream of this replica while the stream lives and answers. A turn whose stream ends is asked
// on another one. Errors: ErrNotAttached or ErrNoAnswer if ctx ends without an answer,
// ErrRetriesExhausted, ErrUnsendable, and, with the process, a gRPC status that the agent answered,
// except UNAVAILABLE and CANCELLED.
func (r *Registry) Act(ctx context.Context, at Address, act *agentv1.ActRequest) (*agentv1.ActResponse, *agentgwv1.Instance, error) {
	raw, err := r.encode(act)
	if err != nil {
		return nil, nil, err
	}
	defer r.ask(at)()
	pause, start := r.initialBackoff, time.Now()
	for try := 1; ; {
		s, changed := r.streamFor(at, act.GetConversationId())
		turn, err := r.request(ctx, s, at, act, raw)
		answer := turn.GetAnswer()
		wait := retryInterval
		code := codeOf(answer)
		retryable := code == codes.Unavailable || code == codes.Canceled
		switch {
		case err == nil && retryable && try == maxAttempts:
			r.moveOn(at, act.GetConversationId(), s)
			return nil, nil, fmt.Errorf("%w: %s", ErrRetriesExhausted, answer.GetError())
		case err == nil && retryable:
			try++
			wait, changed = pause/2+rand.N(pause), nil
			pause = min(backoffFactor*pause, maxBackoff)
		case err == nil && code != codes.OK:
			return nil, turn.GetAnsweredBy(), status.Error(code, answer.GetError())
		case err == nil:
			return answer.GetResponse(), turn.GetAnsweredBy(), nil
		case errors.Is(err, bus.ErrTooLarge):
			return nil, nil, fmt.Errorf("%w: %w", ErrUnsendable, err)
		case ctx.Err() != nil && !errors.Is(err, bus.ErrNotFound):
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				r.moveOn(at, act.GetConversationId(), s)
			}
			return nil, nil, fmt.Errorf("%w as %s: %w", ErrNoAnswer, at, ctx.Err())
		case errors.Is(err, errStreamEnded):
			continue // the registry has removed that stream
		case errors.Is(err, bus.ErrNotFound):
			r.notify(ctx, at, start)
		}
		if !waitOrChange(ctx, wait, changed) {
			reason := ErrNoAnswer
			if errors.Is(err, bus.ErrNotFound) {
				reason = ErrNotAttached
			}
			return nil, nil, fmt.Errorf("%w as %s: %w", reason, at, ctx.Err())
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
func (r *Registry) request(ctx context.Context, s *agentStream, at Address, act *agentv1.ActRequest, raw []byte) (*agentgwv1.RelayedTurn, error) {
	if s != nil {
		answer, err := s.request(ctx, act)
		return &agentgwv1.RelayedTurn{Answer: answer, AnsweredBy: s.instance}, err
	}
	raw, err := r.relay.Request(ctx, at.relayName(), raw)
	if err != nil {
		return nil, err
	}
	turn := &agentgwv1.RelayedTurn{}
	if err := proto.Unmarshal(raw, turn); err != nil {
		return nil, err
	}
	if turn.GetAnswer().GetResponse() == nil && codeOf(turn.GetAnswer()) == codes.OK {
		return nil, errUnanswered
	}
	return turn, nil
}

// relayHandler answers requests of other replicas. It returns nothing if the turn has to be asked
// again. It also returns nothing to an empty request, which only tests whether an agent is
// attached.
func (r *Registry) relayHandler(at Address) func(ctx context.Context, request []byte) []byte {
	return func(ctx context.Context, request []byte) []byte {
		defer r.ask(at)()
		if len(request) == 0 {
			return nil
		}
		act := &agentv1.ActRequest{}
		if proto.Unmarshal(request, act) != nil {
			return nil
		}
		s, _ := r.streamFor(at, act.GetConversationId())
		if s == nil {
			return nil
		}
		answer, err := s.request(ctx, act)
		if errors.Is(err, context.DeadlineExceeded) {
			r.moveOn(at, act.GetConversationId(), s)
		}
		if err != nil {
			return nil
		}
		raw, err := proto.Marshal(&agentgwv1.RelayedTurn{Answer: answer, AnsweredBy: s.instance})
		if err != nil {
			return nil
		}
		if len(raw) > maxRelayedAnswer {
			return r.tooLongAnswer(len(raw), s.instance)
		}
		return raw
	}
}

// tooLongAnswer is the answer in place of one that exceeds maxRelayedAnswer.
func (r *Registry) tooLongAnswer(size int, by *agentgwv1.Instance) []byte {
	answer := &agentv1.AttachAnswer{Code: int32(codes.OutOfRange), Error: fmt.Sprintf("an answer of %d bytes, expected at most %d", size, maxRelayedAnswer)}
	raw, err := proto.Marshal(&agentgwv1.RelayedTurn{Answer: answer, AnsweredBy: by})
	if err != nil {
		return nil
	}
	return raw
}

// streamFor returns the stream of a conversation, nil if there is none, and a channel that is
// closed when another stream opens.
func (r *Registry) streamFor(at Address, id string) (*agentStream, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[at]
	if a == nil {
		return nil, r.changed
	}
	key := conversation{at, id}
	if s, ok := r.affinity.Get(key); ok && slices.Contains(a.streams, s) {
		return s, r.changed
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	s := a.streams[int(h.Sum32()%uint32(len(a.streams)))]
	r.affinity.Add(key, s)
	return s, r.changed
}

// moveOn gives the later turns of a conversation to the next stream of the address, if its process
// did not answer: it may hang while others of the name work.
func (r *Registry) moveOn(at Address, id string, from *agentStream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[at]
	if a == nil {
		return
	}
	if i := slices.Index(a.streams, from); i >= 0 {
		r.affinity.Add(conversation{at, id}, a.streams[(i+1)%len(a.streams)])
	}
}

// admit adds a stream and returns the number of streams at its address. The error is a gRPC status:
// PERMISSION_DENIED if the process may not play under the name.
func (r *Registry) admit(ctx context.Context, at Address, s *agentStream) (streams int, err error) {
	r.mu.Lock()
	err = r.refusal(at, time.Now())
	r.mu.Unlock()
	if err == nil {
		err = r.checkHeld(ctx, at)
	}
	if err == nil {
		streams, err = r.add(at, s)
	}
	switch {
	case errors.Is(err, ErrSecretMissing):
		err = status.Errorf(codes.PermissionDenied, "agent %s refused: another process holds the name with a secret, but this one has no token: attach with it, or under another name", at)
	case errors.Is(err, errRefused):
		err = status.Error(codes.PermissionDenied, err.Error())
	case err != nil:
		err = status.Error(codes.Unavailable, err.Error())
	}
	return streams, err
}

// add adds a stream and returns the number of streams at its address.
func (r *Registry) add(at Address, s *agentStream) (streams int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refusal(at, time.Now()); err != nil {
		return 0, err
	}
	a := r.agents[at]
	if a == nil {
		if a, err = r.serveRelay(at); err != nil {
			return 0, err
		}
		r.agents[at] = a
		delete(r.lastNotice, at.Name)
	}
	a.streams = append(a.streams, s)
	close(r.changed)
	r.changed = make(chan struct{})
	return len(a.streams), nil
}

// serveRelay returns an agent without streams that answers the other replicas, unless this one
// drains.
func (r *Registry) serveRelay(at Address) (*agent, error) {
	if r.draining {
		return &agent{}, nil
	}
	stopHeld := func(context.Context) error { return nil }
	var err error
	if at.Secret != "" {
		stopHeld, err = r.relay.Serve(heldName(at.Name), 1, func(context.Context, []byte) []byte { return nil })
	}
	if err != nil {
		return nil, err
	}
	stop, err := r.relay.Serve(at.relayName(), maxRelayed, r.relayHandler(at))
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		return nil, errors.Join(err, stopHeld(ctx))
	}
	return &agent{stop: func(ctx context.Context) error { return errors.Join(stop(ctx), stopHeld(ctx)) }}, nil
}

// remove removes a stream, and then ends the turns that wait on it.
func (r *Registry) remove(at Address, s *agentStream) error {
	r.mu.Lock()
	a := r.agents[at]
	a.streams = slices.DeleteFunc(a.streams, func(other *agentStream) bool { return other == s })
	last := len(a.streams) == 0
	if last {
		delete(r.agents, at)
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
