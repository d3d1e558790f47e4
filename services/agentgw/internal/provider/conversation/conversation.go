// Package conversation converts a role's view into the transcript that chat models get: system,
// user and assistant texts, calls and their results. It is pure: no I/O, no state.
package conversation

import (
	"math"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/syntax"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Kind is the kind of a transcript entry.
type Kind uint8

// The kinds of entries, from the model's point of view. Assistant is a text of the model itself.
const (
	System Kind = iota + 1
	User
	Assistant
	ToolCall
	Result
)

const (
	// noID names the variables of the source of a call without an id.
	noID = "None"
	// sourceName and sourceArgument present source that is no single call as a call of a tool that
	// takes source.
	sourceName     = "python"
	sourceArgument = "source"
)

// Entry is one message of a transcript.
type Entry struct {
	Kind Kind
	// Index is the index of the message.
	Index int32
	// Text is the text or the result.
	Text string
	// ID is the id of a call, or of the call that a result answers. A call without an id has the one
	// in its source.
	ID string
	// RowID is the id in the message's column, nil if that is null.
	RowID *string
	// Name is the tool's name as the role knows it.
	Name string
	// Arguments are a call's arguments: a dict, unless the model wrote something else.
	Arguments python.Value
	// Code is source that is no single call. The entry presents it as the call of a tool that takes
	// source.
	Code string
	// Value is the JSON text of the tool's return value. It is nil if the tool failed, or if code was
	// run.
	Value *string
	// Failed: the result is an error.
	Failed bool
	// Notification is the text of an event that interrupts the conversation. It stands as a text of
	// the user's, which says so, for chat models know no other message that answers no call.
	Notification string
}

// notified begins the text of a notification.
const notified = "[Notification on the phone] "

// AgentView returns the transcript of an agent's view. It omits messages that neither come
// from nor go to the agent.
func AgentView(view []*worldv1.Message) []Entry {
	const agent, environment = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	entries := make([]Entry, 0, len(view))
	for _, m := range view {
		switch {
		case m.GetSender() == agent && m.GetRecipient() == environment:
			entries = append(entries, call(m))
		case m.GetSender() == agent && m.GetRecipient() == worldv1.Role_ROLE_USER:
			entries = append(entries, text(Assistant, m))
		case m.GetRecipient() != agent:
		case isEvent(m):
			entries = append(entries, notification(m))
		case m.GetSender() == environment:
			entries = append(entries, result(m, entries))
		case m.GetSender() == worldv1.Role_ROLE_SYSTEM:
			entries = append(entries, text(System, m))
		case m.GetSender() == worldv1.Role_ROLE_USER:
			entries = append(entries, text(User, m))
		}
	}
	return entries
}

// UserView returns the transcript of the user simulator's view. The agent's texts become the user's
// and vice versa. It includes the simulator's answered calls and their results if the simulator has
// tools of its own, and leaves them out otherwise, as the original does. Calls of the agent that
// the view has, with their results, precede the agent's next text in the same entry, because many
// chat models want the two sides to alternate.
func UserView(view []*worldv1.Message, hasTools bool) []Entry {
	const system, user, agent, environment = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	entries := make([]Entry, 0, len(view))
	var open []Entry     // unanswered calls, such as the last one of a demonstration
	var toolUse []string // of the agent, since its last text
	for _, m := range view {
		from, to := m.GetSender(), m.GetRecipient()
		switch {
		case from == user && to == environment:
			open = append(open, call(m))
			continue
		case to == user && isEvent(m):
			entries = append(entries, notification(m))
		case from == environment && to == user:
			if hasTools {
				entries = append(entries, open...)
				entries = append(entries, result(m, entries))
			}
		case from == system && to == user:
			entries = append(entries, text(System, m))
		case from == agent && to == environment:
			toolUse = append(toolUse, callLine(m))
		case from == environment && to == agent && m.GetResult() != nil:
			toolUse = append(toolUse, resultLine(m.GetResult()))
		case from == agent && to == user:
			said := text(User, m)
			if len(toolUse) > 0 {
				said.Text = strings.Join(toolUse, "\n") + "\n\n" + said.Text
			}
			entries, toolUse = append(entries, said), nil
		case from == user && to == agent:
			entries = append(entries, text(Assistant, m))
		}
		open = nil
	}
	return entries
}

// callLine and resultLine are the agent's use of tools in a text for the user.
func callLine(m *worldv1.Message) string {
	if m.GetCall() == nil {
		return "[Tool call] " + messagetext.Content(m)
	}
	entry := call(m)
	return "[Tool call] " + entry.Name + " " + entry.ArgumentsText()
}

func resultLine(answer *worldv1.ToolResult) string {
	if answer.Exception != nil {
		return "[Tool error] " + answer.GetText()
	}
	return "[Tool result] " + answer.GetText()
}

func text(kind Kind, m *worldv1.Message) Entry {
	return Entry{Kind: kind, Index: m.GetIndex(), Text: m.GetText()}
}

// isEvent says whether a message is an event's: answers of the environment are results.
func isEvent(m *worldv1.Message) bool {
	_, isText := m.GetBody().(*worldv1.Message_Text)
	return isText && m.GetSender() == worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
}

func notification(m *worldv1.Message) Entry {
	return Entry{Kind: User, Index: m.GetIndex(), Text: notified + m.GetText(), Notification: m.GetText()}
}

// call returns the entry of a call, or of code as a call of the source tool.
func call(m *worldv1.Message) Entry {
	id, name := messagetext.Answering(m)
	entry := Entry{Kind: ToolCall, Index: m.GetIndex(), RowID: id}
	c := m.GetCall()
	if c == nil {
		entry.Name, entry.Code = sourceName, messagetext.Content(m)
		entry.Arguments = python.DictOf(python.Item{Key: sourceArgument, Value: python.Str(entry.Code)})
	} else {
		entry.Name, entry.ID, entry.Arguments = c.GetTool(), noID, arguments(c)
	}
	if id != nil {
		entry.ID = *id
	}
	if c != nil && c.Variable != nil {
		entry.ID = c.GetVariable()
	}
	if name != nil {
		entry.Name = *name
	}
	return entry
}

// arguments returns the arguments that the model meant. A text that contains an object counts as
// that object, and invalid JSON as a text.
func arguments(call *worldv1.ToolCall) python.Value {
	value, err := messagetext.Arguments(call)
	if err != nil {
		return python.Str(call.GetArgumentsText())
	}
	text, ok := value.AsStr()
	if !ok || !messagetext.IsObject(text) {
		return value
	}
	if object, err := python.ParseJSON(text); err == nil {
		return object
	}
	if object, err := syntax.ParseLiteral(strings.TrimSpace(text)); err == nil {
		return object
	}
	return value
}

// result returns the entry of an answer of the environment. A missing id or name is taken from the
// last call without an id.
func result(m *worldv1.Message, before []Entry) Entry {
	entry := Entry{Kind: Result, Index: m.GetIndex(), Text: messagetext.Content(m), ID: noID}
	answer := m.GetResult()
	if answer == nil {
		return entry
	}
	entry.RowID, entry.Name, entry.Failed = answer.Id, answer.GetName(), answer.Exception != nil
	if answer.Id != nil {
		entry.ID = answer.GetId()
	}
	for i := len(before) - 1; i >= 0; i-- {
		c := before[i]
		if c.Kind != ToolCall || (c.RowID == nil) != (answer.Id == nil) || c.RowID != nil && *c.RowID != answer.GetId() {
			continue
		}
		if answer.Id == nil || answer.Name == nil {
			entry.ID = c.ID
		}
		if answer.Name == nil {
			entry.Name = c.Name
		}
		if traces := answer.GetTraces(); c.Code == "" && !entry.Failed && len(traces) == 1 {
			entry.Value = &traces[0].ResultJson
		}
		break
	}
	return entry
}

// FromModel reports whether the entry comes from the model itself.
func (e Entry) FromModel() bool { return e.Kind == ToolCall || e.Kind == Assistant }

// CallID returns the id that a call and its result share in requests: RowID, or else ID.
func (e Entry) CallID() string {
	if e.RowID != nil {
		return *e.RowID
	}
	return e.ID
}

// ArgumentsObject returns a call's arguments as a standard JSON object, an empty one if the model
// wrote no object. Non-finite numbers become texts. ascii escapes other characters.
func (e Entry) ArgumentsObject(ascii bool) string {
	arguments := e.Arguments
	if _, ok := arguments.AsDict(); !ok {
		arguments = (&python.Dict{}).Value()
	}
	if _, found := python.NonFinite(arguments); found {
		arguments = finite(arguments)
	}
	if ascii {
		return python.ASCIIJSON(arguments)
	}
	return python.JSON(arguments)
}

// ArgumentsText returns a call's arguments as JSON text, as close as possible to what the model
// wrote. Text that was no JSON is returned verbatim.
func (e Entry) ArgumentsText() string {
	if text, ok := e.Arguments.AsStr(); ok {
		return text
	}
	if _, found := python.NonFinite(e.Arguments); found {
		return python.ASCIIJSON(finite(e.Arguments))
	}
	return python.ASCIIJSON(e.Arguments)
}

// finite replaces NaN and infinities by their names.
func finite(v python.Value) python.Value {
	switch v.Kind() {
	case python.KindFloat:
		if f, _ := v.AsFloat(); math.IsNaN(f) || math.IsInf(f, 0) {
			return python.Str(python.Repr(v))
		}
	case python.KindList:
		list, _ := v.AsList()
		items := make([]python.Value, len(list))
		for i, item := range list {
			items[i] = finite(item)
		}
		return python.List(items...)
	case python.KindDict:
		dict, _ := v.AsDict()
		clean := &python.Dict{}
		for _, item := range dict.Items() {
			clean.Set(item.Key, finite(item.Value))
		}
		return clean.Value()
	case python.KindNone, python.KindBool, python.KindInt, python.KindStr:
	}
	return v
}
