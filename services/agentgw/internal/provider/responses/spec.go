package responses

import (
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Spec returns the provider OpenAI with the Responses API. Keys and models are the same.
func Spec() provider.Spec {
	return provider.Spec{
		Name:        "openai-responses",
		Description: "A model of OpenAI by its responses interface, which keeps the reasoning of earlier turns, with OPENAI_API_KEY.",
		Roles:       []worldv1.Role{worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT},
		AccountOf:   openai.ProviderName, Address: openai.Address, Reasoning: openai.Reasoning, Codec: Codec{}, ReplaysNative: true,
	}
}
