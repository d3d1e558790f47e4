package bus

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nats-io/nats.go"
)

// Ping returns nil if NATS answers for a stream now. It does not retry. Otherwise the error is
// ErrUnavailable.
func (b *Bus) Ping(ctx context.Context) error {
	streams := b.Logs.streams
	name := slices.Min(slices.Collect(maps.Keys(streams))) // any will do
	if status := b.Logs.js.Conn().Status(); status != nats.CONNECTED {
		return fmt.Errorf("%w: its connection is %s", ErrUnavailable, status)
	}
	if _, err := streams[name].Info(ctx); err != nil {
		return fmt.Errorf("%w: stream %s: %w", ErrUnavailable, name, err)
	}
	return nil
}
