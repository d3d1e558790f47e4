// Package agent lets a team plug its own agent into ToolSandbox: implement one method, serve it,
// and name its address on the command line.
//
//	answer := func(ctx context.Context, c *agent.Conversation) (agent.Reply, error) {
//		return agent.Say("I cannot do that yet."), nil
//	}
//	err := agent.Serve(ctx, "localhost:7500", agent.Func(answer))
//
// and then `toolsandbox run --agent grpc://localhost:7500`.
package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// Agent is what a team implements.
type Agent interface {
	// Act returns the agent's next turn. It is called by several goroutines at once, one
	// conversation each, and may be asked for the same turn of a conversation again after a lost
	// connection. ctx ends when nobody waits for the turn any more. An error or a panic ends this
	// one conversation with a score of 0. One that is a gRPC status keeps its code: Unavailable has
	// the turn asked again, and Aborted ends the conversation without a score.
	Act(ctx context.Context, c *Conversation) (Reply, error)
}

// Func is an Agent made of a function.
type Func func(ctx context.Context, c *Conversation) (Reply, error)

// Act calls f.
func (f Func) Act(ctx context.Context, c *Conversation) (Reply, error) { return f(ctx, c) }

// Speaker says who wrote a message.
type Speaker string

// The speakers.
const (
	// System gives instructions.
	System Speaker = "system"
	// User is whom the agent helps.
	User Speaker = "user"
	// Self is the agent.
	Self Speaker = "agent"
	// ToolResult is the answer to a call.
	ToolResult Speaker = "tool"
)

// Conversation is all that an agent sees. It belongs to the call of Act that it was given to.
type Conversation struct {
	// ID is the same for all turns of one conversation.
	ID string
	// Turn is the number of turns that the agent has taken, from 0.
	Turn int
	// Messages are the conversation so far, in order.
	Messages []Message
	// Tools are the tools that the agent may call, in order.
	Tools []Tool
}

// Last returns the newest message: the one to react to. It is empty for an empty conversation.
func (c *Conversation) Last() Message {
	if len(c.Messages) == 0 {
		return Message{}
	}
	return c.Messages[len(c.Messages)-1]
}

// Tool returns a tool by its name.
func (c *Conversation) Tool(name string) (tool Tool, ok bool) {
	for _, tool := range c.Tools {
		if tool.Name == name {
			return tool, true
		}
	}
	return Tool{}, false
}

// Message is one message of a conversation.
type Message struct {
	// Speaker wrote it.
	Speaker Speaker
	// Text is what was said; for ToolAnswer the printed result in Python's syntax, or the error.
	Text string
	// Calls are the calls that the agent made. Only for Self.
	Calls []ToolCall
	// CallID is the id of the call that this answers. Only for ToolAnswer.
	CallID string
	// ToolName is the tool that answers. Only for ToolAnswer.
	ToolName string
	// Failed says whether the call failed. Only for ToolAnswer.
	Failed bool
	// Value is what the tool returned, as JSON. Nil if the call failed, and for code. Only for
	// ToolAnswer.
	Value json.RawMessage
	// Code is Python source that the agent sent. Only for Self.
	Code string
}

// Tool is a tool that the agent may call.
type Tool struct {
	// Name is how to call it. In some scenarios it says nothing about what the tool does.
	Name string
	// Description says what it does; empty in some scenarios.
	Description string
	// Parameters is the JSON Schema (type object) of its arguments.
	Parameters json.RawMessage
}

// ToolCall is one call of a tool.
type ToolCall struct {
	// ID is unique within the turn. Empty lets the gateway choose one.
	ID string
	// Name is the tool's.
	Name string
	// Arguments is a JSON object. Empty stands for {}.
	Arguments json.RawMessage
}

// Reply is one turn of an agent. Make it with Say, Call, Calls or Code. The zero Reply says an
// empty text.
type Reply struct {
	text  string
	calls []ToolCall
	code  *string
	err   error
}

// Say returns a turn that says something to the user.
func Say(text string) Reply { return Reply{text: text} }

// Code returns a turn that runs Python source in the session, with the tools as functions. The next
// message has what it printed, or the error that ended it.
func Code(source string) Reply { return Reply{code: &source} }

// Call returns a turn that calls one tool. arguments becomes a JSON object: a struct, a map, or nil
// for none. Arguments that JSON cannot write end the conversation as an error of Act does.
func Call(name string, arguments any) Reply {
	call, err := NewToolCall(name, arguments)
	return Reply{calls: []ToolCall{call}, err: err}
}

// Calls returns a turn that calls several tools at once. They are executed as one batch, in no
// certain order. Without any call the turn is an empty text.
func Calls(calls ...ToolCall) Reply { return Reply{calls: calls} }

// NewToolCall returns a call whose arguments are given as for Call.
func NewToolCall(name string, arguments any) (ToolCall, error) {
	if arguments == nil {
		return ToolCall{Name: name, Arguments: json.RawMessage("{}")}, nil
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return ToolCall{}, fmt.Errorf("arguments of %s: %w", name, err)
	}
	if string(raw) == "null" { // a map or a pointer that is nil
		raw = json.RawMessage("{}")
	}
	return ToolCall{Name: name, Arguments: raw}, nil
}
