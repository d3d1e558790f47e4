package rollout_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/rollout"
)

// answers is what the tool host says at a time, with the next event due at another, 0 for none.
func answers(now, due float64, messages ...*worldv1.Message) *toolhostv1.ExecuteResponse {
	response := &toolhostv1.ExecuteResponse{Answers: messages, Now: &now}
	if due > 0 {
		response.NextDue = &due
	}
	return response
}

func result(m *worldv1.Message) { m.Body = &worldv1.Message_Result{Result: &worldv1.ToolResult{}} }

// eventSetup starts with one message of the user's at 1000 s.
func eventSetup(clock *setupv1.Clock, events ...*worldv1.Row) *setupv1.Setup {
	clock.Now = 1000
	return &setupv1.Setup{
		Messages: []*worldv1.Message{message(0, user, agent)}, MaxMessages: 9, Clock: clock,
		Schema: []*worldv1.TableSchema{world.EventTable()}, Tables: []*worldv1.Table{{Name: world.Event, Rows: events}},
	}
}

// step is what is said next, and what holds after it.
type step struct {
	turn      *busv1.Turn
	now       float64
	interrupt float64 // 0 for none
}

// TestTimes plays a log through: turns of both roles take time, events come before the turn in
// which they are due, at their own time, and the interrupted turn begins anew.
func TestTimes(t *testing.T) {
	setup := eventSetup(&setupv1.Clock{UserTurn: 600, AgentTurn: 5}, eventRow(1200))
	state := &rollout.State{}
	if err := state.Apply(&busv1.LogEntry{Start: rollout.Start(&busv1.Rollout{Id: "s.0"}, setup, nil)}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []step{
		{state.Turn([]*worldv1.Message{message(1, agent, env)}, nil), 1005, 0},
		{state.ExecutionTurn(answers(1005, 1200, message(2, env, agent, result))), 1005, 0},
		{state.Turn([]*worldv1.Message{message(3, agent, user)}, nil), 1010, 1200},
		{state.ExecutionTurn(answers(1200, 1203, message(4, env, agent))), 1200, 1203},
		{state.ExecutionTurn(answers(1203, 0, message(5, env, agent))), 1203, 0},
		{state.Turn([]*worldv1.Message{message(6, agent, user)}, nil), 1208, 0},
		{state.Turn([]*worldv1.Message{message(7, user, agent)}, nil), 1808, 0},
	} {
		if err := state.Apply(&busv1.LogEntry{Turns: []*busv1.Turn{want.turn}}); err != nil {
			t.Fatalf("turn %d: %v", i, err)
		}
		speaker, _ := state.Next()
		at, interrupted := state.Interruption(speaker)
		if *state.Now() != want.now || at != want.interrupt || interrupted != (want.interrupt > 0) {
			t.Errorf("turn %d: got time %v and an event at %v, want %v and %v", i, *state.Now(), at, want.now, want.interrupt)
		}
	}
	if n := len(state.Executions()); n != 3 || len(state.Executions()[1].GetCalls()) != 0 || state.Executions()[1].GetOutcome().GetNow() != 1200 {
		t.Errorf("executions: got %v, want one of calls and two without", state.Executions())
	}
}

func eventRow(due float64) *worldv1.Row {
	return &worldv1.Row{Cells: []*worldv1.Value{world.Text("e"), world.Number(due), world.Text(world.EventToAgent), world.Text("over")}}
}

// TestInterruption says when an event comes before a turn.
func TestInterruption(t *testing.T) {
	clock := func(step float64) *setupv1.Clock { return &setupv1.Clock{Step: step, UserTurn: 600} }
	for _, test := range []struct {
		name  string
		setup *setupv1.Setup
		turn  *busv1.Turn
		want  float64 // 0 for none
	}{
		{"none", eventSetup(clock(0)), nil, 0},
		{"past", eventSetup(clock(0), eventRow(1)), nil, 1000},
		{"now", eventSetup(clock(0), eventRow(1000)), nil, 1000},
		{"later than an agent that takes no time", eventSetup(clock(0), eventRow(1001)), nil, 0},
		{"the earliest of several", eventSetup(clock(0), eventRow(1000), eventRow(990), eventRow(995)), nil, 1000},
		{"at the end of the user's turn", eventSetup(clock(0), eventRow(1600)), &busv1.Turn{Messages: []*worldv1.Message{message(1, agent, user, active(true))}}, 1600},
		{"after the user's turn", eventSetup(clock(0), eventRow(1601)), &busv1.Turn{Messages: []*worldv1.Message{message(1, agent, user, active(true))}}, 0},
		{"within a step", eventSetup(clock(10), eventRow(1605)), &busv1.Turn{Messages: []*worldv1.Message{message(1, agent, user, active(true))}}, 1605},
		{"between calls and answers", eventSetup(clock(0), eventRow(1)), &busv1.Turn{Messages: []*worldv1.Message{message(1, agent, env, active(true))}}, 0},
		{"after the end", eventSetup(clock(0), eventRow(1)), &busv1.Turn{Messages: []*worldv1.Message{message(1, agent, user, active(false))}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			entries := []*busv1.LogEntry{{Start: rollout.Start(&busv1.Rollout{Id: "s.0"}, test.setup, nil)}}
			if test.turn != nil {
				entries = append(entries, &busv1.LogEntry{Turns: []*busv1.Turn{test.turn}})
			}
			state := fold(t, entries...)
			speaker, _ := state.Next()
			if at, ok := state.Interruption(speaker); at != test.want || ok != (test.want > 0) {
				t.Errorf("Interruption before %v: got %v and %t, want %v", speaker, at, ok, test.want)
			}
		})
	}
}

// TestStartWithoutEvents writes what it wrote before there were events and turns that take time.
func TestStartWithoutEvents(t *testing.T) {
	setup := &setupv1.Setup{Messages: []*worldv1.Message{message(0, user, agent)}, MaxMessages: 9, Clock: &setupv1.Clock{Now: 5, Step: 3}}
	start := rollout.Start(&busv1.Rollout{}, setup, nil)
	if start.Clock != nil || start.NextDue != nil {
		t.Errorf("start: got %v, want neither a clock nor an event", start)
	}
	if state := fold(t, &busv1.LogEntry{Start: start}); state.Now() != nil {
		t.Errorf("Now: got %v, want nil", *state.Now())
	}
	own := proto.CloneOf(setup)
	own.Schema = []*worldv1.TableSchema{{Name: world.Event, Columns: []*worldv1.Column{{Name: "event_id", Type: worldv1.CellType_CELL_TYPE_TEXT, Measure: world.DefaultMeasure}}}}
	if start := rollout.Start(&busv1.Rollout{}, own, nil); start.Clock != nil {
		t.Errorf("a table event of a pack's own: got %v, want no clock", start)
	}
}
