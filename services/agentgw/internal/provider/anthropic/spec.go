package anthropic

import (
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Spec returns the provider Anthropic.
func Spec() provider.Spec {
	return provider.Spec{
		Name:        "anthropic",
		Description: "A model of Anthropic, with ANTHROPIC_API_KEY.",
		Roles:       []worldv1.Role{worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT},
		Aliases: []provider.Alias{
			{Name: "Claude_3_Haiku", Model: "claude-3-haiku-20240307"},
			{Name: "Claude_3_Opus", Model: "claude-3-opus-20240229"},
			{Name: "Claude_3_Sonnet", Model: "claude-3-sonnet-20240229"},
		},
		Address: provider.Address{
			BaseURL: "https://api.anthropic.com", BaseURLVariable: "ANTHROPIC_BASE_URL",
			KeyVariables: []string{"ANTHROPIC_API_KEY"}, KeyHeader: "X-Api-Key",
		},
		Reasoning: provider.Reasoning{
			Efforts: []string{"low", "medium", "high", "xhigh", "max"}, Budget: true, MinBudget: 1024, BudgetInAnswer: true,
		},
		TakesStop: true, Errors: errorWords, Codec: Codec{}, Compat: Codec{Compat: true}, ReplaysNative: true,
	}
}
