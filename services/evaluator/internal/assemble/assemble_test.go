package assemble_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/assemble"
)

// event is the delivery of a log entry or a snapshot.
type event struct {
	seq      uint64
	entry    *busv1.LogEntry
	snapshot *busv1.Snapshot
}

// recording is a rollout as published on the bus, with the expected trajectory.
type recording struct {
	id        string
	log       []event
	snapshots []event
	want      *assemble.Trajectory
}

func table(name string, index int32) *worldv1.Table {
	return &worldv1.Table{Name: name, Index: index, Rows: []*worldv1.Row{{Cells: []*worldv1.Value{{Kind: &worldv1.Value_Number{Number: float64(index)}}}}}}
}

// version returns the version of table(name, index).
func version(name string, index int32) *worldv1.TableVersion {
	digest, err := world.Digest(table(name, index))
	if err != nil {
		panic(err) // the table has no text
	}
	return &worldv1.TableVersion{Name: name, Index: index, Digest: digest}
}

// chain numbers entries as one log.
func chain(entries ...*busv1.LogEntry) []*busv1.LogEntry {
	for i, entry := range entries {
		if entry == nil {
			continue
		}
		entry.Number, entry.Digest = int32(i), []byte{byte(i + 1)}
		if i > 0 {
			entry.Previous = entries[i-1].GetDigest()
		}
	}
	return entries
}

// record returns a rollout of random length. Every execution stores versions of random tables. An
// additional execution follows the last message, whose answers are not on the bus.
func record(random *rand.Rand, id string) *recording {
	r := &recording{id: id, want: &assemble.Trajectory{
		Rollout: &busv1.Rollout{Id: id}, Starting: 2, MaxMessages: 30, End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
	}}
	seq := random.Uint64N(100) + 1
	var log []*busv1.LogEntry
	add := func(entry *busv1.LogEntry) {
		r.work(entry)
		log = chain(append(log, entry)...)
		r.want.Digest = entry.GetDigest()
		r.log = append(r.log, event{seq: seq, entry: entry})
		seq += 1 + random.Uint64N(3) // other rollouts have entries in between
	}
	message := func() *worldv1.Message {
		m := &worldv1.Message{Index: int32(len(r.want.Messages)), Body: &worldv1.Message_Text{Text: id}, ConversationActive: proto.Bool(true)}
		r.want.Messages = append(r.want.Messages, m)
		return m
	}
	storedTables := []string{world.Contact, world.Messaging, world.Reminder, world.Setting} // in the order of results
	current := make(map[string]int32)
	versions := func() []*worldv1.TableVersion {
		var list []*worldv1.TableVersion
		for _, name := range storedTables {
			list = append(list, version(name, current[name]))
		}
		return list
	}
	add(&busv1.LogEntry{Start: &busv1.Start{Rollout: r.want.Rollout, Messages: []*worldv1.Message{message(), message()}, Versions: versions(), MaxMessages: 30}})
	storedVersions := make(map[string][]*worldv1.Table)
	for range random.IntN(6) {
		snapshot := &busv1.Snapshot{SessionId: id}
		for _, name := range storedTables {
			if random.IntN(3) == 0 {
				changed := table(name, int32(len(r.want.Messages)))
				current[name] = changed.GetIndex()
				storedVersions[name] = append(storedVersions[name], changed)
				snapshot.Tables = append(snapshot.Tables, changed)
			}
		}
		if len(snapshot.GetTables()) > 0 {
			r.snapshots = append(r.snapshots, event{snapshot: snapshot})
		}
		add(&busv1.LogEntry{Claim: &busv1.Claim{}})
		turn := &busv1.Turn{Messages: []*worldv1.Message{message(), message()}, Versions: versions()}
		if random.IntN(2) == 0 {
			add(&busv1.LogEntry{Turns: []*busv1.Turn{turn}})
			continue
		}
		add(&busv1.LogEntry{Turns: []*busv1.Turn{turn, {Messages: []*worldv1.Message{message()}, Versions: versions()}}})
	}
	add(&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message()}, Versions: versions(), EndedAtIndex: proto.Int32(1)}}, End: r.want.End})
	ended := proto.CloneOf(r.want.Messages[1])
	ended.ConversationActive = proto.Bool(false)
	r.want.Messages[1] = ended
	for _, name := range storedTables {
		r.want.Tables = append(r.want.Tables, storedVersions[name]...)
	}
	leftover := &busv1.Snapshot{SessionId: id, Tables: []*worldv1.Table{table(world.Contact, int32(len(r.want.Messages)))}}
	r.snapshots = append(r.snapshots, event{snapshot: leftover})
	return r
}

