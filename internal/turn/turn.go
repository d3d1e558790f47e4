// Package turn composes the messages of one turn: a text for the counterpart, or calls for the
// execution environment. It is pure: no I/O, no state.
package turn

import (
	"strings"
	"unicode/utf8"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Mistake is an error of the model. The original raises it instead of answering it.
type Mistake struct {
	// Exception is the original's exception type, e.g. KeyError.
	Exception string
	// Detail says what happened, for people.
	Detail string
	// raised: the original's role raises it. The original leaves other mistakes to its environment.
	raised bool
}

// OriginalAccepts reports whether the original accepts the call all the same: its arguments are
// JSON but no object, and its environment answers that.
func (m *Mistake) OriginalAccepts() bool { return m.Exception == exceptionType && !m.raised }

// Error returns type and detail.
func (m *Mistake) Error() string { return m.Exception + ": " + m.Detail }

// Failed returns the response that ends a rollout.
func Failed(class agentgwv1.FailureClass, exception, detail string) *agentgwv1.RespondResponse {
	return &agentgwv1.RespondResponse{Failure: &agentgwv1.Failure{
		Class: class, ExceptionType: exception, Detail: strings.ToValidUTF8(detail, string(utf8.RuneError)),
	}}
}

// Composer composes the messages of one turn.
type Composer struct {
	// Role is the speaker.
	Role worldv1.Role
	// Index is the index of the first message.
	Index int32
	// View is the conversation so far, as the speaker sees it. No call gets the id of one in it.
	View []*worldv1.Message
	// Compat reports a mistake as the original does instead of letting the environment answer it, and
	// keeps ids and arguments as the role wrote them.
	Compat bool
}

// Say returns the message with a text for the role's counterpart.
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
