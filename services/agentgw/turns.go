package agentgw

import (
	"context"
	"sync"
)

// turns deduplicates concurrent requests for one turn. If a rollout moves to another worker while
// its turn is in flight, the new worker asks for the same turn and gets the reply that is already
// paid for. Safe for concurrent use. The zero value is ready to use.
type turns struct {
	mu       sync.Mutex
	inFlight map[turnKey]chan struct{} // closed when the turn ends
}

// begin takes a turn until end is called. While another caller has it, begin waits, and then calls
// waited before it returns: the turn may be recorded by then. The error is that of ctx.
func (t *turns) begin(ctx context.Context, key turnKey, waited func()) (end func(), err error) {
	for {
		mine, other := t.take(key)
		if other == nil {
			return func() { t.end(key, mine) }, nil
		}
		select {
		case <-other:
			waited()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (t *turns) take(key turnKey) (mine, other chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if other = t.inFlight[key]; other != nil {
		return nil, other
	}
	if t.inFlight == nil {
		t.inFlight = make(map[turnKey]chan struct{})
	}
	mine = make(chan struct{})
	t.inFlight[key] = mine
	return mine, nil
}

func (t *turns) end(key turnKey, mine chan struct{}) {
	t.mu.Lock()
	delete(t.inFlight, key)
	t.mu.Unlock()
	close(mine)
}
