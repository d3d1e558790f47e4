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
	"errors"
	"fmt"
)

// Agent is the interface that a team implements.
type Agent interface {
	// Act returns the agent's next turn. Several goroutines call it concurrently, one per
	// conversation. It may be asked for the same turn again after a lost connection. ctx ends when
	// nobody waits for the turn any more. An error or a panic ends this one conversation with a score
	// of 0. An error that is a gRPC status keeps its code: Unavailable has the turn retried, and
	// Aborted ends the conversation without a score.
	Act(ctx context.Context, c *Conversation) (Reply, error)
}

// Func adapts a function to Agent.
type Func func(ctx context.Context, c *Conversation) (Reply, error)

// Act calls f.
func (f Func) Act(ctx context.Context, c *Conversation) (Reply, error) { return f(ctx, c) }

// Speaker is the author of a message.
type Speaker string

// The speakers.
const (
	// System is the author of instructions.
	System Speaker = "system"
	// User is the person whom the agent helps.
	User Speaker = "user"
	// Assistant is the agent itself.
	Assistant Speaker = "agent"
	// ToolResult is the result of a call.
	ToolResult Speaker = "tool"
	// Notification is the phone, which tells something that nobody asked for at this moment, e.g.
	// that a timer is over. It answers no call.
	Notification Speaker = "notification"
)

// Conversation is everything that an agent sees. It is valid during the call of Act.
type Conversation struct {
	// ID is the same for all turns of one conversation.
	ID string
	// Turn is the number of turns that the agent has already taken.
	Turn int
	// Messages is the conversation so far, in order.
	Messages []Message
	// Tools are the tools that the agent may call, in order.
	Tools []Tool
	// Traceparent is the W3C traceparent of the turn, to which an agent may add spans. It is empty if
	// the turn is not traced.
	Traceparent string
}

// Last returns the newest message, which the agent answers. It is empty for an empty conversation.
func (c *Conversation) Last() Message {
	if len(c.Messages) == 0 {
		return Message{}
	}
	return c.Messages[len(c.Messages)-1]
}

// Tool returns the tool of a name, false if there is none.
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
	// Speaker is the author.
	Speaker Speaker
	// Text is the text. For ToolResult it is the result as Python prints it, or the error.
	Text string
	// Calls are the agent's calls. Only for Assistant.
	Calls []ToolCall
	// CallID is the id of the call that this message answers. Only for ToolResult.
	CallID string
	// ToolName is the called tool. Only for ToolResult.
	ToolName string
	// Failed reports whether the call failed. Only for ToolResult.
	Failed bool
	// Value is the tool's return value as JSON. It is nil if the call failed, and for code. Only for
	// ToolResult.
	Value json.RawMessage
	// Code is Python source that the agent sent. Only for Assistant.
	Code string
}

// Tool is a tool that the agent may call.
type Tool struct {
	// Name is the name to call it by. In some scenarios it does not describe the tool.
	Name string
	// Description describes the tool. It is empty in some scenarios.
	Description string
	// Parameters is the JSON Schema of the arguments, of type object.
	Parameters json.RawMessage
}

// ToolCall is one call of a tool.
type ToolCall struct {
	// ID is unique within the turn. If it is empty, the gateway chooses one.
	ID string
	// Name is the tool's name.
	Name string
	// Arguments is a JSON object. Empty means {}.
	Arguments json.RawMessage
}

// Reply is one turn of an agent. Create it with Say, Call, Calls or Code. The zero Reply is an
// empty text.
type Reply struct {
	text  string
	calls []ToolCall
	code  *string
	err   error
	// confidence is nil if the agent does not say.
	confidence *float64
}

// WithConfidence returns the same turn with the probability, from 0 to 1, that the task is done as
// the user wants when the conversation ends here. The last one of a conversation counts for the
// reliability card; none affects the score. One outside 0 to 1 ends the conversation as an error of
// Act does.
func (r Reply) WithConfidence(probability float64) Reply {
	if !(probability >= 0 && probability <= 1) {
		r.err = errors.Join(r.err, fmt.Errorf("confidence: %v given, expected 0 to 1", probability))
	}
	r.confidence = &probability
	return r
}

// Say returns a turn with a text for the user.
func Say(text string) Reply { return Reply{text: text} }

// Code returns a turn that runs Python source in the session, with the tools as functions. The next
// message is its output, or the error that ended it.
func Code(source string) Reply { return Reply{code: &source} }

// Call returns a turn that calls one tool. arguments is a struct, a map, or nil, and becomes a JSON
// object. Arguments that cannot be marshalled end the conversation as an error of Act does.
func Call(name string, arguments any) Reply {
	call, err := NewToolCall(name, arguments)
	return Reply{calls: []ToolCall{call}, err: err}
}

// Calls returns a turn that calls several tools. They are executed as one batch, in no particular
// order. Without calls the turn is an empty text.
func Calls(calls ...ToolCall) Reply { return Reply{calls: calls} }

// NewToolCall returns a call. arguments is as for Call. The error is that of json.Marshal.
func NewToolCall(name string, arguments any) (ToolCall, error) {
	if arguments == nil {
		return ToolCall{Name: name, Arguments: json.RawMessage("{}")}, nil
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return ToolCall{}, fmt.Errorf("arguments of %s: %w", name, err)
	}
	if string(raw) == "null" { // a nil map or pointer
		raw = json.RawMessage("{}")
	}
	return ToolCall{Name: name, Arguments: raw}, nil
}
