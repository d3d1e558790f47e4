package dialect

import (
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// sample is a query that every template must render.
type sample struct {
	// name describes it for people.
	name  string
	query *provider.Query
}

// samples returns all kinds of conversations with all numbers of tools that templates can
// distinguish.
func samples() []sample {
	bare := &worldv1.Tool{Name: "b", ParametersJson: `{"type": "object", "properties": {}}`}
	tool := &worldv1.Tool{Name: "a", Description: "d", ParametersJson: `{"type": "object", "properties": {"x": {"type": "string"}, "y": {}}, "required": ["x"]}`}
	toolboxes := []struct {
		name  string
		tools []*worldv1.Tool
	}{
		{"no tools", nil},
		{"one tool", []*worldv1.Tool{tool}},
		{"one tool without parameters", []*worldv1.Tool{bare}},
		{"two tools", []*worldv1.Tool{tool, bare}},
	}
	var list []sample
	for _, toolbox := range toolboxes {
		for _, person := range []bool{false, true} {
			speaker := "an assistant"
			if person {
				speaker = "a person"
			}
			for _, talk := range sampleTranscripts() {
				list = append(list, sample{
					name:  toolbox.name + ", " + speaker + " and " + talk.name,
					query: &provider.Query{Tools: toolbox.tools, PlaysUser: person, Transcript: talk.entries},
				})
			}
		}
	}
	return list
}

// sampleTranscript is a conversation.
type sampleTranscript struct {
	name    string
	entries []conversation.Entry
}

func sampleTranscripts() []sampleTranscript {
	system := conversation.Entry{Kind: conversation.System, Text: "s"}
	user := conversation.Entry{Kind: conversation.User, Text: "u"}
	assistant := conversation.Entry{Kind: conversation.Assistant, Text: "a"}
	calling := func(id string, arguments python.Value) conversation.Entry {
		return conversation.Entry{Kind: conversation.ToolCall, ID: id, Name: "a", Arguments: arguments}
	}
	result := func(id, text string) conversation.Entry {
		return conversation.Entry{Kind: conversation.Result, ID: id, Name: "a", Text: text}
	}
	object := python.DictOf(python.Item{Key: "x", Value: python.Str("v")})
	empty := (&python.Dict{}).Value()
	return []sampleTranscript{
		{"no messages", nil},
		{"instructions only", []conversation.Entry{system}},
		{"a conversation that begins with the user", []conversation.Entry{user}},
		{"a conversation that begins with the assistant", []conversation.Entry{assistant, user, user}},
		{"a conversation with one call", []conversation.Entry{system, user, calling("1", object), result("1", "[1]")}},
		{"a conversation with two calls at once", []conversation.Entry{
			system, system, user, calling("1", object), calling("2", python.Str("{")), result("1", "None"), result("2", `{"k": 1}`), assistant, user,
		}},
		{"a conversation that begins with a call", []conversation.Entry{calling("1", empty), result("1", "")}},
		{"a conversation that begins with a result", []conversation.Entry{result("1", "null"), user}},
	}
}
