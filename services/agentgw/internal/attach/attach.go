// Package attach plays agents that attach themselves: each opens a stream to some replica of the
// gateway, and the turns of many conversations travel on it. A replica without a stream of the name
// asks the others over a relay.
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

// ErrNobody says that no agent attached itself under the name in time.
var ErrNobody = errors.New("no agent is attached")

// ErrSilent says that an agent is attached and did not answer in time.
var ErrSilent = errors.New("the attached agent did not answer")

// ErrAgain says that the agent asked several times to be asked again, with its reason.
var ErrAgain = errors.New("the agent cannot answer now")

// ErrUnsendable says that the conversation is too long for one message, or no valid one.
var ErrUnsendable = errors.New("the conversation cannot be sent")

// FirstPause is the usual pause before an agent is asked again that wants to be.
const FirstPause = 100 * time.Millisecond

const (
	// retryInterval is how long a replica waits before it asks the others again.
	retryInterval = 250 * time.Millisecond
	// maxTries, pauseFactor and longestPause are how an agent that wants to be asked
	// again is asked, as those that are dialled.
	maxTries     = 5
	pauseFactor  = 3
	longestPause = 2 * time.Second
	// maxKept bounds the conversations whose streams are remembered; one beyond that may change to
	// another stream of its name.
	maxKept = 1 << 16
	// maxRelayed bounds the turns of one name that a replica plays at once for others.
	maxRelayed = 1024
	// maxRelayedAnswer bounds an answer that is relayed: no turn may be longer, and NATS would
	// refuse it without a word to the asker.
	maxRelayedAnswer = 4<<20 + 1<<10
)

// Relay carries turns between the replicas of the gateway; a bus is one.
type Relay interface {
	// Ask delivers a request to a replica that answers to the name, or fails with bus.ErrNotFound.
	Ask(ctx context.Context, name string, request []byte) ([]byte, error)
	// Answer answers to a name until stop is called.
	Answer(name string, atOnce int, answer func(ctx context.Context, request []byte) []byte) (stop func() error, err error)
}

// Registry knows the agents that are attached to this replica. It implements AttachService. Safe
// for concurrent use; it holds nothing once all streams have ended and Wait has returned.
type Registry struct {
	agentv1.UnimplementedAttachServiceServer
	relay        Relay
	messageBytes int
	pause        time.Duration
	log          *slog.Logger
	// sending is the goroutines that send; one that is stuck in a stream's flow control ends after
	// that stream's handler.
	sending sync.WaitGroup

	mu     sync.Mutex
	agents map[string]*agent
	// changed is closed and replaced when a stream comes.
	changed chan struct{}
	// kept is the stream of each conversation.
	kept *lru.Cache[conversation, *session]
	// told is when the log was told that an agent is waited for, by name, since one was there last.
	told map[string]time.Time
}

// agent is all streams under one name, and how the other replicas reach them.
type agent struct {
	sessions []*session
	stop     func() error
}

// conversation is one conversation of the agents of a name.
type conversation struct{ name, id string }

// New returns a registry without agents that sends requests of at most messageBytes. An agent that
// wants to be asked again is after a pause, and after longer ones then.
func New(relay Relay, messageBytes int, pause time.Duration) *Registry {
	kept, err := lru.New[conversation, *session](maxKept)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &Registry{
		relay: relay, messageBytes: messageBytes, pause: pause, log: slog.New(slog.DiscardHandler),
		agents: make(map[string]*agent), changed: make(chan struct{}), kept: kept,
		told: make(map[string]time.Time),
	}
}

// LogTo has agents that come and go written to a log. It is called before the registry is served.
func (r *Registry) LogTo(log *slog.Logger) { r.log = log }

// Wait waits for what still sends to streams whose handlers have returned. It is called when the
// server has stopped.
func (r *Registry) Wait() { r.sending.Wait() }

// namePattern is what an agent may be called; a name is also a token of a subject.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckName says what is wrong with a name.
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
	s := newSession(stream)
	streams, err := r.add(name, s)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	log := r.log.With("agent", name, "peer", address(stream.Context()))
	log.Info("agent attached itself", "streams", streams)
	r.sending.Go(s.send)
	err = s.receive()
	log.Info("agent is gone", "reason", reason(err))
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

