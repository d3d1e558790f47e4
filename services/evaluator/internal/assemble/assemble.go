// Package assemble builds the trajectory of each rollout from its log and snapshots, which may
// arrive in any order and repeatedly, and detects when it is complete. It performs no I/O.
package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrLog means that a log violates the format.
var ErrLog = errors.New("broken rollout log")

// ErrReopened means that an entry reopens the log of a rollout whose earlier entries may be
// missing. The caller calls Restore.
var ErrReopened = errors.New("rollout is played again")

const (
	// MaxMessages is the maximum number of messages of a rollout.
	MaxMessages = 20_000
	// MaxRows is the maximum number of rows in all table versions of a rollout.
	MaxRows = 1 << 18
	// MaxBytes is the maximum size of a running rollout's messages and table versions in memory. Those
	// of a larger rollout stay on the bus.
	MaxBytes = 1 << 20
)

// Trajectory is the trajectory of one rollout. If it exceeds MaxMessages or MaxRows, it has no
// messages and tables, and its end is an infrastructure failure with the reason.
type Trajectory struct {
	Rollout *busv1.Rollout
	// Round is the sweep's round of the rollout.
	Round int32
	// Omitted is the number of messages of a rollout that exceeds MaxBytes. Messages and Tables are
	// nil then; WithOmitted adds them. It is 0 for other rollouts.
	Omitted int
	// Messages have indices from 0 without gaps, with the final value of conversation_active.
	Messages []*worldv1.Message
	// Starting is the number of messages at the start of the rollout.
	Starting int
	// Remarks are those of the models' turns.
	Remarks []Remark
	// Tables are the distinct versions after the start, by table, then index.
	Tables []*worldv1.Table
	// MaxMessages is the rollout's message limit.
	MaxMessages int32
	// End is the end of the rollout, nil while it runs.
	End *busv1.End
	// Digest is the digest of the log's last entry.
	Digest []byte
	// Claims are those of this round and of earlier ones, in order.
	Claims []*busv1.Claim
	// Usage is the sum over all turns, nil if no model spoke. Its cost is unset if that of a turn is
	// unknown.
	Usage *agentgwv1.Usage
}

// Remark is what was special about a turn of a model.
type Remark struct {
	// Role is the role whose turn it was, Index that of its first message.
	Role   worldv1.Role
	Index  int32
	Remark *agentgwv1.Remark
}

// key identifies a table version by its content.
type key struct {
	table  string
	index  int32
	digest string
}

func keyOf(version *worldv1.TableVersion) key {
	return key{version.GetName(), version.GetIndex(), string(version.GetDigest())}
}

// rolloutState is the state of a rollout without a result.
type rolloutState struct {
	rollout          *busv1.Rollout
	round            int32
	messages         []*worldv1.Message
	startingMessages int // number of starting messages
	limit            int32
	tables           map[key]*worldv1.Table
	starting         map[key]bool // part of the setup
	needed           map[key]bool
	end              *busv1.End
	claims           []*busv1.Claim
	usage            *agentgwv1.Usage
	last             bus.Position // of the known log
	rows             int          // of tables
	bytes            int          // of messages and tables in memory
	unbounded        bool         // MaxBytes does not apply
	long             bool         // exceeds MaxBytes: messages and tables are not in memory
	count            int          // of messages
	remarks          []Remark
	dropped          string // why messages and tables were dropped, empty if not
	broken           bool   // an entry is missing: ignore entries until the log is reopened
	returned         bool   // the trajectory was returned
}

// Assembler assembles rollouts. It is safe for concurrent use.
type Assembler struct {
	mu      sync.Mutex
	pending map[string]*rolloutState
	done    map[string]int32 // last round with a result
	watches map[string]map[chan struct{}]struct{}
}

// New returns an assembler. done maps rollouts to their last round with a result. The assembler
// owns the map.
func New(done map[string]int32) *Assembler {
	return &Assembler{
		pending: make(map[string]*rolloutState),
		done:    done,
		watches: make(map[string]map[chan struct{}]struct{}),
	}
}

// Done drops a rollout whose result of the round is stored, unless a later round has begun, or its
// sweep was forgotten meanwhile.
func (a *Assembler) Done(rolloutID string, round int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.pending[rolloutID]; p != nil && p.round <= round {
		delete(a.pending, rolloutID)
		a.done[rolloutID] = round
	}
	a.notify(rolloutID)
}

// Forget drops all rollouts of a deleted sweep. Another sweep may have its id later.
func (a *Assembler) Forget(sweepID string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	prefix := sweepID + "."
	maps.DeleteFunc(a.done, func(id string, _ int32) bool { return strings.HasPrefix(id, prefix) })
	maps.DeleteFunc(a.pending, func(id string, _ *rolloutState) bool { return strings.HasPrefix(id, prefix) })
}

