// Package provider defines what the wire formats of all model providers share: the query to a
// model, its answer, and the failures of a request.
package provider

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ErrAnswer means that an answer violates the provider's interface. It is no JSON, or lacks its
// main part.
var ErrAnswer = errors.New("answer cannot be read")

// ErrServer means that the server could not complete its answer, although its interface was kept.
// The same request may succeed later.
var ErrServer = errors.New("the server failed")

// Query is one request to a model.
type Query struct {
	// Model is the model with its settings.
	Model *agentgwv1.Model
	// Transcript is the conversation from the model's point of view. The model answers its last entry.
	Transcript []conversation.Entry
	// Native maps the index of a turn's first message to the turn in the provider's native form.
	Native map[int32][]byte
	// Tools are what the model may call. Nil leaves the field out of the request. An empty list sends
	// an empty list.
	Tools []*worldv1.Tool
	// ToolText caches the encodings of Tools. Nil caches nothing.
	ToolText *turn.ToolText
	// PlaysUser: the model plays the user, so the first text may be its own.
	PlaysUser bool
	// Official: the request goes to the provider's official address and not to a compatible server.
	Official bool
	// Host is the name of the server that the request goes to.
	Host string
	// Compat sends the sampling parameters and headers that the original sends.
	Compat bool
	// Schema is the JSON Schema of the answer's text. Nil leaves the text free. Providers that take no
	// schema of this form ignore it.
	Schema *Schema
	// Seed is the sampling seed for providers that take one. Nil sends none.
	Seed *int64
}

// Schema is a JSON Schema with its name.
type Schema struct{ Name, JSON string }

// Request is an HTTP request to a provider, without address and key.
type Request struct {
	// Path follows the base URL. It starts with a slash and may end with a query.
	Path   string
	Header http.Header
	// Body is sent with POST. Nil sends a GET.
	Body []byte
}

// Raised is an exception that the original raises about an answer as a whole.
type Raised struct {
	// Exception is the exception's type, e.g. ValueError.
	Exception string
	// Detail says what happened, for people.
	Detail string
}

// Answer is the decoded answer of a model: calls, or else a text.
type Answer struct {
	Text  string
	Calls []turn.Call
	// Raised is the exception of the original, nil if the original accepts the answer.
	Raised *Raised
	// EmptyReason says why the answer has neither text nor calls. It is empty otherwise.
	EmptyReason string
	// Refusal is the provider's reason for an answer that the model refused or that a filter blocked,
	// wholly or in part. It is empty for other answers.
	Refusal string
	// ContextOverflow: the answer is empty, because the conversation fills the model's context.
	ContextOverflow bool
	// EmptyText: the answer is an empty text in a form that the original accepts.
	EmptyText bool
	// Native is the turn in the provider's native form if later requests have to carry it.
	Native []byte
	// NativeLacksIDs: Native has no ids of calls, so it may precede results with any.
	NativeLacksIDs bool
	// Usage is nil if the provider did not report it.
	Usage *agentgwv1.Usage
}

// Codec is one wire format. Its methods are pure.
type Codec interface {
	// Encode returns the request.
	Encode(q *Query) (*Request, error)
	// Decode decodes the body of an answer with a status of success. The error is ErrAnswer.
	Decode(body []byte) (*Answer, error)
}

// Failure is a failed request to a provider. It never contains a key.
type Failure struct {
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// Network: no complete answer arrived.
	Network bool
	// Timeout: no complete answer arrived in time.
	Timeout bool
	// Retryable: the same request may succeed later.
	Retryable bool
	// NoCredit: the account has no credit left. A retry does not help.
	NoCredit bool
	// ContextOverflow: the request does not fit into the model's context. A retry does not help.
	ContextOverflow bool
	// Refusal is the provider's reason for a request that its filter blocked, empty for other
	// failures. A retry does not help.
	Refusal string
	// Charged: the provider may charge for the request although its answer is lost.
	Charged bool
	// Demanded is the form that the server's chat template demands of a conversation, 0 if the failure
	// has another cause. The same conversation is refused again.
	Demanded conversation.Form
	// RetryAfter is the wait that the provider asks for, 0 if it does not say.
	RetryAfter time.Duration
	// Detail says what happened, for people.
	Detail string
}

// Class returns the failure class for the reply.
func (f *Failure) Class() agentgwv1.FailureClass {
	if f.ContextOverflow {
		return agentgwv1.FailureClass_FAILURE_CLASS_CONTEXT
	}
	if f.Network && !f.Timeout {
		return agentgwv1.FailureClass_FAILURE_CLASS_NETWORK
	}
	return agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER
}

// Error returns the status, if there is one, and the detail.
func (f *Failure) Error() string {
	if f.Status != 0 {
		return fmt.Sprintf("HTTP %d: %s", f.Status, f.Detail)
	}
	return f.Detail
}
