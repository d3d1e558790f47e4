package provider

import (
	"strings"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// Name returns the word for a provider that stands before its models' names, e.g. openai.
func Name(p agentgwv1.Model_Provider) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(p.String(), "PROVIDER_")), "_", "-")
}

// Seller returns the word for whose prices and budgets hold for a provider's models.
func Seller(p agentgwv1.Model_Provider) string {
	if p == agentgwv1.Model_PROVIDER_OPENAI_RESPONSES {
		return Name(agentgwv1.Model_PROVIDER_OPENAI) // the same keys and models by another interface
	}
	return Name(p)
}
