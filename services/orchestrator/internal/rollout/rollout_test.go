package rollout_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

const (
	system = worldv1.Role_ROLE_SYSTEM
	user   = worldv1.Role_ROLE_USER
	agent  = worldv1.Role_ROLE_AGENT
	env    = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT

	open     = busv1.EndReason_END_REASON_UNSPECIFIED
	finished = busv1.EndReason_END_REASON_FINISHED
	limit    = busv1.EndReason_END_REASON_MESSAGE_LIMIT
)

func message(index int32, sender, recipient worldv1.Role, change ...func(*worldv1.Message)) *worldv1.Message {
	m := &worldv1.Message{Index: index, Sender: sender, Recipient: recipient, Body: &worldv1.Message_Text{Text: "text"}}
	for _, f := range change {
		f(m)
	}
	return m
}

func active(on bool) func(*worldv1.Message) {
	return func(m *worldv1.Message) { m.ConversationActive = proto.Bool(on) }
}

func visible(roles ...worldv1.Role) func(*worldv1.Message) {
	return func(m *worldv1.Message) { m.VisibleTo = roles }
}

// start opens a log in which the user has asked the agent something.
func start(maxMessages int32, messages ...*worldv1.Message) *busv1.LogEntry {
	if len(messages) == 0 {
		messages = []*worldv1.Message{message(0, user, agent)}
	}
	return &busv1.LogEntry{Start: rollout.Start(&busv1.Rollout{Id: "s.0"}, &setupv1.Setup{Messages: messages, MaxMessages: maxMessages}, nil), Claim: &busv1.Claim{}}
}

func fold(t *testing.T, entries ...*busv1.LogEntry) *rollout.State {
	t.Helper()
	state, err := rollout.Fold(entries)
	if err != nil {
		t.Fatalf("Fold: %v", err)
	}
	return state
}

// say adds what was said in one turn, as a worker does.
func say(t *testing.T, state *rollout.State, deactivated *int32, messages ...*worldv1.Message) {
	t.Helper()
	if err := state.Apply(&busv1.LogEntry{Turns: []*busv1.Turn{state.Turn(messages, deactivated)}}); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}

