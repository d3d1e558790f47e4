package assemble

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// add counts messages and stores them unless the rollout exceeds MaxBytes.
func (p *rolloutState) add(messages []*worldv1.Message) {
	p.count += len(messages)
	size := 0
	for _, message := range messages {
		size += proto.Size(message)
	}
	if p.addBytes(size); !p.long {
		p.messages = append(p.messages, messages...)
	}
}

// addBytes counts stored bytes. A rollout that exceeds MaxBytes drops its messages and table
// contents, which remain on the bus.
func (p *rolloutState) addBytes(bytes int) {
	if p.bytes += bytes; p.long || p.unbounded || p.bytes <= MaxBytes {
		return
	}
	p.long, p.messages = true, nil
	for at := range p.tables {
		p.tables[at] = emptyTable(at)
	}
}

// emptyTable replaces a table whose content is not stored.
func emptyTable(at key) *worldv1.Table { return &worldv1.Table{Name: at.table, Index: at.index} }

// read adds a whole log and all snapshots.
func (p *rolloutState) read(rolloutID string, log *bus.Log, snapshots []*busv1.Snapshot) error {
	for _, snapshot := range snapshots {
		p.store(snapshot.GetTables())
	}
	for _, entry := range log.Entries {
		if err := p.log(0, entry); err != nil {
			return fmt.Errorf("rollout %s: %w", rolloutID, err)
		}
	}
	p.last = log.End
	return nil
}

// Reassemble returns the trajectory of a rollout from its log and its snapshots, nil if it has not
// ended. The error is ErrLog, or names the first missing table version.
func Reassemble(rolloutID string, log *bus.Log, snapshots []*busv1.Snapshot) (*Trajectory, error) {
	p := newRolloutState()
	p.unbounded = true
	if err := p.read(rolloutID, log, snapshots); err != nil {
		return nil, err
	}
	if p.end == nil {
		return nil, nil
	}
	if missing := p.missing(); missing != nil {
		return nil, missing.missingError(rolloutID)
	}
	return p.complete(), nil
}

// missingError is the error for a version that is in no snapshot.
func (k *key) missingError(rolloutID string) error {
	return fmt.Errorf("rollout %s: table %s as it is at message %d is missing", rolloutID, k.table, k.index)
}

// Len returns the number of messages, including omitted ones.
func (t *Trajectory) Len() int { return max(t.Omitted, len(t.Messages)) }

// WithOmitted returns the trajectory with its omitted messages and tables, from the rollout's whole
// log and all its snapshots. It ignores later entries. The error is ErrLog, or names a missing
// table version.
func (t *Trajectory) WithOmitted(log *bus.Log, snapshots []*busv1.Snapshot) (*Trajectory, error) {
	id := t.Rollout.GetId()
	p := newRolloutState()
	p.unbounded = true
	if err := p.read(id, log, snapshots); err != nil {
		return nil, err
	}
	if p.dropped == "" && p.count < t.Omitted {
		return nil, fmt.Errorf("rollout %s: %w: %d messages, and there were %d", id, ErrLog, p.count, t.Omitted)
	}
	if missing := p.missing(); missing != nil && int(missing.index) < t.Omitted {
		return nil, missing.missingError(id)
	}
	if p.dropped == "" {
		p.messages = p.messages[:t.Omitted]
	}
	p.rollout, p.round, p.end, p.last.Digest = t.Rollout, t.Round, t.End, t.Digest
	p.claims, p.usage = t.Claims, t.Usage
	return p.trajectory(), nil
}
