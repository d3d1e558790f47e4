package assemble

import (
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// add takes messages, and keeps them unless the rollout is long.
func (p *pending) add(messages []*worldv1.Message) {
	p.count += len(messages)
	size := 0
	for _, message := range messages {
		size += proto.Size(message)
	}
	if p.grow(size); !p.long {
		p.messages = append(p.messages, messages...)
	}
}

// grow counts bytes that are to be kept. A rollout that they make long forgets its messages and
// what is in its tables: the bus has them.
func (p *pending) grow(bytes int) {
	if p.bytes += bytes; p.long || p.whole || p.bytes <= MaxBytes {
		return
	}
	p.long, p.messages = true, nil
	for at := range p.tables {
		p.tables[at] = stub(at)
	}
}

// stub stands for a table that is not kept.
func stub(at key) *worldv1.Table { return &worldv1.Table{Name: at.table, Index: at.index} }

// read takes a log and snapshots, both from the beginning.
func (p *pending) read(rolloutID string, log *bus.Log, snapshots []*busv1.Snapshot, span trace.SpanContext) error {
	for _, snapshot := range snapshots {
		p.store(snapshot.GetTables())
	}
	for _, entry := range log.Entries {
		if err := p.log(0, entry, span); err != nil {
			return fmt.Errorf("rollout %s: %w", rolloutID, err)
		}
	}
	p.last = log.End
	return nil
}

// Whole returns the trajectory of a rollout from its log and its snapshots, nil if it has not
// ended. The error is ErrLog, or names the first table version that is in none of the snapshots.
func Whole(rolloutID string, log *bus.Log, snapshots []*busv1.Snapshot) (*Trajectory, error) {
	p := newPending()
	p.whole = true
	if err := p.read(rolloutID, log, snapshots, trace.SpanContext{}); err != nil {
		return nil, err
	}
	if p.end == nil {
		return nil, nil
	}
	if missing := p.missing(); missing != nil {
		return nil, missing.lost(rolloutID)
	}
	return p.complete(), nil
}

// lost is the error that a version is in no snapshot.
func (k *key) lost(rolloutID string) error {
	return fmt.Errorf("rollout %s: table %s as it is at message %d is missing", rolloutID, k.table, k.index)
}

// Len returns the number of messages, of a long trajectory too.
func (t *Trajectory) Len() int { return max(t.Long, len(t.Messages)) }

// Read returns a long trajectory with its messages and tables, from the rollout's whole log and all
// its snapshots. What was said since does not count. The error is ErrLog, or names a table version
// that is in none of the snapshots.
func (t *Trajectory) Read(log *bus.Log, snapshots []*busv1.Snapshot) (*Trajectory, error) {
	id := t.Rollout.GetId()
	p := newPending()
	p.whole = true
	if err := p.read(id, log, snapshots, t.Span); err != nil {
		return nil, err
	}
	if p.dropped == "" && p.count < t.Long {
		return nil, fmt.Errorf("rollout %s: %w: %d messages, and there were %d", id, ErrLog, p.count, t.Long)
	}
	if missing := p.missing(); missing != nil && int(missing.index) < t.Long {
		return nil, missing.lost(id)
	}
	if p.dropped == "" {
		p.messages = p.messages[:t.Long]
	}
	p.rollout, p.round, p.end, p.last.Digest = t.Rollout, t.Round, t.End, t.Digest
	return p.trajectory(), nil
}
