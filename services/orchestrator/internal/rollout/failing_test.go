package rollout_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// failingTools is the setup of a scenario in which calls of the agent fail.
func failingTools() *setupv1.Setup {
	return &setupv1.Setup{Tools: &setupv1.ToolSelection{Augmentations: []setupv1.Augmentation{setupv1.Augmentation_AUGMENTATION_FAILING_TOOLS}}}
}

// seeded returns the state of a rollout that has just begun.
func seeded(t *testing.T, played *busv1.Rollout) *rollout.State {
	t.Helper()
	opened := start(1000)
	opened.Start.Rollout = played
	return fold(t, opened)
}

// batch adds a turn of calls and returns the positions of those that fail.
func batch(t *testing.T, state *rollout.State, sender worldv1.Role, calls ...func(*worldv1.Message)) []int32 {
	t.Helper()
	var messages []*worldv1.Message
	for i, call := range calls {
		messages = append(messages, message(int32(len(state.Messages())+i), sender, env, call))
	}
	say(t, state, nil, messages...)
	return state.Failing(failingTools())
}

// answer adds the answers to the trailing calls, as a tool host does.
func answer(t *testing.T, state *rollout.State, failing []int32) {
	t.Helper()
	var messages []*worldv1.Message
	calls := state.Calls()
	for i := range calls {
		messages = append(messages, message(int32(len(state.Messages())+i), env, calls[0].GetSender(), answered("id", "None")))
	}
	turn := state.Turn(messages, nil)
	turn.Failing = failing
	if err := state.Apply(&busv1.LogEntry{Turns: []*busv1.Turn{turn}}); err != nil {
		t.Fatal(err)
	}
}

func search(x int) func(*worldv1.Message) {
	return called(string(rune('a'+x%26)), "search", `{"x": `+string(rune('a'+x))+`}`)
}

// TestFailingShare checks that a fifth of different calls fails, and that neighbours among seeds
// and messages fail independently.
func TestFailingShare(t *testing.T) {
	const seeds, calls = 500, 40
	fails := make([][]bool, seeds)
	for seed := range seeds {
		state := seeded(t, &busv1.Rollout{Id: "s.0", Seed: int64(seed)})
		var sources []func(*worldv1.Message)
		for i := range calls {
			sources = append(sources, search(i))
		}
		fails[seed] = make([]bool, calls)
		for _, at := range batch(t, state, agent, sources...) {
			fails[seed][at] = true
		}
	}
	var one, besides, below float64
	for seed := range seeds - 1 {
		for i := range calls - 1 {
			if fails[seed][i] {
				one++
				if fails[seed][i+1] {
					besides++
				}
				if fails[seed+1][i] {
					below++
				}
			}
		}
	}
	if share := one / ((seeds - 1) * (calls - 1)); math.Abs(share-0.2) > 0.012 { // four standard errors
		t.Errorf("share of calls that fail: got %v, want 0.2", share)
	}
	for name, both := range map[string]float64{"the next call": besides, "the same call of the next seed": below} {
		if share := both / one; math.Abs(share-0.2) > 0.026 {
			t.Errorf("share of failures for which %s fails too: got %v, want 0.2", name, share)
		}
	}
}

// TestFailingOnce repeats calls, in one batch, in the next one, and after other calls: none fails
// twice in a row.
func TestFailingOnce(t *testing.T) {
	failures, again := 0, 0
	for seed := range int64(200) {
		state := seeded(t, &busv1.Rollout{Id: "s.0", Seed: seed})
		last := make(map[int]bool)
		for round, sources := range [][]int{{0, 0, 0}, {0}, {1, 2}, {2, 0, 1}, {3}, {3}, {0, 3, 0}} {
			var calls []func(*worldv1.Message)
			for _, source := range sources {
				calls = append(calls, search(source))
			}
			failing := batch(t, state, agent, calls...)
			for i, source := range sources {
				fails := slices.Contains(failing, int32(i))
				if fails && last[source] {
					t.Fatalf("seed %d, round %d: call %d fails twice in a row", seed, round, source)
				}
				if failed, made := last[source]; made && !failed && fails {
					again++
				}
				if last[source] = fails; fails {
					failures++
				}
			}
			if repeated := state.Failing(failingTools()); !slices.Equal(repeated, failing) {
				t.Fatalf("seed %d: got %v, and %v for the same log", seed, failing, repeated)
			}
			answer(t, state, failing)
		}
	}
	if failures < 300 || again < 100 {
		t.Errorf("got %d failures, %d of calls that passed before, want many", failures, again)
	}
}

// TestFailingOfAgentOnly checks that a user's calls, and an agent's calls of other scenarios, never
// fail.
func TestFailingOfAgentOnly(t *testing.T) {
	var calls []func(*worldv1.Message)
	for i := range 40 {
		calls = append(calls, search(i))
	}
	state := seeded(t, &busv1.Rollout{Id: "s.0", Seed: 5})
	if got := batch(t, state, user, calls...); got != nil {
		t.Errorf("calls of the user: got %v, want none", got)
	}
	state = seeded(t, &busv1.Rollout{Id: "s.0", Seed: 5})
	if got := state.Failing(failingTools()); got != nil {
		t.Errorf("without calls: got %v, want none", got)
	}
	failing := batch(t, state, agent, calls...)
	if got := state.Failing(&setupv1.Setup{}); got != nil || len(failing) == 0 {
		t.Errorf("plain variant: got %v, and %v with failing tools, want none and some", got, failing)
	}
	for name, other := range map[string]*busv1.Rollout{
		"fork":                   {Id: "f.1", Seed: 6, Fork: &busv1.Fork{}, FailingSeed: 5},
		"another id and players": {Id: "other.7", Seed: 5, Trial: 3},
	} {
		state := seeded(t, other)
		if got := batch(t, state, agent, calls...); !slices.Equal(got, failing) {
			t.Errorf("%s: got %v, want %v", name, got, failing)
		}
	}
}

// TestScriptedRetry checks that a scripted agent repeats the calls of its last turn that failed,
// also after an event, and then continues its script.
func TestScriptedRetry(t *testing.T) {
	call := func(id, tool string) *worldv1.ToolCall { return &worldv1.ToolCall{Id: proto.String(id), Tool: tool} }
	script := []*worldv1.ScriptTurn{{Calls: []*worldv1.ToolCall{call("call_1", "a"), call("call_2", "b"), {Tool: "c"}}}, {Say: "Done."}}
	state := seeded(t, &busv1.Rollout{Id: "s.0"})
	next := func(want *worldv1.ScriptTurn) {
		t.Helper()
		if diff := cmp.Diff(want, state.Scripted(agent, script), protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	next(script[0])
	batch(t, state, agent, called("call_1", "a", "{}"), called("call_2", "b", "{}"), called("x", "c", "{}"))
	answer(t, state, []int32{1, 2})
	want := &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{call("call_2_retry", "b"), {Tool: "c"}}}
	next(want)
	say(t, state, nil, message(int32(len(state.Messages())), env, agent)) // an event
	next(want)
	if got := state.Scripted(user, script); got != script[0] {
		t.Errorf("user: got %v, want its first turn", got)
	}
	batch(t, state, agent, called("call_2_retry", "b", "{}"), called("x", "c", "{}"))
	answer(t, state, nil)
	next(script[1])
	say(t, state, nil, message(int32(len(state.Messages())), agent, user))
	next(nil)
}
