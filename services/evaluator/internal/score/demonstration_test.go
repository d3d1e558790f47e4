package score

import "testing"

// TestDemonstrationsDoNotCount checks that messages of a demonstration, including calls and their
// answers, are not turns, do not start the conversation and match no node.
func TestDemonstrationsDoNotCount(t *testing.T) {
	const trace = `{"tool_name": "buy", "arguments": {"what": "milk"}, "result": null}`
	shown := func(from, to Role, text string) Message {
		return Message{Sender: from, Recipient: to, Content: new(text), VisibleTo: []Role{User}}
	}
	answer := shown(ExecutionEnvironment, User, "None")
	answer.Traces = toolTraces(trace) // traces of demonstrations are ignored
	trajectory := &Trajectory{Messages: append([]Message{
		shown(User, Agent, "Is there milk?"),
		shown(Agent, User, "I have bought milk"),
		shown(User, ExecutionEnvironment, "buy()"),
		answer,
	}, chat("hello", "no").Messages...)}
	want := []Constraint{say("I have bought milk"), callConstraint(trace), say("Is there milk?")}
	for i, constraint := range want {
		graph := compile(t, constraint)
		got := Score(trajectory, graph, nil)
		if got.TurnCount != 2 {
			t.Errorf("constraint %d: got %d turns, want 2", i, got.TurnCount)
		}
		if match := got.Milestones.Matches[0]; got.Similarity != 0 || match.Matched && match.Index < 4 {
			t.Errorf("constraint %d: got %+v, want no similarity and no match before message 4", i, got)
		}
		if got := Score(trajectory, compile(t, say("hello")), graph); got.Minefields.Similarity != 0 || got.Similarity != 1 {
			t.Errorf("constraint %d as a minefield: got %+v, want 0 of it and a score of 1", i, got)
		}
	}
}
