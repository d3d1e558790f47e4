package cohere

import (
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// Spec returns the provider Cohere.
func Spec() provider.Spec {
	return provider.Spec{
		Name:        "cohere",
		Description: "A model of Cohere, with COHERE_API_KEY.",
		Roles:       []worldv1.Role{worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT},
		Address: provider.Address{
			BaseURL: "https://api.cohere.com/v2", BaseURLVariable: "COHERE_BASE_URL",
			KeyVariables: []string{"COHERE_API_KEY", "CO_API_KEY"}, KeyHeader: "Authorization", KeyPrefix: "Bearer ",
		},
		Reasoning: provider.Reasoning{Budget: true, Temperature: true},
		TakesStop: true, TakesSeed: true, Codec: Codec{}, ReplaysNative: true,
	}
}