// state returns the state of a rollout, nil if it is done.
func (a *Assembler) state(rolloutID string) *rolloutState {
	if _, ok := a.done[rolloutID]; ok {
		return nil
	}
	p := a.pending[rolloutID]
	if p == nil {
		p = newRolloutState()
		a.pending[rolloutID] = p
	}
	return p
}

func newRolloutState() *rolloutState {
	return &rolloutState{tables: make(map[key]*worldv1.Table), needed: make(map[key]bool), starting: make(map[key]bool)}
}

// reopens reports whether an entry opens the log in a new round.
func (a *Assembler) reopens(rolloutID string, entry *busv1.LogEntry) bool {
	round, isDone := a.done[rolloutID]
	if p := a.pending[rolloutID]; p != nil {
		round, isDone = p.round, true
	}
	return isDone && entry.GetClaim().GetRound() > round
}

// AddEntry adds the log entry with a stream sequence, nil for one that cannot be decoded. It
// returns the trajectory if the entry completes it. Entries of one rollout must arrive in order;
// repeated ones are ignored. The error is ErrReopened or ErrLog.
func (a *Assembler) AddEntry(rolloutID string, seq uint64, entry *busv1.LogEntry) (*Trajectory, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reopens(rolloutID, entry) {
		// Collect snapshots from now on: those that arrive while the caller reads the bus may be missing
		// there.
		p := newRolloutState()
		p.round = entry.GetClaim().GetRound()
		delete(a.done, rolloutID)
		a.pending[rolloutID] = p
		return nil, ErrReopened
	}
	p := a.state(rolloutID)
	if p == nil || p.broken || seq <= p.last.Sequence {
		return nil, nil
	}
	if err := p.log(seq, entry); err != nil {
		*p = *newRolloutState()
		p.broken = true
		return nil, fmt.Errorf("rollout %s: sequence %d: %w", rolloutID, seq, err)
	}
	a.notify(rolloutID)
	return p.complete(), nil
}

