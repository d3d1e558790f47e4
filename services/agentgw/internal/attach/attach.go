// Package attach plays agents that attach themselves: each opens a stream to some replica of the gateway, and the turns of
// many conversations travel on it. A replica without a stream of the name asks the others over a relay.
package attach

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agent/v1"
)

// ErrNobody says that no agent attached itself under the name in time, or that none stayed long enough to answer.
var ErrNobody = errors.New("no agent is attached")

// ErrEnded says that the agent ended the conversation, with its reason.
var ErrEnded = errors.New("the agent ended the conversation")

// retryInterval is how long a replica waits before it asks the others again.
const retryInterval = 250 * time.Millisecond

// Relay carries turns between the replicas of the gateway; a bus is one.
type Relay interface {
	// Ask delivers a request to a replica that answers to the name, or fails with bus.ErrNotFound.
	Ask(ctx context.Context, name string, request []byte) ([]byte, error)
	// Answer answers to a name until stop is called.
	Answer(name string, answer func(ctx context.Context, request []byte) []byte) (stop func() error, err error)
}

// Registry knows the agents that are attached to this replica. It implements AttachService. Safe for concurrent use; it holds
// nothing once all streams have ended.
type Registry struct {
	agentv1.UnimplementedAttachServiceServer
	relay Relay

	mu     sync.Mutex
	agents map[string]*agent
	// changed is closed and replaced when a stream comes.
	changed chan struct{}
}

// agent is all streams under one name, and how the other replicas reach them.
type agent struct {
	sessions []*session
	stop     func() error
}

// New returns a registry without agents.
func New(relay Relay) *Registry {
	return &Registry{relay: relay, agents: make(map[string]*agent), changed: make(chan struct{})}
}

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
	if err := r.add(name, s); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	err = s.serve()
	return errors.Join(err, r.remove(name, s))
}

// Act asks an agent of the name for a turn. One conversation stays with one stream as long as that lives; a turn whose stream
// ends is asked again on another one. Errors: ErrNobody if ctx ends while there is no answer, ErrEnded.
func (r *Registry) Act(ctx context.Context, name string, act *agentv1.ActRequest) (*agentv1.ActResponse, error) {
	retry := time.NewTicker(retryInterval)
	defer retry.Stop()
	for {
		s, changed := r.pick(name, act.GetConversationId())
		answer, err := r.ask(ctx, s, name, act)
		switch {
		case err == nil && answer.GetError() != "":
			return nil, fmt.Errorf("%w: %s", ErrEnded, answer.GetError())
		case err == nil:
			return answer.GetResponse(), nil
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w as %s: %w", ErrNobody, name, ctx.Err())
		case s != nil:
			continue
		}
		select {
		case <-changed:
		case <-retry.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w as %s", ErrNobody, name)
		}
	}
}

// ask asks a stream of this replica or, without one, the other replicas.
func (r *Registry) ask(ctx context.Context, s *session, name string, act *agentv1.ActRequest) (*agentv1.AttachAnswer, error) {
	if s != nil {
		return s.ask(ctx, act)
	}
	raw, err := proto.Marshal(act)
	if err != nil {
		return nil, err
	}
	raw, err = r.relay.Ask(ctx, name, raw)
	if err != nil {
		return nil, err
	}
	answer := &agentv1.AttachAnswer{}
	if err := proto.Unmarshal(raw, answer); err != nil {
		return nil, err
	}
	if answer.GetResponse() == nil && answer.GetError() == "" {
		return nil, bus.ErrNotFound // its stream has just ended
	}
	return answer, nil
}

// relayed answers another replica: nothing if the turn has to be asked again.
func (r *Registry) relayed(name string) func(ctx context.Context, request []byte) []byte {
	return func(ctx context.Context, request []byte) []byte {
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
		return raw
	}
}

// pick returns the stream of a conversation, if there is any, and what tells that another one has come.
func (r *Registry) pick(name, conversation string) (*session, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	if a == nil || len(a.sessions) == 0 {
		return nil, r.changed
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(conversation))
	return a.sessions[int(h.Sum32()%uint32(len(a.sessions)))], r.changed
}

func (r *Registry) add(name string, s *session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[name]
	if a == nil {
		stop, err := r.relay.Answer(name, r.relayed(name))
		if err != nil {
			return err
		}
		a = &agent{stop: stop}
		r.agents[name] = a
	}
	a.sessions = append(a.sessions, s)
	close(r.changed)
	r.changed = make(chan struct{})
	return nil
}

func (r *Registry) remove(name string, s *session) error {
	r.mu.Lock()
	a := r.agents[name]
	for i, other := range a.sessions {
		if other == s {
			a.sessions = append(a.sessions[:i:i], a.sessions[i+1:]...)
			break
		}
	}
	last := len(a.sessions) == 0
	if last {
		delete(r.agents, name)
	}
	r.mu.Unlock()
	if last {
		return a.stop()
	}
	return nil
}
