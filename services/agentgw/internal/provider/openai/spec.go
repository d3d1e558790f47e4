package openai

import (
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// ProviderName is the name of OpenAI as a provider.
const ProviderName = "openai"

// Address is OpenAI's official address, or that of a compatible server.
var Address = provider.Address{
	BaseURL: "https://api.openai.com/v1", BaseURLVariable: "OPENAI_BASE_URL",
	KeyVariables: []string{"OPENAI_API_KEY"}, KeyHeader: "Authorization", KeyPrefix: "Bearer ",
}

// Reasoning describes the reasoning settings of OpenAI's models.
var Reasoning = provider.Reasoning{
	Efforts: []string{provider.EffortNone, "minimal", "low", "medium", "high", "xhigh"}, ByDefault: reasonsUnasked,
}

// Spec returns the provider OpenAI with Chat Completions.
func Spec() provider.Spec {
	return provider.Spec{
		Name:        ProviderName,
		Description: "A model of OpenAI, with OPENAI_API_KEY, or of any compatible server, with --base-url.",
		Roles:       []worldv1.Role{worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT},
		Aliases: []provider.Alias{
			{Name: "GPT_3_5_0125", Model: "gpt-3.5-turbo-0125"},
			{Name: "GPT_4_0125", Model: "gpt-4-0125-preview"},
			{Name: "GPT_4_o_2024_05_13", Model: "gpt-4o-2024-05-13"},
		},
		Address: Address, Reasoning: Reasoning, TakesStop: true, TakesSeed: true, Errors: errorWords, Codec: Codec{}, Compat: Codec{Compat: true}, ReplaysNative: true,
	}
}
