package provider

import (
	"cmp"
	"context"
	"net/http"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Spec is a provider of models: its names, how it is reached, what its models can be told, and its
// wire format.
type Spec struct {
	// Name stands before a model's name, e.g. openai; it is that of Model.provider.
	Name string
	// Description says whose models they are and what they need, for people. It is a sentence.
	Description string
	// Roles are what its models can play.
	Roles []worldv1.Role
	// Aliases are the original's names for its models.
	Aliases []Alias
	// DefaultModel is the model that Name alone stands for; empty if a model has to be named.
	DefaultModel string
	// AccountOf names the provider whose keys, prices and limits hold; empty if its own do.
	AccountOf string
	// Address is where its interface is and what proves that one may use it.
	Address Address
	// Locate returns the endpoint of a provider that Address cannot describe; nil if it can. base
	// is the address that a player was given, or empty.
	Locate func(ctx context.Context, getenv func(string) string, base string) (Endpoint, error)
	// Reasoning says what its models with reasoning can be told.
	Reasoning Reasoning
	// Codec is its wire format.
	Codec Codec
	// Compat is its wire format as the original reads it; nil if that is the same.
	Compat Codec
	// Native says that its own turns go back in the form in which they came.
	Native bool
}

// Alias is a name of the original for a model.
type Alias struct{ Name, Model string }

// Reasoning says what models with reasoning can be told of how much they reason.
type Reasoning struct {
	// Efforts are the words that they know; none if they take none.
	Efforts []string
	// Budget says that they take a number of tokens.
	Budget bool
	// LeastBudget is the smallest such number.
	LeastBudget int32
	// BudgetInAnswer says that the longest answer has to hold the budget too.
	BudgetInAnswer bool
	// Temperature says that they take one while they reason.
	Temperature bool
	// Unasked says whether a model reasons although nobody says how much; nil if none does.
	Unasked func(model *agentgwv1.Model) bool
}

// Reasons says whether a model is to reason.
func (r Reasoning) Reasons(model *agentgwv1.Model) bool {
	switch model.GetReasoningEffort() {
	case "":
		return model.GetThinkingBudget() > 0 || r.Unasked != nil && r.Unasked(model)
	case EffortNone:
		return false
	default:
		return true
	}
}

// EffortNone turns a model's reasoning off.
const EffortNone = "none"

// Endpoint is where requests go and what proves that they may.
type Endpoint struct {
	// BaseURL is the address without a slash at its end. The scheme h2c:// stands for HTTP/2
	// without TLS.
	BaseURL string
	// Header holds the key, if there is one.
	Header http.Header
	// Own says that the address is the provider's own.
	Own bool
	// Secret is text that must not get into an error; empty if there is none.
	Secret string
	// Expires says that the secret is one of many of the same account, which the address names.
	Expires bool
}

// Endpoint returns where the provider is asked. base is the address that a player was given, or
// empty.
func (s *Spec) Endpoint(ctx context.Context, getenv func(string) string, base string) (Endpoint, error) {
	if s.Locate != nil {
		return s.Locate(ctx, getenv, base)
	}
	return s.Address.endpoint(getenv, base)
}

// Account names the provider whose keys, prices and limits hold.
func (s *Spec) Account() string { return cmp.Or(s.AccountOf, s.Name) }

// CodecFor returns the wire format of a request.
func (s *Spec) CodecFor(req *agentgwv1.RespondRequest) Codec {
	if req.GetCompat() && s.Compat != nil {
		return s.Compat
	}
	return s.Codec
}
