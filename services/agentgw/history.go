package agentgw

import (
	"fmt"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/model"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

const (
	// historyRollouts and historyBytes bound the history: the rollouts, and the total size of their
	// native turns. It has to hold all rollouts that wait for models, or each turn reads its
	// predecessors from the bus.
	historyRollouts = 1 << 15
	historyBytes    = 128 << 20
)

// history is an LRU cache of what later turns need of the earlier turns of their rollout. Safe for
// concurrent use.
type history struct {
	mu       sync.Mutex
	rollouts *simplelru.LRU[string, pastTurns]
	bytes    int // of native turns
}

// pastTurns are earlier turns of a rollout, by the index of their first message.
type pastTurns map[int32]*model.PriorTurn

// noNative stands for every turn without a native form.
var noNative = &model.PriorTurn{}

func newHistory() (*history, error) {
	h := &history{}
	var err error
	h.rollouts, err = simplelru.NewLRU(historyRollouts, func(_ string, evicted pastTurns) {
		for _, turn := range evicted {
			h.bytes -= len(turn.Native)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("history of rollouts: %w", err)
	}
	return h, nil
}

// get returns a turn, nil if it is not in the cache.
func (h *history) get(key turnKey) *model.PriorTurn {
	h.mu.Lock()
	defer h.mu.Unlock()
	turns, _ := h.rollouts.Get(key.rolloutID)
	return turns[key.index]
}

// add caches a recorded turn and returns the part that later turns need.
func (h *history) add(key turnKey, reply *agentgwv1.Reply) *model.PriorTurn {
	turn := noNative
	if len(reply.GetNative()) > 0 {
		turn = &model.PriorTurn{Provider: reply.GetProvider(), Native: reply.GetNative()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	turns, ok := h.rollouts.Get(key.rolloutID)
	if !ok {
		turns = make(pastTurns)
		h.rollouts.Add(key.rolloutID, turns)
	}
	if earlier := turns[key.index]; earlier != nil {
		h.bytes -= len(earlier.Native)
	}
	turns[key.index] = turn
	h.bytes += len(turn.Native)
	for h.bytes > historyBytes {
		h.rollouts.RemoveOldest()
	}
	return turn
}