func TestConversationActiveCarriesOver(t *testing.T) {
	tests := []struct {
		name     string
		starting []*worldv1.Message
		turns    [][]*worldv1.Message
		want     []bool
	}{
		{"unset from the start", []*worldv1.Message{message(0, system, agent), message(1, user, agent)}, nil, []bool{true, true}},
		{"set in the middle", []*worldv1.Message{message(0, user, agent, active(false)), message(1, user, agent)}, nil, []bool{false, false}},
		{"set again", []*worldv1.Message{message(0, user, agent, active(false)), message(1, user, agent, active(true))}, nil, []bool{false, true}},
		{"over a turn", []*worldv1.Message{message(0, user, agent)}, [][]*worldv1.Message{{message(1, agent, user)}}, []bool{true, true}},
		{"within a turn", []*worldv1.Message{message(0, user, agent)}, [][]*worldv1.Message{
			{message(1, agent, user, active(false)), message(2, agent, user)}, {message(3, user, agent)},
		}, []bool{true, false, false, false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			state := fold(t, start(10, test.starting...))
			for _, turn := range test.turns {
				say(t, state, nil, turn...)
			}
			var got []bool
			for _, m := range state.Messages() {
				if m.ConversationActive == nil {
					t.Errorf("message %d: conversation_active is unset, want a value", m.GetIndex())
				}
				got = append(got, m.GetConversationActive())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conversation_active (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTurnKeepsTheCallersMessages(t *testing.T) {
	state := fold(t, start(10))
	mine := message(1, agent, user)
	state.Turn([]*worldv1.Message{mine}, nil)
	if mine.ConversationActive != nil {
		t.Errorf("conversation_active of the caller's message: got %v, want unset", mine.GetConversationActive())
	}
}

func TestDeactivationOfAnEarlierMessage(t *testing.T) {
	call := message(1, user, env, active(true))
	state := fold(t, start(10))
	say(t, state, nil, call)
	say(t, state, proto.Int32(1), message(2, env, user))
	var got []bool
	for _, m := range state.Messages() {
		got = append(got, m.GetConversationActive())
	}
	if diff := cmp.Diff([]bool{true, false, false}, got); diff != "" {
		t.Errorf("conversation_active (-want +got):\n%s", diff)
	}
	if !call.GetConversationActive() {
		t.Error("the message that was handed in was changed, want a copy")
	}
	if speaker, over := state.Next(); over.GetReason() != finished {
		t.Errorf("Next: got %v, %v, want nobody, %v", speaker, over, finished)
	}
}

func TestNext(t *testing.T) {
	tests := []struct {
		name    string
		limit   int32
		last    []*worldv1.Message // the turn after one starting message
		speaker worldv1.Role
		over    busv1.EndReason
	}{
		{"nothing said", 3, nil, agent, open},
		{"agent to user", 3, []*worldv1.Message{message(1, agent, user)}, user, open},
		{"agent calls", 3, []*worldv1.Message{message(1, agent, env), message(2, agent, env)}, env, open},
		{"below the limit", 2, []*worldv1.Message{message(1, agent, user)}, user, open},
		{"limit reached", 1, []*worldv1.Message{message(1, agent, user)}, 0, limit},
		{"overshoot within one turn", 2, []*worldv1.Message{message(1, agent, env), message(2, agent, env), message(3, agent, env)}, 0, limit},
		{"ended at the limit", 1, []*worldv1.Message{message(1, agent, user, active(false))}, 0, finished},
		{"ended below the limit", 9, []*worldv1.Message{message(1, agent, user, active(false))}, 0, finished},
		{"only the last message counts", 9, []*worldv1.Message{message(1, agent, user, active(false)), message(2, agent, user, active(true))}, user, open},
		{"somebody whom nobody plays", 9, []*worldv1.Message{message(1, agent, system)}, system, open},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			state := fold(t, start(test.limit))
			if test.last != nil {
				say(t, state, nil, test.last...)
			}
			if speaker, over := state.Next(); speaker != test.speaker || over.GetReason() != test.over {
				t.Errorf("Next: got %v, %v, want %v, %v", speaker, over, test.speaker, test.over)
			}
		})
	}
}

// The limit counts messages beyond the starting ones, of which there may be more than the limit.
func TestLimitLeavesStartingMessagesOut(t *testing.T) {
	state := fold(t, start(1, message(0, system, user), message(1, system, agent), message(2, user, agent)))
	if speaker, over := state.Next(); speaker != agent || over.GetReason() != open {
		t.Errorf("Next: got %v, %v, want %v, %v", speaker, over, agent, open)
	}
	if got := state.Starting(); got != 3 {
		t.Errorf("Starting: got %d, want 3", got)
	}
}

func TestCallsAreTheTrailingOnesOfOneSender(t *testing.T) {
	tests := []struct {
		name     string
		starting []*worldv1.Message
		want     []int32
	}{
		{"none", []*worldv1.Message{message(0, agent, env), message(1, agent, user)}, nil},
		{"one", []*worldv1.Message{message(0, user, agent), message(1, agent, env)}, []int32{1}},
		{"a batch", []*worldv1.Message{message(0, user, agent), message(1, agent, env), message(2, agent, env)}, []int32{1, 2}},
		{"another sender before", []*worldv1.Message{message(0, user, env), message(1, agent, env), message(2, agent, env)}, []int32{1, 2}},
		{"an answer between", []*worldv1.Message{message(0, agent, env), message(1, env, agent), message(2, agent, env)}, []int32{2}},
		{"all messages", []*worldv1.Message{message(0, agent, env), message(1, agent, env)}, []int32{0, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, indices(fold(t, start(9, test.starting...)).Calls())); diff != "" {
				t.Errorf("Calls (-want +got):\n%s", diff)
			}
		})
	}
}

func indices(messages []*worldv1.Message) []int32 {
	var got []int32
	for _, m := range messages {
		got = append(got, m.GetIndex())
	}
	return got
}

func TestView(t *testing.T) {
	state := fold(t, start(9,
		message(0, system, agent),
		message(1, system, user),
		message(2, user, agent, visible(user)), // a demonstration
		message(3, agent, user, visible(user)),
		message(4, user, agent),
		message(5, agent, env),
		message(6, env, agent, visible(agent, user)),
		message(7, agent, env, visible(agent, env)),
		&worldv1.Message{Index: 8, Sender: env, Recipient: agent, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{}}},
		&worldv1.Message{Index: 9, Sender: env, Recipient: agent, Body: &worldv1.Message_Text{Text: "an event"}},
	))
	const texts, calls, results = worldv1.ShownToolUse_SHOWN_TOOL_USE_UNSPECIFIED, worldv1.ShownToolUse_SHOWN_TOOL_USE_CALLS, worldv1.ShownToolUse_SHOWN_TOOL_USE_RESULTS
	for shown, ofUser := range map[worldv1.ShownToolUse][]int32{texts: {1, 2, 3, 4, 6}, calls: {1, 2, 3, 4, 5, 6, 7}, results: {1, 2, 3, 4, 5, 6, 7, 8}} {
		for role, want := range map[worldv1.Role][]int32{
			user: ofUser, agent: {0, 4, 5, 6, 7, 8, 9}, env: {5, 7, 8, 9}, system: {0, 1},
		} {
			if diff := cmp.Diff(want, indices(state.View(role, shown))); diff != "" {
				t.Errorf("View(%v, %v) (-want +got):\n%s", role, shown, diff)
			}
		}
	}
}

func TestFoldCounts(t *testing.T) {
	state := fold(t, start(9))
	say(t, state, nil, message(1, agent, env), message(2, agent, env))
	say(t, state, nil, message(3, env, agent), message(4, env, agent))
	if err := state.Apply(&busv1.LogEntry{Claim: &busv1.Claim{Attempt: 1}}); err != nil {
		t.Fatal(err)
	}
	say(t, state, nil, message(5, agent, user))
	if got := state.TurnsOf(agent); got != 2 {
		t.Errorf("Turns of the agent: got %d, want 2", got)
	}
	if got := state.TurnsOf(user); got != 0 {
		t.Errorf("Turns of the user: got %d, want 0: starting messages do not count", got)
	}
	if got := state.Claims(); got != 2 {
		t.Errorf("Claims: got %d, want 2", got)
	}
	if got := state.Rollout().GetId(); got != "s.0" {
		t.Errorf("Rollout: got %q, want s.0", got)
	}
	if state.End() != nil {
		t.Errorf("End: got %v, want none", state.End())
	}
	end := &busv1.End{Reason: finished}
	if state.Finish(end); state.End() != end {
		t.Errorf("End: got %v, want %v", state.End(), end)
	}
}

// TestConfidence keeps the agent's last confidence, also when later turns have none.
func TestConfidence(t *testing.T) {
	stated := func(confidence *float64, messages ...*worldv1.Message) *busv1.LogEntry {
		return &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: messages, Confidence: confidence}}}
	}
	state := fold(t, start(9))
	if got := state.Confidence(); got != nil {
		t.Errorf("Confidence: got %v, want none", *got)
	}
	state = fold(t, start(9), stated(proto.Float64(0.2), message(1, agent, user)), stated(proto.Float64(0.9), message(2, user, agent)),
		stated(proto.Float64(0.4), message(3, agent, user)), stated(nil, message(4, user, agent)), stated(nil, message(5, agent, user)))
	if got := state.Confidence(); got == nil || *got != 0.4 {
		t.Errorf("Confidence: got %v, want 0.4", got)
	}
}