// Restore replaces the state of a rollout by its whole log and all its snapshots, both read after
// ErrReopened. It returns the trajectory if it is complete. The error is ErrLog.
func (a *Assembler) Restore(rolloutID string, log *bus.Log, snapshots []*busv1.Snapshot) (*Trajectory, error) {
	p := newRolloutState()
	if err := p.read(rolloutID, log, snapshots); err != nil {
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

// log adds an entry.
func (p *rolloutState) log(seq uint64, entry *busv1.LogEntry) error {
	if entry == nil {
		return fmt.Errorf("%w: the message is no log entry", ErrLog)
	}
	if err := bus.Follows(entry, p.last); err != nil {
		return fmt.Errorf("%w: %w", ErrLog, err)
	}
	p.last = bus.Position{Sequence: seq, Entries: entry.GetNumber() + 1, Digest: entry.GetDigest()}
	if start := entry.GetStart(); start != nil {
		p.rollout, p.limit, p.end, p.startingMessages = start.GetRollout(), start.GetMaxMessages(), nil, len(start.GetMessages())
		p.usage = nil
		if p.dropped == "" { // snapshots may have exceeded a limit before
			p.messages, p.count, p.needed, p.starting = nil, 0, make(map[key]bool), make(map[key]bool)
			p.addStarting(start.GetVersions())
			p.add(start.GetMessages())
		}
	}
	if p.rollout == nil {
		return fmt.Errorf("%w: no start", ErrLog)
	}
	if claim := entry.GetClaim(); claim != nil {
		p.claims = append(p.claims, claim)
		if claim.GetRound() > p.round {
			p.round, p.end = claim.GetRound(), nil
		}
		if len(p.starting) == 0 && p.dropped == "" {
			p.addStarting(claim.GetVersions())
		}
	}
	for _, turn := range entry.GetTurns() {
		p.addUsage(turn.GetUsage())
		if err := p.turn(turn); err != nil {
			return err
		}
	}
	if entry.GetEnd() != nil {
		p.end = entry.GetEnd()
		p.addUsage(p.end.GetUsage().GetUsage())
	}
	return nil
}

// AddSnapshot adds a snapshot. It returns the trajectory if the snapshot completes it.
func (a *Assembler) AddSnapshot(snapshot *busv1.Snapshot) *Trajectory {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.state(snapshot.GetSessionId())
	if p == nil {
		return nil
	}
	if !p.store(snapshot.GetTables()) {
		return nil
	}
	a.notify(snapshot.GetSessionId())
	return p.complete()
}

// store adds new table versions and reports whether there were any.
func (p *rolloutState) store(tables []*worldv1.Table) bool {
	if p.dropped != "" || p.returned {
		return false
	}
	fresh := false
	for _, table := range tables {
		digest, err := world.Digest(table)
		if err != nil {
			continue // impossible: decoded texts are valid UTF-8
		}
		at := key{table.GetName(), table.GetIndex(), string(digest)}
		if p.tables[at] == nil {
			p.tables[at], fresh = table, true
			p.rows += len(table.GetRows())
			p.addBytes(proto.Size(table))
			if p.long {
				p.tables[at] = emptyTable(at)
			}
		}
	}
	if p.rows > MaxRows {
		p.drop(fmt.Sprintf("the table versions have more than %d rows", MaxRows))
	}
	return fresh
}

// drop removes the messages and tables of a rollout that exceeds a limit.
func (p *rolloutState) drop(reason string) {
	p.dropped, p.messages, p.tables, p.needed, p.starting, p.count = reason, nil, nil, nil, nil, 0
}

// addStarting records the versions of the setup.
func (p *rolloutState) addStarting(versions []*worldv1.TableVersion) {
	for _, version := range versions {
		p.starting[keyOf(version)] = true
	}
}

// addUsage adds the usage of a turn to that of the rollout.
func (p *rolloutState) addUsage(of *agentgwv1.Usage) {
	if of == nil {
		return
	}
	sum := &agentgwv1.Usage{
		InputTokens: p.usage.GetInputTokens() + of.GetInputTokens(), CachedTokens: p.usage.GetCachedTokens() + of.GetCachedTokens(),
		OutputTokens: p.usage.GetOutputTokens() + of.GetOutputTokens(), ReasoningTokens: p.usage.GetReasoningTokens() + of.GetReasoningTokens(),
	}
	if of.CostMicros != nil && (p.usage == nil || p.usage.CostMicros != nil) {
		sum.CostMicros = proto.Int64(p.usage.GetCostMicros() + of.GetCostMicros())
	}
	p.usage = sum
}

func (p *rolloutState) need(versions []*worldv1.TableVersion) {
	for _, version := range versions {
		if at := keyOf(version); !p.starting[at] {
			p.needed[at] = true
		}
	}
}

func (p *rolloutState) turn(turn *busv1.Turn) error {
	if p.dropped != "" {
		return nil
	}
	if turn.EndedAtIndex != nil {
		index := int(turn.GetEndedAtIndex())
		if index < 0 || index >= p.count {
			return fmt.Errorf("%w: message %d ended the conversation, but there are %d", ErrLog, index, p.count)
		}
		if !p.long {
			message := proto.CloneOf(p.messages[index])
			message.ConversationActive = proto.Bool(false)
			p.messages[index] = message
		}
	}
	p.add(turn.GetMessages())
	p.need(turn.GetVersions())
	for _, remark := range turn.GetRemarks() {
		first := turn.GetMessages()[0]
		p.remarks = append(p.remarks, Remark{first.GetSender(), first.GetIndex(), remark})
	}
	if p.count > MaxMessages {
		p.drop(fmt.Sprintf("there are more than %d messages", MaxMessages))
	}
	return nil
}

// complete returns the trajectory once, when the log has ended and all its versions have arrived,
// except those of the setup.
func (p *rolloutState) complete() *Trajectory {
	if p.end == nil || p.returned || p.missing() != nil {
		return nil
	}
	p.returned = true
	return p.trajectory()
}

// missing returns the first version of the log that has not arrived, nil if there is none.
func (p *rolloutState) missing() *key {
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

// trajectory returns a snapshot of the state. Later entries do not change it.
func (p *rolloutState) trajectory() *Trajectory {
	t := &Trajectory{
		Rollout: p.rollout, Round: p.round, Messages: slices.Clone(p.messages), Starting: p.startingMessages,
		Remarks: slices.Clone(p.remarks), MaxMessages: p.limit, End: p.end, Digest: p.last.Digest,
		Claims: slices.Clone(p.claims), Usage: p.usage,
	}
	if p.dropped != "" && t.End != nil {
		t.End = &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE, Detail: "too large to be scored: " + p.dropped}
	}
	if p.long && p.dropped == "" {
		t.Omitted = p.count
		return t
	}
	// Other versions come from executions whose results are not on the bus.
	for _, k := range slices.SortedFunc(maps.Keys(p.needed), compareKeys) {
		if table := p.tables[k]; table != nil && int(k.index) < len(p.messages) {
			t.Tables = append(t.Tables, table)
		}
	}
	return t
}