// work expects the claims and the usage of an entry. It gives each turn 3 tokens with a price.
func (r *recording) work(entry *busv1.LogEntry) {
	if claim := entry.GetClaim(); claim != nil {
		r.want.Claims = append(r.want.Claims, claim)
	}
	for _, turn := range entry.GetTurns() {
		turn.Usage = &agentgwv1.Usage{InputTokens: 2, OutputTokens: 1, CostMicros: proto.Int64(5)}
		r.want.Usage = &agentgwv1.Usage{
			InputTokens: r.want.Usage.GetInputTokens() + 2, OutputTokens: r.want.Usage.GetOutputTokens() + 1, CostMicros: proto.Int64(r.want.Usage.GetCostMicros() + 5),
		}
	}
}

// deliveries returns the events of a rollout in random order. Entries are in order, sometimes
// repeated from an earlier one. Snapshots are anywhere, some repeated.
func (r *recording) deliveries(random *rand.Rand) []event {
	var log []event
	for i, e := range r.log {
		log = append(log, e)
		if random.IntN(4) == 0 {
			log = append(log, r.log[random.IntN(i+1):i+1]...)
		}
	}
	snapshots := append([]event(nil), r.snapshots...)
	for _, e := range r.snapshots {
		if random.IntN(2) == 0 {
			snapshots = append(snapshots, e)
		}
	}
	random.Shuffle(len(snapshots), func(i, j int) { snapshots[i], snapshots[j] = snapshots[j], snapshots[i] })
	return merge(random, log, snapshots)
}

// merge interleaves lists randomly, each in its own order.
func merge(random *rand.Rand, lists ...[]event) []event {
	var merged []event
	for {
		var left []int
		for i, list := range lists {
			for range list {
				left = append(left, i)
			}
		}
		if len(left) == 0 {
			return merged
		}
		i := left[random.IntN(len(left))]
		merged, lists[i] = append(merged, lists[i][0]), lists[i][1:]
	}
}

func deliver(t *testing.T, a *assemble.Assembler, r *recording, e event) *assemble.Trajectory {
	t.Helper()
	if e.snapshot != nil {
		return a.AddSnapshot(e.snapshot)
	}
	trajectory, err := a.AddEntry(r.id, e.seq, e.entry)
	if err != nil {
		t.Fatalf("Log: %v", err)
	}
	return trajectory
}

func diff(want, got *assemble.Trajectory) string {
	return cmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateEmpty())
}

func TestEveryOrderGivesTheSameTrajectoryOnce(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			a := assemble.New(map[string]int32{})
			owner := make(map[event]*recording)
			var lists [][]event
			var all []*recording
			for n := range 3 {
				r := record(random, fmt.Sprintf("s.%d", n))
				for _, e := range append(r.log, r.snapshots...) {
					owner[e] = r
				}
				all = append(all, r)
				lists = append(lists, r.deliveries(random))
			}
			got := make(map[string]*assemble.Trajectory)
			for _, e := range merge(random, lists...) {
				r := owner[e]
				trajectory := deliver(t, a, r, e)
				if trajectory == nil {
					continue
				}
				if got[r.id] != nil {
					t.Errorf("%s: got its trajectory twice, want once", r.id)
				}
				got[r.id] = trajectory
				if random.IntN(2) == 0 {
					a.Done(r.id, 0)
				}
			}
			for _, r := range all {
				if d := diff(r.want, got[r.id]); d != "" {
					t.Errorf("%s (-want +got):\n%s", r.id, d)
				}
			}
		})
	}
}

