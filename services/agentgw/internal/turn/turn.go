// Package turn composes the messages of one role's turn: a text for its counterpart, or calls for the execution
// environment. It is pure: no I/O, no state.
package turn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/internal/python"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrUnknownTools says that a player needs the role's tools and the request names a set that this gateway has not seen.
var ErrUnknownTools = errors.New("unknown tool set: repeat the request with its tools")

// maxID bounds the bytes of a call's id; it becomes part of two variable names.
const maxID = 4096

// Exception types of mistakes, as the original reports them.
const (
	exceptionKey  = "KeyError"
	exceptionJSON = "JSONDecodeError"
)

// Mistake is an error of the model that the original raises instead of answering it.
type Mistake struct {
	// Exception is the type that the original raises, e.g. KeyError.
	Exception string
	// Detail says what happened, for people.
	Detail string
	// raised says that the original's role raises it; it leaves other mistakes to the environment.
	raised bool
}

// Taken says that the original takes what was stated all the same: arguments that are JSON but no object, which its environment answers.
func (m *Mistake) Taken() bool { return m.Exception == exceptionType && !m.raised }

// Error returns type and detail.
func (m *Mistake) Error() string { return m.Exception + ": " + m.Detail }

// Failed returns the answer that ends a rollout.
func Failed(class agentgwv1.FailureClass, exception, detail string) *agentgwv1.RespondResponse {
	return &agentgwv1.RespondResponse{Failure: &agentgwv1.Failure{
		Class: class, ExceptionType: exception, Detail: strings.ToValidUTF8(detail, string(utf8.RuneError)),
	}}
}

// Call is one call, resolved.
type Call struct {
	// ID is unique within the turn. Empty lets Composer.Calls choose one.
	ID string
	// Name is what the role calls the tool.
	Name string
	// ExecutionName is what the execution environment calls it.
	ExecutionName string
	// Arguments is JSON text as the role wrote it.
	Arguments string
}

// Composer composes the messages of one turn.
type Composer struct {
	// Role speaks.
	Role worldv1.Role
	// Index is the index of the first message.
	Index int32
	// Compat reports a mistake as the original does instead of letting the environment answer it.
	Compat bool
}

// Say returns the message that carries a text to the role's counterpart.
func (c Composer) Say(text string) []*worldv1.Message {
	recipient := worldv1.Role_ROLE_USER
	if c.Role == worldv1.Role_ROLE_USER {
		recipient = worldv1.Role_ROLE_AGENT
	}
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	return []*worldv1.Message{{
		Index: c.Index, Sender: c.Role, Recipient: recipient, Content: &text,
		VisibleTo: []worldv1.Role{c.Role, recipient},
	}}
}

// Calls returns one message per call. An id that is missing or cannot be part of one line of source becomes
// call_<message index>. Arguments that are not JSON are, with Compat, a *Mistake; otherwise they go out as a Python text, which
// the environment refuses with a TypeError that the role can read.
func (c Composer) Calls(calls []Call) ([]*worldv1.Message, error) {
	taken := make(map[string]bool, len(calls))
	for _, call := range calls {
		taken[call.ID] = true
	}
	messages := make([]*worldv1.Message, 0, len(calls))
	for i, call := range calls {
		index := c.Index + int32(i)
		if !usableID(call.ID) {
			call.ID = freeID(index, taken)
		}
		args, err := c.arguments(call)
		if err != nil {
			return nil, err
		}
		messages = append(messages, c.call(index, call, args))
	}
	return messages, nil
}

// arguments reads a call's arguments into what python.ComposeCall writes: it writes a str without quotes.
func (c Composer) arguments(call Call) (python.Value, error) {
	args, err := python.ParseJSON(call.Arguments)
	if err == nil {
		if text, ok := args.AsStr(); ok && !c.Compat {
			args, _ = quoted(text)
		}
		return args, nil
	}
	if !c.Compat {
		return python.Str(python.Repr(python.Str(strings.ToValidUTF8(call.Arguments, string(utf8.RuneError))))), nil
	}
	exception := exceptionJSON
	var raised *python.Exception
	if errors.As(err, &raised) {
		exception = raised.Type
	}
	return python.Value{}, &Mistake{Exception: exception, Detail: fmt.Sprintf("arguments of %s: %v", call.Name, err)}
}

func (c Composer) call(index int32, call Call, args python.Value) *worldv1.Message {
	content := strings.ToValidUTF8(python.ComposeCall(call.ID, call.ExecutionName, args), string(utf8.RuneError))
	name := strings.ToValidUTF8(call.Name, string(utf8.RuneError))
	return &worldv1.Message{
		Index: index, Sender: c.Role, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
		Content: &content, ToolCallId: &call.ID, FunctionName: &name,
		VisibleTo: []worldv1.Role{c.Role, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT},
	}
}

// usableID says whether an id can be part of one line of source.
func usableID(id string) bool {
	if id == "" || len(id) > maxID || !utf8.ValidString(id) {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) })
}

// freeID returns call_<index>, made longer until nothing else in the turn has it.
func freeID(index int32, taken map[string]bool) string {
	id := "call_" + strconv.Itoa(int(index))
	for taken[id] {
		id += "_"
	}
	taken[id] = true
	return id
}
