package evaluator

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/bus"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	"github.com/toolsandbox/toolsandbox/internal/testkit/worldtest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	user  = worldv1.Role_ROLE_USER
	agent = worldv1.Role_ROLE_AGENT
	env   = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT

	contact = world.Contact

	// waitTimeout is the timeout of every wait.
	waitTimeout = time.Minute
)

// says returns a node that expects a message with a text.
func says(text string) *evaluationv1.Node {
	return &evaluationv1.Node{Constraints: []*evaluationv1.Constraint{{
		Table:   world.Sandbox,
		Measure: evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_SNAPSHOT,
		Target:  []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{{Column: "content", Value: world.Text(text)}}}},
	}}}
}

// adds returns a node that expects a contact added since the first user message.
func adds(name string) *evaluationv1.Node {
	return &evaluationv1.Node{Constraints: []*evaluationv1.Constraint{{
		Table:     contact,
		Measure:   evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_ADDITION,
		Reference: proto.Int32(-1),
		Target:    []*evaluationv1.TargetRow{{Cells: []*evaluationv1.TargetCell{{Column: "name", Value: world.Text(name)}}}},
	}}}
}

// evaluation returns an evaluation whose milestones play's rollouts all reach.
func evaluation() *evaluationv1.Evaluation {
	return &evaluationv1.Evaluation{Milestones: &evaluationv1.Graph{
		Nodes: []*evaluationv1.Node{adds("Ann"), says("done")},
		Edges: []*evaluationv1.Edge{{Before: 0, After: 1}},
	}}
}

func contacts(index int32, names ...string) *worldv1.Table {
	version := &worldv1.Table{Name: contact, Index: index}
	for _, name := range names {
		version.Rows = append(version.Rows, worldtest.Row(contact, worldtest.Cells{
			"person_id": world.Text("id of " + name), "name": world.Text(name), "is_self": world.Bool(false),
		}))
	}
	return version
}

func textMessage(index int32, sender, recipient worldv1.Role, text string) *worldv1.Message {
	return &worldv1.Message{
		Index: index, Sender: sender, Recipient: recipient, Body: &worldv1.Message_Text{Text: text}, ConversationActive: proto.Bool(true),
		VisibleTo: []worldv1.Role{sender, recipient},
	}
}

// testBus is a bus for publishing rollouts, with the documents to which they refer.
type testBus struct {
	*bus.Bus
	setup, evaluation string // digests
}

func newTestBus(tb testing.TB) *testBus {
	tb.Helper()
	return testBusOn(tb, natstest.Start(tb))
}

func testBusOn(tb testing.TB, b *bus.Bus) *testBus {
	tb.Helper()
	setup, err := b.PutSetup(tb.Context(), &setupv1.Setup{Name: "scene", Tables: []*worldv1.Table{contacts(0)}})
	if err != nil {
		tb.Fatal(err)
	}
	digest, err := b.PutEvaluation(tb.Context(), evaluation())
	if err != nil {
		tb.Fatal(err)
	}
	return &testBus{Bus: b, setup: setup, evaluation: digest}
}

func (s *testBus) rollout(id string) *busv1.Rollout {
	return &busv1.Rollout{Id: id, SweepId: "s", Scenario: "scene", SetupDigest: s.setup, EvaluationDigest: s.evaluation}
}

// messages returns messages of a rollout that reaches both milestones.
func messages() []*worldv1.Message {
	return []*worldv1.Message{
		textMessage(0, user, agent, "add Ann"), textMessage(1, agent, env, "add_contact(name='Ann')"), textMessage(2, env, agent, "ok"), textMessage(3, agent, user, "done"),
	}
}

// play publishes a rollout: the snapshot first, as a tool host does, then the log with the given
// end.
func (s *testBus) play(tb testing.TB, rollout *busv1.Rollout, end *busv1.End) {
	tb.Helper()
	s.snapshot(tb, rollout.GetId())
	s.log(tb, rollout, end)
}

func (s *testBus) snapshot(tb testing.TB, id string) {
	tb.Helper()
	if err := s.PublishSnapshot(tb.Context(), &busv1.Snapshot{SessionId: id, Tables: []*worldv1.Table{contacts(2, "Ann")}}); err != nil {
		tb.Fatal(err)
	}
}

// versionAt returns the version of the table at a message: empty at the start, then with Ann's row.
func versionAt(index int32) *worldv1.TableVersion {
	table := contacts(index)
	if index > 0 {
		table = contacts(index, "Ann")
	}
	return named(table)
}

func named(table *worldv1.Table) *worldv1.TableVersion {
	digest, err := world.Digest(table)
	if err != nil {
		panic(err) // test tables are valid UTF-8
	}
	return &worldv1.TableVersion{Name: table.GetName(), Index: table.GetIndex(), Digest: digest}
}

func (s *testBus) log(tb testing.TB, rollout *busv1.Rollout, end *busv1.End) {
	tb.Helper()
	at := func(index int32) []*worldv1.TableVersion {
		return []*worldv1.TableVersion{versionAt(index)}
	}
	said := messages()
	var last bus.Position
	for _, entry := range []*busv1.LogEntry{
		{Start: &busv1.Start{Rollout: rollout, Messages: said[:1], Versions: at(0), MaxMessages: 30}, Claim: &busv1.Claim{}},
		{Turns: []*busv1.Turn{{Messages: said[1:2], Versions: at(0)}}},
		{Turns: []*busv1.Turn{{Messages: said[2:3], Versions: at(2)}}},
		{Turns: []*busv1.Turn{{Messages: said[3:], Versions: at(2)}}, End: end},
	} {
		var err error
		if last, err = s.Append(tb.Context(), rollout.GetId(), entry, last); err != nil {
			tb.Fatal(err)
		}
	}
}

// run runs an evaluator on the bus until stop is called, which waits for its end.
func (s *testBus) run(tb testing.TB) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	assembler, err := resume(ctx, s.Bus.Evaluator())
	if err != nil {
		tb.Fatal(err)
	}
	scorer := testScorer(tb, s.Bus.Evaluator())
	ended := make(chan error, 1)
	go func() { ended <- follow(ctx, DefaultConfig(), s.Bus.Evaluator(), scorer, assembler) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("follow: got %v, want nil", err)
		}
	})
	tb.Cleanup(stop)
	return stop
}

var errEnough = errors.New("enough")

// results waits for n results and returns them by rollout.
func (s *testBus) results(tb testing.TB, n int) map[string]*busv1.Result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), waitTimeout)
	defer cancel()
	got := make(map[string]*busv1.Result)
	err := s.FollowResults(ctx, "", func(result *busv1.Result) error {
		id := result.GetRollout().GetId()
		if got[id] != nil {
			tb.Errorf("results of %s: got a second one", id)
		}
		if got[id] = result; len(got) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		tb.Fatalf("results: got %d and %v, want %d", len(got), err, n)
	}
	return got
}

// unknownDigest is the digest of no document.
const unknownDigest = "0000000000000000000000000000000000000000000000000000000000000000"

func ended(reason busv1.EndReason) *busv1.End { return &busv1.End{Reason: reason} }
