// Package conversation reads a role's view back into the transcript that chat models are shown:
// system, user and assistant texts, calls and their results. It is pure: no I/O, no state.
package conversation

import (
	"math"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/internal/python/syntax"
	"github.com/toolsandbox/toolsandbox/internal/sandbox"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Kind is what an entry of a transcript is.
type Kind uint8

// The kinds of entries, from the model's point of view: Assistant is what the model itself said.
const (
	System Kind = iota + 1
	User
	Assistant
	ToolCall
	Result
)

const (
	// noID is what the source's variables are named after where a call has no id.
	noID = "None"
	// sourceName and sourceArgument show source that is no single call as the call of a tool that
	// takes source.
	sourceName     = "python"
	sourceArgument = "source"
)

// Entry is one message of a transcript.
type Entry struct {
	Kind Kind
	// Index is the index of the message.
	Index int32
	// Text is a text or a result.
	Text string
	// ID is that of a call or of the call that a result answers. It is never empty by chance: a
	// call without an id has the one in its source.
	ID string
	// RowID is the id in the message's own column, nil if that is null.
	RowID *string
	// Name is the tool's name as the role knows it.
	Name string
	// Arguments of a call; a dict unless the model wrote something else.
	Arguments python.Value
	// Code is source that is no single call. It stands as the call of a tool that takes source.
	Code string
	// Value is what the tool of a result returned, as JSON text; nil if it failed or code was run.
	Value *string
	// Failed says that the result is an error.
	Failed bool
}

// Agent returns the transcript of an agent's view. Messages that neither come from nor go to the
// agent are left out.
func Agent(view []*worldv1.Message) []Entry {
	const agent, environment = worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	entries := make([]Entry, 0, len(view))
	for _, m := range view {
		switch {
		case m.GetSender() == agent && m.GetRecipient() == environment:
			entries = append(entries, call(m))
		case m.GetSender() == agent && m.GetRecipient() == worldv1.Role_ROLE_USER:
			entries = append(entries, text(Assistant, m))
		case m.GetRecipient() != agent:
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

// UserView returns the transcript of the user simulator's view: what the agent says is the user's
// text and the other way round. Messages between others are left out. The simulator's calls and
// their results are there if it has tools of its own, which hands says, as far as they were
// answered; otherwise they are left out, as in the original.
func UserView(view []*worldv1.Message, hands bool) []Entry {
	const system, user, agent, environment = worldv1.Role_ROLE_SYSTEM, worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	entries := make([]Entry, 0, len(view))
	var open []Entry // calls that nobody has answered, as those that end a demonstration
	for _, m := range view {
		from, to := m.GetSender(), m.GetRecipient()
		switch {
		case from == user && to == environment:
			open = append(open, call(m))
			continue
		case from == environment && to == user:
			if hands {
				entries = append(entries, open...)
				entries = append(entries, result(m, entries))
			}
		case from == system && to == user:
			entries = append(entries, text(System, m))
		case from == agent && to == user:
			entries = append(entries, text(User, m))
		case from == user && to == agent:
			entries = append(entries, text(Assistant, m))
		}
		open = nil
	}
	return entries
}

func text(kind Kind, m *worldv1.Message) Entry {
	return Entry{Kind: kind, Index: m.GetIndex(), Text: m.GetText()}
}

// call shows a call, or code as a call that it is not.
func call(m *worldv1.Message) Entry {
	id, name := sandbox.Answering(m)
	entry := Entry{Kind: ToolCall, Index: m.GetIndex(), RowID: id}
	made := m.GetCall()
	if made == nil {
		entry.Name, entry.Code = sourceName, sandbox.Content(m)
		entry.Arguments = python.DictOf(python.Item{Key: sourceArgument, Value: python.Str(entry.Code)})
	} else {
		entry.Name, entry.ID, entry.Arguments = made.GetTool(), noID, arguments(made)
	}
	if id != nil {
		entry.ID = *id
	}
	if made != nil && made.Variable != nil {
		entry.ID = made.GetVariable()
	}
	if name != nil {
		entry.Name = *name
	}
	return entry
}

// arguments are what the model meant: a text with an object in it is that object, and what is no
// JSON a text.
func arguments(call *worldv1.ToolCall) python.Value {
	value, err := sandbox.Arguments(call)
	if err != nil {
		return python.Str(call.GetArgumentsText())
	}
	spelled, ok := value.AsStr()
	if !ok || !sandbox.IsObject(spelled) {
		return value
	}
	if object, err := python.ParseJSON(spelled); err == nil {
		return object
	}
	if object, err := syntax.ParseLiteral(strings.TrimSpace(spelled)); err == nil {
		return object
	}
	return value
}

// result reads an answer of the environment. One without an id or a name has those of the last call
// that has no id either.
func result(m *worldv1.Message, before []Entry) Entry {
	entry := Entry{Kind: Result, Index: m.GetIndex(), Text: sandbox.Content(m), ID: noID}
	answer := m.GetResult()
	if answer == nil {
		return entry
	}
	entry.RowID, entry.Name, entry.Failed = answer.Id, answer.GetName(), answer.Exception != nil
	if answer.Id != nil {
		entry.ID = answer.GetId()
	}
	for i := len(before) - 1; i >= 0; i-- {
		made := before[i]
		if made.Kind != ToolCall || (made.RowID == nil) != (answer.Id == nil) || made.RowID != nil && *made.RowID != answer.GetId() {
			continue
		}
		if answer.Id == nil || answer.Name == nil {
			entry.ID = made.ID
		}
		if answer.Name == nil {
			entry.Name = made.Name
		}
		if traces := answer.GetTraces(); made.Code == "" && !entry.Failed && len(traces) == 1 {
			entry.Value = &traces[0].ResultJson
		}
		break
	}
	return entry
}

// Own says whether the model itself said it.
func (e Entry) Own() bool { return e.Kind == ToolCall || e.Kind == Assistant }

// CallID returns the id that a call and its result share in requests: that of the message's own
// column, else the one in the source.
func (e Entry) CallID() string {
	if e.RowID != nil {
		return *e.RowID
	}
	return e.ID
}

// Object returns a call's arguments as JSON that every parser takes: an object, whatever the model
// wrote, in which numbers that JSON lacks are texts. ascii escapes all other characters.
func (e Entry) Object(ascii bool) string {
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

// Written returns a call's arguments as JSON text, as near as can be to what the model wrote: text
// that was no JSON comes back as it was.
func (e Entry) Written() string {
	if text, ok := e.Arguments.AsStr(); ok {
		return text
	}
	if _, found := python.NonFinite(e.Arguments); found {
		return python.ASCIIJSON(finite(e.Arguments))
	}
	return python.ASCIIJSON(e.Arguments)
}

// finite replaces NaN and the infinities by their names.
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
