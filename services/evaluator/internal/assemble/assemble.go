// Package assemble puts the log and the snapshots of each rollout together again, in whatever order
// and however often they arrive, and says when a trajectory is complete. It does no input or
// output.
package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrLog says that a log cannot have been written by this program.
var ErrLog = errors.New("broken rollout log")

// ErrAgain says that an entry opens the log of a rollout again, of which not everything may be
// known any more: Restore it.
var ErrAgain = errors.New("rollout is played again")

const (
	// MaxMessages is how many messages of one rollout are kept.
	MaxMessages = 20_000
	// MaxRows is how many rows of one rollout are kept, of all its table versions together.
	MaxRows = 1 << 18
	// MaxBytes bounds messages and table versions of a rollout that are kept while it runs. Those
	// of a longer one stay on the bus alone.
	MaxBytes = 1 << 20
)

// Trajectory is a complete trajectory. That of a rollout with more messages or rows than are kept
// has none of them, and its end is an infrastructure failure that says so.
type Trajectory struct {
	Rollout *busv1.Rollout
	// Round is the round of its sweep in which it was played.
	Round int32
	// Long is the number of messages of a rollout that had too many bytes to be kept: Messages and
	// Tables are missing, and Read adds them. It is 0 for all others.
	Long int
	// Messages have indices from 0 without gaps, with the final value of conversation_active.
	Messages []*worldv1.Message
	// Starting is the number of messages that the rollout began with.
	Starting int
	// Tables are the distinct versions that were stored after the start, by table, then index.
	Tables []*worldv1.Table
	// MaxMessages is the rollout's message limit.
	MaxMessages int32
	// End is how it ended.
	End *busv1.End
	// Digest is that of the log's last entry.
	Digest []byte
	// Span is where the last entry was written.
	Span trace.SpanContext
}

// key names a table version: its content is part of its name.
type key struct {
	table  string
	index  int32
	digest string
}

func keyOf(version *worldv1.TableVersion) key {
	return key{version.GetName(), version.GetIndex(), string(version.GetDigest())}
}

// pending is what is known of a rollout that has no result yet.
type pending struct {
	rollout  *busv1.Rollout
	round    int32
	messages []*worldv1.Message
	begun    int // number of starting messages
	limit    int32
	tables   map[key]*worldv1.Table
	starting map[key]bool // held by the setup
	needed   map[key]bool
	end      *busv1.End
	span     trace.SpanContext
	last     bus.Position // of the log, as far as it is known
	rows     int          // of tables
	bytes    int          // of messages and tables; that many of a long one were kept
	whole    bool         // messages and tables are kept however long it is
	long     bool         // only what is known of it is kept, not messages and tables themselves
	count    int          // of messages
	dropped  string       // why messages and tables were dropped, empty if they were not
	broken   bool         // an entry is missing: what follows is ignored until the log is opened again
	given    bool         // the trajectory was returned
}

// Assembler collects rollouts. Safe for concurrent use.
type Assembler struct {
	mu      sync.Mutex
	pending map[string]*pending
	done    map[string]int32 // the last round of which there is a result
	watches map[string]map[chan struct{}]struct{}
}

// New returns an assembler that takes the given rollouts for done up to a round each. It keeps the
// map.
func New(done map[string]int32) *Assembler {
	if done == nil {
		done = make(map[string]int32)
	}
	return &Assembler{
		pending: make(map[string]*pending),
		done:    done,
		watches: make(map[string]map[chan struct{}]struct{}),
	}
}

// Done forgets a rollout unless it is played again: its result in the round is stored.
func (a *Assembler) Done(rolloutID string, round int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.pending[rolloutID]; p == nil || p.round <= round {
		delete(a.pending, rolloutID)
		a.done[rolloutID] = max(a.done[rolloutID], round)
	}
	a.notify(rolloutID)
}

// of returns the state of a rollout, nil if it is done.
func (a *Assembler) of(rolloutID string) *pending {
	if _, ok := a.done[rolloutID]; ok {
		return nil
	}
	p := a.pending[rolloutID]
	if p == nil {
		p = newPending()
		a.pending[rolloutID] = p
	}
	return p
}

