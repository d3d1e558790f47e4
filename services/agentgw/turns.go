package agentgw

import (
	"context"
	"sync"
)

// turns knows which turns are being asked for. A rollout may change hands while one is: whoever has
// it then asks for the same turn, and is to get what is paid for already. Safe for concurrent use;
// the zero value knows of none.
type turns struct {
	mu    sync.Mutex
	asked map[turnKey]chan struct{} // closed when it is over
}

// begin takes a turn until end is called. It waits while somebody else has it, and then calls
// waited, before it returns: what came of the turn may be recorded. The error is that of ctx.
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
	if other = t.asked[key]; other != nil {
		return nil, other
	}
	if t.asked == nil {
		t.asked = make(map[turnKey]chan struct{})
	}
	mine = make(chan struct{})
	t.asked[key] = mine
	return mine, nil
}

func (t *turns) end(key turnKey, mine chan struct{}) {
	t.mu.Lock()
	delete(t.asked, key)
	t.mu.Unlock()
	close(mine)
}