// Act asks an agent of the name for a turn. One conversation stays with one stream of this replica
// as long as that lives; a turn whose stream ends is asked again on another one. Errors: ErrNobody
// or ErrSilent if ctx ends while there is no answer, ErrAgain, ErrUnsendable, and a gRPC status
// that the agent answered, but for UNAVAILABLE and CANCELLED.
func (r *Registry) Act(ctx context.Context, name string, act *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	raw, err := r.encode(act)
	if err != nil {
		return nil, err
	}
	pause, began := r.pause, time.Now()
	for try := 1; ; {
		s, changed := r.pick(name, act.GetConversationId())
		answer, err := r.ask(ctx, s, name, act, raw)
		wait := retryInterval
		code := codeOf(answer)
		again := code == codes.Unavailable || code == codes.Canceled
		switch {
		case err == nil && again && try == maxTries:
			return nil, fmt.Errorf("%w: %s", ErrAgain, answer.GetError())
		case err == nil && again:
			try++
			wait, changed = pause/2+rand.N(pause), nil
			pause = min(pauseFactor*pause, longestPause)
		case err == nil && code != codes.OK:
			return nil, status.Error(code, answer.GetError())
		case err == nil:
			return answer.GetResponse(), nil
		case errors.Is(err, bus.ErrTooLarge):
			return nil, fmt.Errorf("%w: %w", ErrUnsendable, err)
		case ctx.Err() != nil && !errors.Is(err, bus.ErrNotFound):
			return nil, fmt.Errorf("%w as %s: %w", ErrSilent, name, ctx.Err())
		case errors.Is(err, errGone):
			continue // the registry does not know that stream any more
		case errors.Is(err, bus.ErrNotFound):
			r.notify(ctx, name, began)
		}
		if !sleep(ctx, wait, changed) {
			return nil, fmt.Errorf("%w as %s: %w", ErrNobody, name, ctx.Err())
		}
	}
}

// codeOf returns the gRPC status code of an answer; OK is that of a turn.
func codeOf(answer *agentv1.AttachAnswer) codes.Code {
	switch {
	case answer.GetAgain():
		return codes.Unavailable
	case answer.GetError() != "" && answer.GetCode() <= 0:
		return codes.Unknown
	default:
		return codes.Code(max(0, answer.GetCode()))
	}
}

// sleep waits for a time or until changed is closed; it says whether ctx is not done.
func sleep(ctx context.Context, wait time.Duration, changed <-chan struct{}) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	return true
}

// encode finds out before anything is sent whether a request can be: one that cannot would end the
// stream with all of its turns.
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

// ask asks a stream of this replica or, without one, the other replicas.
func (r *Registry) ask(ctx context.Context, s *session, name string, act *agentv1.ActRequest, raw []byte) (*agentv1.AttachAnswer, error) {
	if s != nil {
		return s.ask(ctx, act)
	}
	raw, err := r.relay.Ask(ctx, name, raw)
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

// relayed answers another replica: nothing if the turn has to be asked again, or to an empty
// request, which only asks whether anybody is there.
func (r *Registry) relayed(name string) func(ctx context.Context, request []byte) []byte {
	return func(ctx context.Context, request []byte) []byte {
		if len(request) == 0 {
			return nil
		}
		act := &agentv1.ActRequest{}
		if proto.Unmarshal(request, act) != nil {
			return nil
		}
		s, _ := r.pick(name, act.GetConversationId())
		if s == nil {
			return nil
		}
		answer, err := s.ask(ctx, act)
		if err != nil {
			return nil
		}
		raw, err := proto.Marshal(answer)
		if err != nil {
			return nil
		}
		if len(raw) > maxRelayedAnswer {
			return r.refuse(len(raw))
		}
		return raw
	}
}

// refuse is the answer in place of one that is too long.
func (r *Registry) refuse(size int) []byte {
	raw, err := proto.Marshal(&agentv1.AttachAnswer{Code: int32(codes.OutOfRange), Error: fmt.Sprintf("an answer of %d bytes, expected at most %d", size, maxRelayedAnswer)})
	if err != nil {
		return nil
	}
	return raw
}

// pick returns the stream of a conversation, if there is any, and what tells that another one has
// come.
func (r *Registry) pick(name, id string) (*session, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	if a == nil {
		return nil, r.changed
	}
	key := conversation{name, id}
	if s, ok := r.kept.Get(key); ok && slices.Contains(a.sessions, s) {
		return s, r.changed
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	s := a.sessions[int(h.Sum32()%uint32(len(a.sessions)))]
	r.kept.Add(key, s)
	return s, r.changed
}

// add returns how many streams the name has now.
func (r *Registry) add(name string, s *session) (streams int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	if a == nil {
		stop, err := r.relay.Answer(name, maxRelayed, r.relayed(name))
		if err != nil {
			return 0, err
		}
		a = &agent{stop: stop}
		r.agents[name] = a
		delete(r.told, name)
	}
	a.sessions = append(a.sessions, s)
	close(r.changed)
	r.changed = make(chan struct{})
	return len(a.sessions), nil
}

// remove forgets a stream, and then tells those who wait on it.
func (r *Registry) remove(name string, s *session) error {
	r.mu.Lock()
	a := r.agents[name]
	a.sessions = slices.DeleteFunc(a.sessions, func(other *session) bool { return other == s })
	last := len(a.sessions) == 0
	if last {
		delete(r.agents, name)
	}
	for _, key := range r.kept.Keys() {
		if kept, ok := r.kept.Peek(key); ok && kept == s {
			r.kept.Remove(key)
		}
	}
	r.mu.Unlock()
	close(s.gone)
	if last {
		return a.stop()
	}
	return nil
}