func newPending() *pending {
	return &pending{tables: make(map[key]*worldv1.Table), needed: make(map[key]bool), starting: make(map[key]bool)}
}

// opens says whether an entry opens the log of a rollout again in a round of which nothing is known
// yet.
func (a *Assembler) opens(rolloutID string, entry *busv1.LogEntry) bool {
	round, known := a.done[rolloutID]
	if p := a.pending[rolloutID]; p != nil {
		round, known = p.round, true
	}
	return known && entry.GetClaim().GetRound() > round
}

// Log takes the log entry with the given stream sequence, nil for one that cannot be decoded, and
// returns the trajectory if that completes it, nil otherwise. Entries of one rollout must arrive in
// order; one that was there before is ignored. The error is ErrAgain or ErrLog.
func (a *Assembler) Log(rolloutID string, seq uint64, entry *busv1.LogEntry, span trace.SpanContext) (*Trajectory, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opens(rolloutID, entry) {
		// From now on its snapshots are kept: one that comes while the bus is read may be missing
		// in what is read.
		p := newPending()
		p.round = entry.GetClaim().GetRound()
		delete(a.done, rolloutID)
		a.pending[rolloutID] = p
		return nil, ErrAgain
	}
	p := a.of(rolloutID)
	if p == nil || p.broken || seq <= p.last.Sequence {
		return nil, nil
	}
	if err := p.log(seq, entry, span); err != nil {
		*p = *newPending()
		p.broken = true
		return nil, fmt.Errorf("rollout %s: sequence %d: %w", rolloutID, seq, err)
	}
	a.notify(rolloutID)
	return p.complete(), nil
}

// Restore takes the whole log of a rollout as it was read, and all its snapshots so far, both read
// after ErrAgain: what was known before is forgotten. It returns the trajectory if that is
// complete. The error is ErrLog.
func (a *Assembler) Restore(rolloutID string, log *bus.Log, snapshots []*busv1.Snapshot, span trace.SpanContext) (*Trajectory, error) {
	p := newPending()
	if err := p.read(rolloutID, log, snapshots, span); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if opened := a.pending[rolloutID]; opened != nil {
		p.store(slices.Collect(maps.Values(opened.tables)))
		if opened.dropped != "" {
			p.drop(opened.dropped)
		}
	}
	a.pending[rolloutID] = p
	a.notify(rolloutID)
	return p.complete(), nil
}

// log takes an entry.
func (p *pending) log(seq uint64, entry *busv1.LogEntry, span trace.SpanContext) error {
	if entry == nil {
		return fmt.Errorf("%w: what is stored there is no entry", ErrLog)
	}
	if err := bus.Follows(entry, p.last); err != nil {
		return fmt.Errorf("%w: %w", ErrLog, err)
	}
	p.last = bus.Position{Sequence: seq, Entries: entry.GetNumber() + 1, Digest: entry.GetDigest()}
	if start := entry.GetStart(); start != nil {
		p.rollout, p.limit, p.end, p.begun = start.GetRollout(), start.GetMaxMessages(), nil, len(start.GetMessages())
		if p.dropped == "" { // by snapshots, which may come before it
			p.messages, p.count, p.needed, p.starting = nil, 0, make(map[key]bool), make(map[key]bool)
			p.begin(start.GetVersions())
			p.add(start.GetMessages())
		}
	}
	if p.rollout == nil {
		return fmt.Errorf("%w: no start", ErrLog)
	}
	if claim := entry.GetClaim(); claim != nil {
		if claim.GetRound() > p.round {
			p.round, p.end = claim.GetRound(), nil
		}
		if len(p.starting) == 0 && p.dropped == "" {
			p.begin(claim.GetVersions())
		}
	}
	for _, turn := range []*busv1.Turn{entry.GetTurn(), entry.GetAnswers()} {
		if turn == nil {
			continue
		}
		if err := p.turn(turn); err != nil {
			return err
		}
	}
	if entry.GetEnd() != nil {
		p.end, p.span = entry.GetEnd(), span
	}
	return nil
}