func TestDoneRolloutsAreIgnored(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	done, fresh := record(random, "s.0"), record(random, "s.1")
	a := assemble.New(map[string]int32{"s.0": 0})
	for _, r := range []*recording{done, fresh} {
		var got *assemble.Trajectory
		for _, e := range append(r.snapshots, r.log...) {
			if trajectory := deliver(t, a, r, e); trajectory != nil {
				got = trajectory
			}
		}
		if want := r == fresh; (got != nil) != want {
			t.Errorf("%s: got a trajectory %v, want %v", r.id, got != nil, want)
		}
	}
	a.Done("s.1", 0)
	for _, e := range append(fresh.snapshots, fresh.log...) {
		if deliver(t, a, fresh, e) != nil {
			t.Error("s.1 after Done: got a trajectory, want none")
		}
	}
	a.Forget("s")
	a.Done("s.1", 0) // whose result was stored just before
	for _, r := range []*recording{done, fresh} {
		got := false
		for _, e := range append(r.snapshots, r.log...) {
			got = deliver(t, a, r, e) != nil || got
		}
		if !got {
			t.Errorf("%s of another sweep with the id: got no trajectory", r.id)
		}
	}
}

// TestIncomplete checks that a trajectory waits for a version in its log.
func TestIncomplete(t *testing.T) {
	versions := []*worldv1.TableVersion{version(world.Contact, 1)}
	start := &busv1.LogEntry{Start: &busv1.Start{Rollout: &busv1.Rollout{Id: "s.0"}, Messages: []*worldv1.Message{{}}}}
	turn := &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{{Index: 1}}, Versions: versions}}}
	end := &busv1.LogEntry{End: &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED}}
	a := assemble.New(map[string]int32{})
	for i, entry := range chain(start, turn, end) {
		if got, err := a.AddEntry("s.0", uint64(i)+1, entry); got != nil || err != nil {
			t.Fatalf("Log of entry %d: got %v, %v, want nil, nil", i, got, err)
		}
	}
	other := &busv1.Snapshot{SessionId: "s.0", Tables: []*worldv1.Table{table(world.Reminder, 1)}}
	if got := a.AddSnapshot(other); got != nil {
		t.Errorf("Snapshot of another table: got %v, want nil", got)
	}
	wanted := &busv1.Snapshot{SessionId: "s.0", Tables: []*worldv1.Table{table(world.Contact, 1)}}
	if got := a.AddSnapshot(wanted); got == nil || len(got.Tables) != 1 {
		t.Errorf("Snapshot of the wanted version: got %v, want a trajectory with its table alone", got)
	}
}

func TestBrokenLogs(t *testing.T) {
	start := &busv1.LogEntry{Start: &busv1.Start{Rollout: &busv1.Rollout{Id: "s.0"}, Messages: []*worldv1.Message{{}}}}
	for name, entries := range map[string][]*busv1.LogEntry{
		"no start":                        {{Claim: &busv1.Claim{}}},
		"a message that is not there":     {start, {Turns: []*busv1.Turn{{Messages: []*worldv1.Message{{Index: 1}}, EndedAtIndex: proto.Int32(1)}}}},
		"a message with a negative index": {start, {Turns: []*busv1.Turn{{Messages: []*worldv1.Message{{Index: 1}}, EndedAtIndex: proto.Int32(-1)}}}},
		"no entry":                        {start, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := assemble.New(map[string]int32{})
			var err error
			for i, entry := range chain(entries...) {
				_, err = a.AddEntry("s.0", uint64(i)+1, entry)
			}
			if !errors.Is(err, assemble.ErrLog) {
				t.Errorf("Log: got %v, want %v", err, assemble.ErrLog)
			}
		})
	}
}
