// Package provider is what the wire formats of all model providers have in common: what a model is
// asked, what it answers, and how asking it can fail.
package provider

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/turn"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrAnswer says that an answer is not what the provider's interface promises: no JSON, or without
// its main part.
var ErrAnswer = errors.New("answer cannot be read")

// Query is one request to a model.
type Query struct {
	// Model and its settings.
	Model *agentgwv1.Model
	// Transcript is the conversation from the model's point of view, ending with what it has to
	// answer.
	Transcript []conversation.Entry
	// Native holds, by the index of a turn's first message, the model's turns in the provider's own
	// form.
	Native map[int32][]byte
	// Tools are what the model may call. Nil leaves them out of the request; an empty list says
	// that there are none.
	Tools []*worldv1.Tool
	// ToolText keeps how Tools, if not nil, are written; nil keeps nothing.
	ToolText *turn.ToolText
	// Flipped says that the model plays the user, so that the first text may be its own.
	Flipped bool
	// Own says that the provider's own address is asked, and not that of a compatible server.
	Own bool
	// Compat sends the sampling parameters and headers that the original sends.
	Compat bool
	// Schema is what the answer's text has to be; nil leaves the text free. Providers whose
	// interface takes no schema of this form leave it out.
	Schema *Schema
	// Seed is that of sampling, where the provider takes one; nil sends none.
	Seed *int64
}

// Schema is a JSON Schema under the name by which a provider knows it.
type Schema struct{ Name, JSON string }

// Request is an HTTP request to a provider, without address and key.
type Request struct {
	// Path follows the base URL and starts with a slash; it may end with a query.
	Path   string
	Header http.Header
	Body   []byte
}

// Raised is an exception that the original raises about an answer as a whole.
type Raised struct {
	// Exception is its type, e.g. ValueError.
	Exception string
	// Detail says what happened, for people.
	Detail string
}

// Answer is what a model said: calls, or else a text.
type Answer struct {
	Text  string
	Calls []turn.Call
	// Raised is what the original raises instead of taking the answer, nil if it takes it.
	Raised *Raised
	// Nothing says why the answer holds neither a text nor a call; empty if it does.
	Nothing string
	// Blank says that the answer is a text, which is empty, in a form that the original takes.
	Blank bool
	// Native is the turn in the provider's own form, if that has to be sent back later.
	Native []byte
	// Usage is nil if the provider did not say.
	Usage *agentgwv1.Usage
}

// Codec is one wire format. Its methods are pure.
type Codec interface {
	// Encode returns the request.
	Encode(q *Query) (*Request, error)
	// Decode reads the body of an answer with a status of success. The error is ErrAnswer.
	Decode(body []byte) (*Answer, error)
}

// Failure says how asking a provider failed. It never holds a key.
type Failure struct {
	// Status is the HTTP status; 0 if there was no answer.
	Status int
	// Network says that no complete answer came.
	Network bool
	// Timeout says that it did not come in time.
	Timeout bool
	// Retryable says that the same request may succeed later.
	Retryable bool
	// Unpaid says that the account has no credit left: waiting does not help, paying does.
	Unpaid bool
	// Charged says that the provider may charge for the request although its answer is lost.
	Charged bool
	// RetryAfter is how long the provider asks to wait, 0 if it does not say.
	RetryAfter time.Duration
	// Detail says what happened, for people.
	Detail string
}

// Class says whose fault the failure is.
func (f *Failure) Class() agentgwv1.FailureClass {
	if f.Network && !f.Timeout {
		return agentgwv1.FailureClass_FAILURE_CLASS_NETWORK
	}
	return agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
}

// Error names the status, if there is one, and what happened.
func (f *Failure) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("HTTP %d: %s", f.Status, f.Detail)
	}
	return f.Detail
}
