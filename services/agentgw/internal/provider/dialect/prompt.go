package dialect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
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

// What stands where a tool's description leaves something out.
const (
	noType        = "object"
	noDescription = "(no description)"
)

// paragraph stands between texts that are joined.
const paragraph = "\n\n"

// Prompt is what a template is given.
type Prompt struct {
	// Tools are what the model may call.
	Tools []Tool
	// Turns are the conversation, oldest first.
	Turns []Turn
	// System is all system texts, with empty lines between them. They are turns too.
	System string
	// Question is the user's last text; empty if there is none.
	Question string
	// Person says that the model plays the person, so that the turns called user are the
	// assistant's and the other way round.
	Person bool
}

// ToolList returns all tools as OpenAI describes them.
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
	// Form is the tool as OpenAI describes it.
	Form python.Value
}

// Parameter is one parameter of a tool. Type and Description are never empty.
type Parameter struct {
	Name, Type, Description string
	Required                bool
}

// Turn is one message, or all calls that were made at once.
type Turn struct {
	// Kind is system, user, assistant, call or result.
	Kind string
	// Text of all kinds but calls.
	Text string
	// Calls of a turn of that kind.
	Calls []Call
	// Name of the tool that gave a result.
	Name string
	// Key is that of the call that a result answers.
	Key string
	// Value is a result: what its text says in JSON, or the text where it says nothing in JSON.
	Value python.Value
	// Last says that this is the user's last text.
	Last bool
}

// Call is one call of a turn.
type Call struct {
	Name      string
	Arguments python.Value
	// Key is nine digits that no other call of the conversation has.
	Key string

	id string
}

// newPrompt gathers what a template may ask for.
func newPrompt(q *provider.Query) *Prompt {
	p := &Prompt{Person: q.Flipped}
	for _, t := range q.Tools {
		p.Tools = append(p.Tools, newTool(t))
	}
	var system []string
	var open []Call // without a result so far
	last := -1
	for _, entry := range q.Transcript {
		switch entry.Kind {
		case conversation.System:
			system = append(system, entry.Text)
			p.Turns = append(p.Turns, Turn{Kind: kindSystem, Text: entry.Text})
		case conversation.User:
			p.Question, last = entry.Text, len(p.Turns)
			p.Turns = append(p.Turns, Turn{Kind: kindUser, Text: entry.Text})
		case conversation.Assistant:
			p.Turns = append(p.Turns, Turn{Kind: kindAssistant, Text: entry.Text})
		case conversation.ToolCall:
			made := Call{Name: entry.Name, Arguments: arguments(entry), Key: key(entry), id: entry.ID}
			open = append(open, made)
			if n := len(p.Turns); n == 0 || p.Turns[n-1].Kind != kindCall {
				p.Turns = append(p.Turns, Turn{Kind: kindCall})
			}
			turn := &p.Turns[len(p.Turns)-1]
			turn.Calls = append(turn.Calls, made)
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

// arguments returns what a model wrote, in values that JSON has.
func arguments(entry conversation.Entry) python.Value {
	if _, text := entry.Arguments.AsStr(); text {
		return entry.Arguments
	}
	value, err := python.ParseJSON(entry.Written())
	if err != nil {
		return (&python.Dict{}).Value()
	}
	return value
}

// result reads a text that is JSON.
func result(text string) python.Value {
	value, err := python.ParseJSON(text)
	if err != nil {
		return python.Str(text)
	}
	return value
}

// newTool reads a tool's description. Parameters that are no JSON object, which the tool host never
// sends, count as none.
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

// text returns a text in a dict, or what stands for it.
func text(v python.Value, key, otherwise string) string {
	dict, _ := v.AsDict()
	found, _ := dict.Get(key)
	if s, ok := found.AsStr(); ok {
		return s
	}
	return otherwise
}
