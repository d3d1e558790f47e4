//go:build race

package rpc

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
)

// maxSeen is how many immutable messages a witness remembers.
const maxSeen = 1 << 10

// witness checks in programs with the race detector that nobody changes immutable messages after
// they were sent. It panics if somebody did. Safe for concurrent use.
type witness struct {
	mu   sync.Mutex
	seen [maxSeen]struct{ message, copied proto.Message }
	next int
}

// see remembers a message that is sent, and checks the one that it forgets instead.
func (w *witness) see(m proto.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slot := &w.seen[w.next%maxSeen]
	w.next++
	checkUnchanged(slot.message, slot.copied)
	slot.message, slot.copied = m, proto.Clone(m)
}

// check checks all remembered messages.
func (w *witness) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, slot := range w.seen {
		checkUnchanged(slot.message, slot.copied)
	}
}

func checkUnchanged(message, copied proto.Message) {
	if !proto.Equal(message, copied) {
		panic(fmt.Sprintf("an immutable %T was changed after it was sent: from %v to %v", message, copied, message))
	}
}
