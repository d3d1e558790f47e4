package score

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/world"
)

// TestExtractorExpression scores with extractors that are expressions.
func TestExtractorExpression(t *testing.T) {
	trajectory := chat("who is it", "")
	environment(trajectory, `{"tool_name": "search", "arguments": {"name": "A", "most": 2}, "result": [{"name": "Ann", "age": 41}, {"name": "Al", "age": 7.5}]}`)
	trajectory.Messages = append(trajectory.Messages, Message{Sender: Agent, Recipient: User, Content: new("It is Al, 7.5, of 2.")})
	searched := callConstraint(`{"tool_name": "search", "arguments": {}}`)
	for _, test := range []struct {
		name, expression, content string
		want                      float64
	}{
		{"one of several", `[{"name": c["name"], "age": c["age"]} for c in result]`, "It is {name}, {age}, of 2.", 1},
		{"filtered", `[{"name": c["name"]} for c in result if c["age"] > 40]`, "It is {name}, 7.5, of 2.", 0.92},
		{"arguments", `[{"most": arguments["most"]}]`, "It is Al, 7.5, of {most}.", 1},
		{"another tool", `[{"name": "Al"}] if tool_name == "find" else []`, "It is {name}, 7.5, of 2.", 0},
		{"missing", `[{"name": result["name"]}]`, "It is {name}, 7.5, of 2.", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			told := Constraint{
				Table: world.Sandbox, Measure: ToolTraceDependant, Reference: reference(0), FillTo: "content", ExtractorExpression: test.expression,
				Target: [][]Cell{targetRow(Cell{"sender", String("AGENT")}, Cell{"content", String(test.content)})},
			}
			got := Score(trajectory, compile(t, searched, told), nil).Milestones
			last := got.Matches[1]
			if diff := last.Similarity - test.want; diff > 0.01 || diff < -0.01 {
				t.Errorf("similarity: got %v at %d, want about %v", last.Similarity, last.Index, test.want)
			}
		})
	}
}

// TestExtractorFillsCall completes a target trace with values of every kind.
func TestExtractorFillsCall(t *testing.T) {
	trajectory := chat("do", "")
	environment(trajectory, `{"tool_name": "find", "arguments": {}, "result": {"id": "x", "at": 5, "on": true, "far": 0.25}}`)
	environment(trajectory, `{"tool_name": "use", "arguments": {"id": "x", "at": 5.0, "on": true, "far": 0.25, "more": null}, "result": null}`)
	environment(trajectory, `{"tool_name": "use", "arguments": {"id": "x", "at": 6, "on": true, "far": 0.25}, "result": null}`)
	used := Constraint{
		Table: world.Sandbox, Measure: ToolTraceDependant, Reference: reference(0), FillTo: "tool_trace",
		ExtractorExpression: `[{"id": result["id"], "at": result["at"], "on": result["on"], "far": result["far"]}]`,
		Target:              [][]Cell{targetRow(Cell{"tool_trace", String(`{"tool_name": "use", "arguments": {}}`)})},
	}
	got := Score(trajectory, compile(t, callConstraint(`{"tool_name": "find", "arguments": {}}`), used), nil).Milestones
	if match := got.Matches[1]; match.Index != 3 || match.Similarity != 1 {
		t.Errorf("match: got %+v, want index 3 with similarity 1", match)
	}
}

// TestExplainExtraction checks the explanation of a failed extraction.
func TestExplainExtraction(t *testing.T) {
	trajectory := chat("hello", "It is late.")
	environment(trajectory, `{"tool_name": "weather", "arguments": {}, "result": null}`)
	trajectory.Messages = append(trajectory.Messages, Message{Sender: Agent, Recipient: User, Content: new("It is late.")})
	told := Constraint{
		Table: world.Sandbox, Measure: ToolTraceDependant, Reference: reference(0), FillTo: "content", Extractor: "current_temperature_extractor",
		Target: [][]Cell{targetRow(Cell{"content", String("It is {amount}.")})},
	}
	got := Explain(trajectory, compile(t, callConstraint(`{"tool_name": "weather", "arguments": {}}`), told), nil).Milestones[1].Match.Constraints[0].Problem
	if want := "no call at message 2 gives amount; weather: current_temperature_extractor(tool_name='weather', arguments={}, result=None): TypeError: 'NoneType' object is not subscriptable"; got != want {
		t.Errorf("problem: got %q, want %q", got, want)
	}
}
