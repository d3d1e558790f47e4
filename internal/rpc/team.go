package rpc

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/access"
)

// maxTeamStreams bounds the open streams of one team at a service. Each follows streams of NATS.
const maxTeamStreams = 512

// teamStreams counts the open streams of each team. Safe for concurrent use. The zero value is
// ready to use.
type teamStreams struct {
	mu   sync.Mutex
	open map[string]int
}

// begin counts a stream of the caller's team until end is called. Trusted peers and admins have no
// bound.
func (t *teamStreams) begin(ctx context.Context) (end func(), err error) {
	caller := access.FromContext(ctx)
	if caller.IsAdmin() {
		return func() {}, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[caller.Team] >= maxTeamStreams {
		return nil, status.Errorf(codes.ResourceExhausted, "team %s has %d open streams, the most at once", caller.Team, maxTeamStreams)
	}
	if t.open == nil {
		t.open = make(map[string]int)
	}
	t.open[caller.Team]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.open[caller.Team]--; t.open[caller.Team] == 0 {
			delete(t.open, caller.Team)
		}
	}, nil
}

// teamSlots bound the concurrent calls of each team, so that one team leaves room to the others.
// Safe for concurrent use.
type teamSlots struct {
	each int

	mu    sync.Mutex
	slots map[teamMethod]chan struct{}
}

// teamMethod is a method as a team calls it, or all methods if it is empty.
type teamMethod struct{ team, method string }

func newTeamSlots(each int) *teamSlots {
	return &teamSlots{each: each, slots: make(map[teamMethod]chan struct{})}
}

// of returns the slots of the caller's team for a method, nil for a trusted peer or an admin.
func (t *teamSlots) of(ctx context.Context, method string) chan struct{} {
	caller := access.FromContext(ctx)
	if caller.IsAdmin() {
		return nil
	}
	key := teamMethod{caller.Team, method}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots[key] == nil {
		t.slots[key] = make(chan struct{}, t.each)
	}
	return t.slots[key]
}