// TestTurnsInOneEntry folds calls and their answers in one entry, and each in an entry of its own:
// the state is the same.
func TestTurnsInOneEntry(t *testing.T) {
	calls := &busv1.Turn{Messages: []*worldv1.Message{message(1, agent, env), message(2, agent, env)}}
	answers := &busv1.Turn{
		Messages: []*worldv1.Message{message(3, env, agent), message(4, env, agent)}, EndedAtIndex: proto.Int32(2),
		Versions: []*worldv1.TableVersion{{Name: world.Setting, Index: 3}},
	}
	apart := fold(t, start(9), &busv1.LogEntry{Turns: []*busv1.Turn{calls}}, &busv1.LogEntry{Turns: []*busv1.Turn{answers}})
	joined := fold(t, start(9), &busv1.LogEntry{Turns: []*busv1.Turn{calls, answers}})
	if diff := cmp.Diff(apart.Messages(), joined.Messages(), protocmp.Transform()); diff != "" {
		t.Errorf("messages (-apart +joined):\n%s", diff)
	}
	if diff := cmp.Diff(apart.Executions(), joined.Executions(), protocmp.Transform()); diff != "" || apart.TurnsOf(env) != joined.TurnsOf(env) || apart.TurnsOf(agent) != joined.TurnsOf(agent) {
		t.Errorf("executions or turns (-apart +joined):\n%s", diff)
	}
}

