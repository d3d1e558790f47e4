package rpc

import (
	"context"
	"time"
)

// Drain returns the context of work in flight. A service that is told to stop, because ctx ends,
// begins nothing new and finishes what is in flight within Config.Grace; then the context ends. The
// caller calls stop when no work is in flight.
func (n *Node) Drain(ctx context.Context) (work context.Context, stop context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(n.cfg.Grace, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() { unwatch(); cancel() }
}
