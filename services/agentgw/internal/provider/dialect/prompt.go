package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// The kinds of turns.
const (
	kindSystem    = "system"
	kindUser      = "user"
	kindAssistant = "assistant"
	kindCall      = "call"
	kindResult    = "result"
)

// Defaults of a tool's description.
const (
	noType        = "object"
	noDescription = "(no description)"
)

// paragraph separates joined texts.
const paragraph = "\n\n"

// Prompt is the input of a template.
type Prompt struct {
	// Tools are what the model may call.
	Tools []Tool
	// Turns are the conversation, oldest first.
	Turns []Turn
	// System is all system texts, separated by empty lines. They are also in Turns.
	System string
	// Question is the user's last text with the events after it, empty if there is none.
	Question string
	// Person: the model plays the user, so turns of kind user are the assistant's and vice versa.
	Person bool
}

// ToolList returns all tools in OpenAI's form.
func (p *Prompt) ToolList() python.Value {
	forms := make([]python.Value, len(p.Tools))
	for i, tool := range p.Tools {
		forms[i] = tool.Form
	}
	return python.List(forms...)
}

// Tool is one tool.
type Tool struct {
	Name, Description string
	Parameters        []Parameter
	// Form is the tool in OpenAI's form.
	Form python.Value
}

// Parameter is one parameter of a tool. Type and Description are never empty.
type Parameter struct {
	Name, Type, Description string
	Required                bool
}

// Turn is one message, or all calls of one turn.
type Turn struct {
	// Kind is system, user, assistant, call or result.
	Kind string
	// Text is the text of all kinds but call.
	Text string
	// Calls are the calls of kind call.
	Calls []Call
	// Name is the tool of a result.
	Name string
	// Key is the key of the call that a result answers.
	Key string
	// Value is a result: the parsed JSON of its text, or the text if it is no JSON.
	Value python.Value
	// Last: this is the user's last text.
	Last bool
}

// Call is one call of a turn.
type Call struct {
	Name      string
	Arguments python.Value
	// Key is nine digits that are unique in the conversation.
	Key string

	id string
}

// newPrompt returns the template input for a query.
func newPrompt(q *provider.Query) *Prompt {
	p := &Prompt{Person: q.PlaysUser}
	for _, t := range q.Tools {
		p.Tools = append(p.Tools, newTool(t))
	}
	var system []string
	var open []Call // calls without a result
	last := -1
	for _, entry := range q.Transcript {
		switch entry.Kind {
		case conversation.System:
			system = append(system, entry.Text)
			p.Turns = append(p.Turns, Turn{Kind: kindSystem, Text: entry.Text})
		case conversation.User:
			if entry.Notification == "" {
				p.Question = ""
			}
			p.Question, last = join(p.Question, entry.Text), len(p.Turns)
			p.Turns = append(p.Turns, Turn{Kind: kindUser, Text: entry.Text})
		case conversation.Assistant:
			p.Turns = append(p.Turns, Turn{Kind: kindAssistant, Text: entry.Text})
		case conversation.ToolCall:
			call := Call{Name: entry.Name, Arguments: arguments(entry), Key: key(entry), id: entry.ID}
			open = append(open, call)
			if n := len(p.Turns); n == 0 || p.Turns[n-1].Kind != kindCall {
				p.Turns = append(p.Turns, Turn{Kind: kindCall})
			}
			turn := &p.Turns[len(p.Turns)-1]
			turn.Calls = append(turn.Calls, call)
		case conversation.Result:
			turn := Turn{Kind: kindResult, Text: entry.Text, Name: entry.Name, Key: key(entry), Value: result(entry.Text)}
			if i := slices.IndexFunc(open, func(c Call) bool { return c.id == entry.ID }); i >= 0 {
				turn.Key = open[i].Key
				open = slices.Delete(open, i, i+1)
			}
			p.Turns = append(p.Turns, turn)
		}
	}
	if last >= 0 {
		p.Turns[last].Last = true
	}
	p.System = strings.Join(system, paragraph)
	return p
}

func key(entry conversation.Entry) string { return fmt.Sprintf("%09d", entry.Index) }

// arguments returns a call's arguments as JSON values.
func arguments(entry conversation.Entry) python.Value {
	if _, text := entry.Arguments.AsStr(); text {
		return entry.Arguments
	}
	value, err := python.ParseJSON(entry.ArgumentsText())
	if err != nil {
		return (&python.Dict{}).Value()
	}
	return value
}

// result parses a JSON text. Other text stays text.
func result(text string) python.Value {
	value, err := python.ParseJSON(text)
	if err != nil {
		return python.Str(text)
	}
	return value
}

// newTool converts a tool. Parameters that are no JSON object, which the tool host never sends,
// count as none.
func newTool(t *worldv1.Tool) Tool {
	tool := Tool{Name: t.GetName(), Description: t.GetDescription()}
	parameters, err := python.ParseJSON(t.GetParametersJson())
	if err != nil {
		parameters = (&python.Dict{}).Value()
	}
	tool.Form = python.DictOf(
		python.Item{Key: "type", Value: python.Str("function")},
		python.Item{Key: "function", Value: python.DictOf(
			python.Item{Key: "name", Value: python.Str(tool.Name)},
			python.Item{Key: "description", Value: python.Str(tool.Description)},
			python.Item{Key: "parameters", Value: parameters},
		)},
	)
	required := items(parameters, "required")
	schema, _ := parameters.AsDict()
	properties, _ := schema.Get("properties")
	dict, _ := properties.AsDict()
	for _, item := range dict.Items() {
		tool.Parameters = append(tool.Parameters, Parameter{
			Name: item.Key, Type: text(item.Value, "type", noType), Description: text(item.Value, "description", noDescription),
			Required: slices.ContainsFunc(required, python.Str(item.Key).Equal),
		})
	}
	return tool
}

// items returns a list in a dict.
func items(v python.Value, key string) []python.Value {
	dict, _ := v.AsDict()
	found, _ := dict.Get(key)
	list, _ := found.AsList()
	return list
}

// text returns a text in a dict, or a default.
func text(v python.Value, key, otherwise string) string {
	dict, _ := v.AsDict()
	found, _ := dict.Get(key)
	if s, ok := found.AsStr(); ok {
		return s
	}
	return otherwise
}
