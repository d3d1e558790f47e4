package orchestrator

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// maxSpendings bounds the cached spendings.
const maxSpendings = 1024

// spendings caches what sweeps have spent, so that a repeated question reads only the turns since.
// Safe for concurrent use.
type spendings struct {
	mu    sync.Mutex
	known *simplelru.LRU[createdSweep, spending]
}

// createdSweep is a sweep. After its deletion another one may have its id.
type createdSweep struct {
	id      string
	created time.Time
}

// spending is what a sweep has spent up to a revision.
type spending struct {
	cost     bus.Cost
	revision uint64
}

func newSpendings() (*spendings, error) {
	known, err := simplelru.NewLRU[createdSweep, spending](maxSpendings, nil)
	return &spendings{known: known}, err
}

// of returns what the models of a sweep have spent.
func (s *spendings) of(ctx context.Context, recordings bus.Recordings, sweep createdSweep) (*agentgwv1.Cost, error) {
	s.mu.Lock()
	now, ok := s.known.Get(sweep)
	s.mu.Unlock()
	var err error
	if ok && now.revision > 0 {
		now.cost, now.revision, err = recordings.SpendingAfter(ctx, sweep.id, now.cost, now.revision)
	} else {
		now.cost, now.revision, err = recordings.Spending(ctx, sweep.id)
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.Add(sweep, now)
	return &agentgwv1.Cost{Tokens: now.cost.Tokens, Micros: now.cost.Micros}, nil
}
