package assemble

import (
	"fmt"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

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

// grow counts bytes that are to be kept. A rollout that they make long forgets its messages and what is in its tables: the bus has them.
func (p *pending) grow(bytes int) {
	if p.bytes += bytes; p.long || p.whole || p.bytes <= MaxBytes {
		return
	}
	p.long, p.messages = true, nil
	for at := range p.tables {
		p.tables[at] = &worldv1.Table{Name: at.table, Index: at.index}
	}
}

// read takes a log and snapshots, both from the beginning.
func (p *pending) read(rolloutID string, entries []*busv1.LogEntry, snapshots []*busv1.Snapshot, span trace.SpanContext) error {
	for _, snapshot := range snapshots {
		p.store(snapshot.GetTables())
	}
	for _, entry := range entries {
		if err := p.log(entry, span); err != nil {
			return fmt.Errorf("rollout %s: %w", rolloutID, err)
		}
	}
	return nil
}

// Len returns the number of messages, of a long trajectory too.
func (t *Trajectory) Len() int { return max(t.Long, len(t.Messages)) }

// Read returns a long trajectory with its messages and tables, from the rollout's whole log and all its snapshots. What was said since does not count. The
// error is ErrLog.
func (t *Trajectory) Read(entries []*busv1.LogEntry, snapshots []*busv1.Snapshot) (*Trajectory, error) {
	p := newPending()
	p.whole = true
	if err := p.read(t.Rollout.GetId(), entries, snapshots, t.Span); err != nil {
		return nil, err
	}
	if p.dropped == "" && p.count < t.Long {
		return nil, fmt.Errorf("rollout %s: %w: %d messages, and there were %d", t.Rollout.GetId(), ErrLog, p.count, t.Long)
	}
	if p.dropped == "" {
		p.messages = p.messages[:t.Long]
	}
	p.rollout, p.round, p.end = t.Rollout, t.Round, t.End
	return p.trajectory(), nil
}
