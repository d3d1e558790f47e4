package rollout_test

import (
	"testing"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func called(id, tool, arguments string) func(*worldv1.Message) {
	return func(m *worldv1.Message) {
		m.Body = &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: &id, Tool: tool, ArgumentsJson: arguments, Name: &id}}
	}
}

func answered(id, text string) func(*worldv1.Message) {
	return func(m *worldv1.Message) {
		m.Body = &worldv1.Message_Result{Result: &worldv1.ToolResult{Id: &id, Text: &text}}
	}
}

func said(text string) func(*worldv1.Message) {
	return func(m *worldv1.Message) { m.Body = &worldv1.Message_Text{Text: text} }
}

// exchange is a turn of the agent and what it gets for it.
type exchange struct {
	turn, answer func(*worldv1.Message)
	to           worldv1.Role
}

// TestRepeatedTurn plays turns of an agent and its answers until the rollout ends.
func TestRepeatedTurn(t *testing.T) {
	const never = 0
	id := func(n int) string { return string(rune('a' + n)) }
	for name, test := range map[string]struct {
		limit int32
		turn  func(n int) exchange
		ends  int // turns before the end
	}{
		"text": {3, func(int) exchange { return exchange{said("Done."), said("No."), user} }, 3},
		"text, other replies": {3, func(n int) exchange {
			return exchange{said("Done."), said("No " + id(n)), user}
		}, 3},
		"other texts": {3, func(n int) exchange { return exchange{said(id(n)), said("No."), user} }, never},
		"alternating": {3, func(n int) exchange { return exchange{said(id(n % 2)), said("No."), user} }, never},
		"call, new ids": {4, func(n int) exchange {
			return exchange{called(id(n), "find", `{"x":1}`), answered(id(n), "[]"), env}
		}, 4},
		"call, other arguments": {4, func(n int) exchange {
			return exchange{called(id(n), "find", `{"x":"`+id(n)+`"}`), answered(id(n), "[]"), env}
		}, never},
		"call, other answers": {4, func(n int) exchange {
			return exchange{called(id(n), "time", "{}"), answered(id(n), id(n)), env}
		}, never},
		"call, the same answer from the third on": {4, func(n int) exchange {
			return exchange{called(id(n), "time", "{}"), answered(id(n), id(min(n, 2))), env}
		}, 6},
		"without a limit": {never, func(int) exchange { return exchange{said("Done."), said("No."), user} }, never},
	} {
		t.Run(name, func(t *testing.T) {
			opened := start(100)
			opened.Start.Rollout = &busv1.Rollout{Id: "s.0", RepeatLimit: test.limit}
			state, turns := fold(t, opened), 0
			for ; turns < 10; turns++ {
				if _, over := state.Next(); over != nil {
					if over.GetReason() != busv1.EndReason_END_REASON_REPEATED_TURN {
						t.Errorf("end: got %v, want a repeated turn", over)
					}
					break
				}
				at := int32(len(state.Messages()))
				next := test.turn(turns)
				say(t, state, nil, message(at, agent, next.to, next.turn))
				if speaker, over := state.Next(); speaker != next.to || over != nil {
					t.Fatalf("after turn %d: got %v, %v, want %v", turns, speaker, over, next.to)
				}
				say(t, state, nil, message(at+1, next.to, agent, next.answer))
			}
			if want := test.ends; turns != want && (want != never || turns != 10) {
				t.Errorf("turns before the end: got %d, want %d (0: no end)", turns, want)
			}
		})
	}
}