func TestBrokenLogs(t *testing.T) {
	turn := func(deactivated *int32, messages ...*worldv1.Message) *busv1.LogEntry {
		return &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: messages, EndedAtIndex: deactivated}}}
	}
	end := &busv1.LogEntry{End: &busv1.End{Reason: finished}}
	tests := []struct {
		name    string
		entries []*busv1.LogEntry
	}{
		{"no start", []*busv1.LogEntry{turn(nil, message(0, user, agent))}},
		{"empty entry first", []*busv1.LogEntry{{}}},
		{"a start without messages", []*busv1.LogEntry{{Start: &busv1.Start{Rollout: &busv1.Rollout{}}}}},
		{"second start", []*busv1.LogEntry{start(9), start(9)}},
		{"empty turn", []*busv1.LogEntry{start(9), turn(nil)}},
		{"gap", []*busv1.LogEntry{start(9), turn(nil, message(2, agent, user))}},
		{"index again", []*busv1.LogEntry{start(9), turn(nil, message(0, agent, user))}},
		{"gap inside a turn", []*busv1.LogEntry{start(9), turn(nil, message(1, agent, env), message(3, agent, env))}},
		{"a message that is not there ended it", []*busv1.LogEntry{start(9), turn(proto.Int32(1), message(1, agent, user))}},
		{"a negative message ended it", []*busv1.LogEntry{start(9), turn(proto.Int32(-1), message(1, agent, user))}},
		{"gap before answers", []*busv1.LogEntry{start(9), {Turns: slices.Concat(turn(nil, message(1, agent, env)).GetTurns(), turn(nil, message(3, env, agent)).GetTurns())}}},
		{"turn after the end", []*busv1.LogEntry{start(9), end, turn(nil, message(1, agent, user))}},
		{"claim after the end", []*busv1.LogEntry{start(9), end, {Claim: &busv1.Claim{}}}},
		{"second end", []*busv1.LogEntry{start(9), end, end}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if state, err := rollout.Fold(test.entries); !errors.Is(err, rollout.ErrLog) || state != nil {
				t.Errorf("Fold: got %v, %v, want nil, %v", state, err, rollout.ErrLog)
			}
		})
	}
	state, err := rollout.Fold(nil)
	if err != nil || state.Rollout() != nil || len(state.Messages()) != 0 {
		t.Errorf("Fold of nothing: got %v, %v, want an empty state and nil", state, err)
	}
}

// An entry that is refused leaves the state as it was: the worker still ends the rollout with it.
func TestRefusedTurnChangesNothing(t *testing.T) {
	state := fold(t, start(9))
	bad := &busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(7, agent, user)}, EndedAtIndex: proto.Int32(0)}}}
	if err := state.Apply(bad); !errors.Is(err, rollout.ErrLog) {
		t.Fatalf("Apply: got %v, want %v", err, rollout.ErrLog)
	}
	if got := indices(state.Messages()); len(got) != 1 || !state.Messages()[0].GetConversationActive() {
		t.Errorf("messages after a refused turn: got %v, want the one starting message, active", state.Messages())
	}
	if err := state.Apply(&busv1.LogEntry{End: &busv1.End{Reason: finished}}); err != nil {
		t.Errorf("Apply of an end: got %v, want nil", err)
	}
}

