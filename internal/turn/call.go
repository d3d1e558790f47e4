package turn

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	exceptionKey   = "KeyError"
	exceptionJSON  = "JSONDecodeError"
	exceptionType  = "TypeError"
	exceptionValue = "ValueError"
)

// IDRule selects the id of a call.
type IDRule uint8

const (
	// KeepID keeps an id that no other call of the conversation has, and replaces any other by
	// call_<message index>. With Compat it keeps every id. It may then be empty, no identifier, or
	// nil, which leaves the message's column null.
	KeepID IDRule = iota
	// DeriveID is KeepID with a UUID, derived from the message's index, for a call without an id. The
	// source's variables are named after the tool.
	DeriveID
	// IndexID replaces a missing or unprintable id by call_<message index>.
	IndexID
	// FixedID keeps the id as it is: the program made it up, and no request carries it.
	FixedID
)

// Call is one call as a role writes it.
type Call struct {
	// ID is nil if the role set none.
	ID     *string
	IDRule IDRule
	// Name is the role's name of the tool.
	Name string
	// Tool is the environment's name of the tool. If it is set, Name is ignored.
	Tool string
	// Arguments is the JSON text of the role.
	Arguments string
	// Truncated: the arguments may be incomplete, so they must not be used.
	Truncated bool
}

// Calls returns one message per call. first is the first mistake in them, nil if any call has none.
// With Compat, an unknown tool and invalid JSON arguments are errors of type *Mistake. Otherwise
// the environment answers them with an error that the role can read. A user who can only end the
// conversation sends neither id nor name, as in the original, unless its ids are counted. A user
// with more tools needs them to tell results apart.
func (c Composer) Calls(calls []Call, tools *Tools) (messages []*worldv1.Message, first *Mistake, err error) {
	usable := false
	ids := c.newIDs(calls)
	for i, call := range calls {
		toolCall, mistake := tools.resolve(call)
		call.Arguments = tools.shownArguments(call)
		if argumentMistake := c.setArguments(call, toolCall); mistake == nil {
			mistake = argumentMistake
		}
		if mistake != nil && c.Compat && mistake.raised {
			return nil, mistake, mistake
		}
		if first == nil {
			first = mistake
		}
		usable = usable || mistake == nil
		index := c.Index + int32(i)
		ids.set(call, toolCall, index)
		if c.Role == worldv1.Role_ROLE_USER && !tools.HasUserTools() && call.IDRule != IndexID {
			hideID(toolCall)
		}
		m := c.toEnvironment(index)
		m.Body = &worldv1.Message_Call{Call: toolCall}
		messages = append(messages, m)
	}
	if usable {
		first = nil
	}
	return messages, first, nil
}

// Code returns the message with Python source for the execution environment.
func (c Composer) Code(source string) []*worldv1.Message {
	id := c.newIDs(nil).free(c.Index)
	code := &worldv1.Code{Source: strings.ToValidUTF8(source, string(utf8.RuneError)), Id: &id}
	m := c.toEnvironment(c.Index)
	m.Body = &worldv1.Message_Code{Code: code}
	return []*worldv1.Message{m}
}

// toEnvironment returns a message without a body.
func (c Composer) toEnvironment(index int32) *worldv1.Message {
	return &worldv1.Message{
		Index: index, Sender: c.Role, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
		VisibleTo: []worldv1.Role{c.Role, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT},
	}
}

// hideID removes the id and the name from a call. The source keeps them.
func hideID(call *worldv1.ToolCall) {
	if call.Variable == nil {
		call.Variable = call.Id
	}
	call.Id, call.Name = nil, nil
}

// resolve returns the call with both names of its tool. An unknown tool gets a name that the
// environment refuses.
func (t *Tools) resolve(call Call) (*worldv1.ToolCall, *Mistake) {
	if call.Tool != "" {
		tool, found := t.byExecution[call.Tool]
		switch {
		case found:
			return &worldv1.ToolCall{Tool: call.Tool, Name: proto.String(tool.GetName())}, nil
		case t.any:
			return &worldv1.ToolCall{Tool: call.Tool, Name: &call.Tool}, nil
		}
		return &worldv1.ToolCall{Tool: call.Tool, Name: &call.Tool}, t.unknown(call.Tool)
	}
	name := strings.ToValidUTF8(call.Name, string(utf8.RuneError))
	if tool, found := t.byName[call.Name]; found {
		return &worldv1.ToolCall{Tool: tool.GetExecutionName(), Name: &name}, nil
	}
	resolved := &worldv1.ToolCall{Tool: strings.ToValidUTF8(t.invalidName(call.Name), string(utf8.RuneError)), Name: &name}
	if t.any {
		return resolved, nil
	}
	return resolved, t.unknown(call.Name)
}

// setArguments sets the arguments: as JSON if they are usable, else as text. With Compat they stay
// as the role wrote them.
func (c Composer) setArguments(made Call, call *worldv1.ToolCall) *Mistake {
	text := strings.ToValidUTF8(made.Arguments, string(utf8.RuneError))
	if made.Truncated {
		call.ArgumentsText, call.ArgumentsCut = &text, !c.Compat
		return &Mistake{Exception: exceptionValue, Detail: fmt.Sprintf("the answer was cut off within the arguments of %s", call.GetName())}
	}
	read := object
	if c.Compat {
		read = parsed
	}
	text, args, err := read(text)
	if err != nil {
		exception := exceptionJSON
		var raised *python.Exception
		if errors.As(err, &raised) {
			exception = raised.Type
		}
		call.ArgumentsText = &text
		return &Mistake{Exception: exception, Detail: fmt.Sprintf("arguments of %s: %v", call.GetName(), err), raised: true}
	}
	call.ArgumentsJson = text
	_, isObject := args.AsDict()
	if str, ok := args.AsStr(); isObject || ok && messagetext.IsObject(str) {
		return nil
	}
	return &Mistake{Exception: exceptionType, Detail: fmt.Sprintf("arguments of %s: a JSON object expected, got %s", call.GetName(), args.TypeName())}
}