// Snapshot takes a snapshot and returns the trajectory if that completes it, nil otherwise.
func (a *Assembler) Snapshot(snapshot *busv1.Snapshot) *Trajectory {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.of(snapshot.GetSessionId())
	if p == nil {
		return nil
	}
	if !p.store(snapshot.GetTables()) {
		return nil
	}
	a.notify(snapshot.GetSessionId())
	return p.complete()
}

// store keeps the table versions that were not there and says whether there were any.
func (p *pending) store(tables []*worldv1.Table) bool {
	if p.dropped != "" || p.given {
		return false
	}
	fresh := false
	for _, table := range tables {
		digest, err := world.Digest(table)
		if err != nil {
			continue // it was decoded: its texts are UTF-8
		}
		at := key{table.GetName(), table.GetIndex(), string(digest)}
		if p.tables[at] == nil {
			p.tables[at], fresh = table, true
			p.rows += len(table.GetRows())
			p.grow(proto.Size(table))
			if p.long {
				p.tables[at] = stub(at)
			}
		}
	}
	if p.rows > MaxRows {
		p.drop(fmt.Sprintf("the table versions have more than %d rows", MaxRows))
	}
	return fresh
}

// drop frees what a rollout has too much of.
func (p *pending) drop(reason string) {
	p.dropped, p.messages, p.tables, p.needed, p.starting, p.count = reason, nil, nil, nil, nil, 0
}

// begin notes the versions that the setup holds.
func (p *pending) begin(versions []*worldv1.TableVersion) {
	for _, version := range versions {
		p.starting[keyOf(version)] = true
	}
}

func (p *pending) need(versions []*worldv1.TableVersion) {
	for _, version := range versions {
		if at := keyOf(version); !p.starting[at] {
			p.needed[at] = true
		}
	}
}

func (p *pending) turn(turn *busv1.Turn) error {
	if p.dropped != "" {
		return nil
	}
	if turn.Deactivated != nil {
		index := int(turn.GetDeactivated())
		if index < 0 || index >= p.count {
			return fmt.Errorf("%w: message %d ended the conversation, but there are %d", ErrLog, index, p.count)
		}
		if !p.long {
			ended := proto.CloneOf(p.messages[index])
			ended.ConversationActive = proto.Bool(false)
			p.messages[index] = ended
		}
	}
	p.add(turn.GetMessages())
	p.need(turn.GetVersions())
	if p.count > MaxMessages {
		p.drop(fmt.Sprintf("there are more than %d messages", MaxMessages))
	}
	return nil
}

// complete returns the trajectory once: when the log has ended and every version it names is there,
// but for those of the start.
func (p *pending) complete() *Trajectory {
	if p.end == nil || p.given || p.missing() != nil {
		return nil
	}
	p.given = true
	return p.trajectory()
}

// missing returns the first version that the log names and that was never there, nil if there is
// none.
func (p *pending) missing() *key {
	var first *key
	for k := range p.needed {
		if p.tables[k] == nil && (first == nil || compareKeys(k, *first) < 0) {
			first = &k
		}
	}
	return first
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.index, b.index), cmp.Compare(a.digest, b.digest))
}

// trajectory returns what is known. Later entries do not change it.
func (p *pending) trajectory() *Trajectory {
	t := &Trajectory{
		Rollout: p.rollout, Round: p.round, Messages: slices.Clone(p.messages), Starting: p.begun,
		MaxMessages: p.limit, End: p.end, Digest: p.last.Digest, Span: p.span,
	}
	if p.dropped != "" && t.End != nil {
		t.End = &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE, Detail: "too large to be scored: " + p.dropped}
	}
	if p.long && p.dropped == "" {
		t.Long = p.count
		return t
	}
	// Other versions come from an execution whose answers never got on the bus.
	for _, k := range slices.SortedFunc(maps.Keys(p.needed), compareKeys) {
		if table := p.tables[k]; table != nil && int(k.index) < len(p.messages) {
			t.Tables = append(t.Tables, table)
		}
	}
	return t
}
