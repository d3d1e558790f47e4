package provider

import (
	"cmp"
	"context"
	"net/http"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Spec describes a provider of models: its names, its address, its settings for reasoning and its
// wire format.
type Spec struct {
	// Name precedes a model's name in player names, e.g. openai. It is the value of Model.provider.
	Name string
	// Description is a sentence for people about the models and the key they need.
	Description string
	// Roles are the roles that its models can play.
	Roles []worldv1.Role
	// Aliases are the original's names of its models.
	Aliases []Alias
	// DefaultModel is the model that Name alone selects. Empty requires a model.
	DefaultModel string
	// AccountOf names the provider whose keys, prices and limits apply. Empty means this one.
	AccountOf string
	// Address is the address of its interface with its key.
	Address Address
	// Locate returns the endpoint of a provider that Address cannot describe, nil if Address can. base
	// is the player's base URL or empty.
	Locate func(ctx context.Context, getenv func(string) string, base string) (Endpoint, error)
	// AddressVariable is the environment variable that Locate reads the address from.
	AddressVariable string
	// Reasoning describes the reasoning settings of its models.
	Reasoning Reasoning
	// TakesStop: its requests carry stop sequences. TakesSeed: they carry a sampling seed.
	TakesStop, TakesSeed bool
	// Errors are the words of its errors.
	Errors ErrorWords
	// Codec is its wire format.
	Codec Codec
	// Compat is the wire format as the original decodes it, nil if there is no difference.
	Compat Codec
	// Prompted: the codec writes the tools into the prompt.
	Prompted bool
	// ReplaysNative: requests carry the provider's earlier turns in their native form.
	ReplaysNative bool
}

// Alias is a name of the original for a model.
type Alias struct{ Name, Model string }

// Reasoning describes the settings that models with reasoning accept.
type Reasoning struct {
	// Efforts are the effort levels, none if the models take none.
	Efforts []string
	// Budget: the models take a token budget.
	Budget bool
	// MinBudget is the smallest token budget.
	MinBudget int32
	// BudgetInAnswer: the answer's token limit includes the budget.
	BudgetInAnswer bool
	// Temperature: the models take a temperature while they reason.
	Temperature bool
	// ByDefault reports whether a model reasons without a setting. Nil means that none does.
	ByDefault func(model *agentgwv1.Model) bool
}

// Reasons reports whether a model reasons with its settings.
func (r Reasoning) Reasons(model *agentgwv1.Model) bool {
	switch model.GetReasoningEffort() {
	case "":
		return model.GetThinkingBudget() > 0 || r.ByDefault != nil && r.ByDefault(model)
	case EffortNone:
		return false
	default:
		return true
	}
}

// EffortNone turns a model's reasoning off.
const EffortNone = "none"

// Endpoint is the address of requests with its credentials.
type Endpoint struct {
	// BaseURL is the address without a trailing slash. The scheme h2c:// selects HTTP/2 without TLS.
	BaseURL string
	// Header contains the key, if there is one.
	Header http.Header
	// Official: the address is the provider's official one.
	Official bool
	// Secret is the text to redact from errors, empty if there is none.
	Secret string
	// Errors are the words of its errors.
	Errors ErrorWords
	// Expires: the secret is a short-lived token, so it does not identify the account. The address
	// does.
	Expires bool
}

// Endpoint returns the endpoint of the provider. base is the player's base URL or empty.
func (s *Spec) Endpoint(ctx context.Context, getenv func(string) string, base string) (Endpoint, error) {
	locate := s.Locate
	if locate == nil {
		locate = s.Address.locate
	}
	to, err := locate(ctx, getenv, base)
	to.Errors = s.Errors
	return to, err
}

// BaseURLVariable returns the environment variable with the address of the provider's server. Those
// who share it share a key.
func (s *Spec) BaseURLVariable() string { return cmp.Or(s.Address.BaseURLVariable, s.AddressVariable) }

// Account returns the name of the provider whose keys, prices and limits apply.
func (s *Spec) Account() string { return cmp.Or(s.AccountOf, s.Name) }

// CodecFor returns the wire format of a request.
func (s *Spec) CodecFor(req *agentgwv1.RespondRequest) Codec {
	if req.GetCompat() && s.Compat != nil {
		return s.Compat
	}
	return s.Codec
}
