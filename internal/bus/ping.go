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
	if conn := b.Logs.js.Conn(); conn.Status() != nats.CONNECTED {
		err := fmt.Errorf("%w: its connection is %s", ErrUnavailable, conn.Status())
		if last := conn.LastError(); last != nil {
			err = fmt.Errorf("%w: %w", err, last)
		}
		return err
	}
	if _, err := streams[name].Info(ctx); err != nil {
		return fmt.Errorf("%w: stream %s: %w", ErrUnavailable, name, err)
	}
	return nil
}