// TestUsage lists what turns cost, that of the turn which ended the rollout without a message last,
// until the rollout is played on.
func TestUsage(t *testing.T) {
	cost := func(n int64) *agentgwv1.Usage { return &agentgwv1.Usage{InputTokens: n} }
	state := fold(t,
		start(10),
		&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(1, agent, env), message(2, agent, env)}, Usage: cost(5)}}},
		&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(3, env, agent)}}}},
		&busv1.LogEntry{End: &busv1.End{Usage: &busv1.TurnUsage{Role: agent, Index: 4, Usage: cost(6)}}},
	)
	want := []*busv1.TurnUsage{{Role: agent, Index: 1, Usage: cost(5)}, {Role: agent, Index: 4, Usage: cost(6)}}
	if diff := cmp.Diff(want, state.Usage(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	played := &busv1.LogEntry{Claim: &busv1.Claim{Round: 1}, Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(4, agent, user)}, Usage: cost(7)}}}
	if err := state.Apply(played); err != nil {
		t.Fatal(err)
	}
	want[1] = &busv1.TurnUsage{Role: agent, Index: 4, Usage: cost(7)}
	if diff := cmp.Diff(want, state.Usage(), protocmp.Transform()); diff != "" {
		t.Errorf("usage after it was played on (-want +got):\n%s", diff)
	}
}

// TestAnswered lists who answered turns, that of the turn which ended the rollout without a message
// last, until the rollout is played on.
func TestAnswered(t *testing.T) {
	by := func(id string) *agentgwv1.Instance { return &agentgwv1.Instance{Id: id} }
	state := fold(t,
		start(10),
		&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(1, agent, env), message(2, agent, env)}, AnsweredBy: by("a")}}},
		&busv1.LogEntry{Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(3, env, agent)}}}},
		&busv1.LogEntry{End: &busv1.End{Answered: &busv1.AnsweredTurn{Role: agent, Index: 4, Instance: by("b")}}},
	)
	want := []*busv1.AnsweredTurn{{Role: agent, Index: 1, Instance: by("a")}, {Role: agent, Index: 4, Instance: by("b")}}
	if diff := cmp.Diff(want, state.Answered(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	played := &busv1.LogEntry{Claim: &busv1.Claim{Round: 1}, Turns: []*busv1.Turn{{Messages: []*worldv1.Message{message(4, agent, user)}, AnsweredBy: by("c")}}}
	if err := state.Apply(played); err != nil {
		t.Fatal(err)
	}
	want[1].Instance = by("c")
	if diff := cmp.Diff(want, state.Answered(), protocmp.Transform()); diff != "" {
		t.Errorf("after it was played on (-want +got):\n%s", diff)
	}
}

// TestOpenedAgain opens a log again that has ended. Only a claim of a later round does that.
func TestOpenedAgain(t *testing.T) {
	versions := []*worldv1.TableVersion{{Name: world.Contact}}
	failed := &busv1.End{Reason: busv1.EndReason_END_REASON_INFRASTRUCTURE}
	entries := []*busv1.LogEntry{start(10), {End: failed}, {Claim: &busv1.Claim{Round: 2, Versions: versions}}}
	state := fold(t, entries...)
	if state.End() != nil || state.Round() != 2 || state.Claims() != 2 || len(state.StartingVersions()) != 1 {
		t.Errorf("opened again: got end %v, round %d, %d claims, %d versions, want no end, round 2, 2 claims, 1 version",
			state.End(), state.Round(), state.Claims(), len(state.StartingVersions()))
	}
	if speaker, over := state.Next(); speaker != agent || over.GetReason() != open {
		t.Errorf("next: got %v and %v, want %v", speaker, over, agent)
	}
	say(t, state, nil, message(1, agent, user))
	for name, entry := range map[string]*busv1.LogEntry{
		"a turn": {Turns: []*busv1.Turn{{}}}, "a claim of the same round": {Claim: &busv1.Claim{Round: 2}}, "an end": {End: failed},
	} {
		_, err := rollout.Fold(append(entries, &busv1.LogEntry{End: failed}, entry))
		if !errors.Is(err, rollout.ErrLog) {
			t.Errorf("%s after the end: got %v, want %v", name, err, rollout.ErrLog)
		}
	}
}
