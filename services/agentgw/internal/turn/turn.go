// Package turn composes the messages of one role's turn: a text for its counterpart, or calls for
// the execution environment. It is pure: no I/O, no state.
package turn

import (
	"strings"
	"unicode/utf8"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
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

// Taken says that the original takes what was stated all the same: arguments that are JSON but no
// object, which its environment answers.
func (m *Mistake) Taken() bool { return m.Exception == exceptionType && !m.raised }

// Error returns type and detail.
func (m *Mistake) Error() string { return m.Exception + ": " + m.Detail }

// Failed returns the answer that ends a rollout.
func Failed(class agentgwv1.FailureClass, exception, detail string) *agentgwv1.RespondResponse {
	return &agentgwv1.RespondResponse{Failure: &agentgwv1.Failure{
		Class: class, ExceptionType: exception, Detail: strings.ToValidUTF8(detail, string(utf8.RuneError)),
	}}
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
		Index: c.Index, Sender: c.Role, Recipient: recipient, Body: &worldv1.Message_Text{Text: text},
		VisibleTo: []worldv1.Role{c.Role, recipient},
	}}
}
