package dialect

import (
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	user  = worldv1.Role_ROLE_USER
	agent = worldv1.Role_ROLE_AGENT
)

// Specs returns the dialects as providers. Each needs a server at --base-url, because these models
// have no official address. codecs are those of Load. Nil suffices for names.
func Specs(codecs map[string]Codec) []provider.Spec {
	both := []worldv1.Role{user, agent}
	const prompted = ", prompted in its own form at --base-url or OPENAI_BASE_URL."
	list := []provider.Spec{
		{
			Name: "cohere-prompted", Description: "A Command-R model" + prompted, Roles: both, Codec: codecs[Cohere],
			DefaultModel: "c4ai-command-r-v01", Aliases: []provider.Alias{
				{Name: "Cohere_Command_R", Model: "c4ai-command-r-v01"}, {Name: "Cohere_Command_R_Plus", Model: "c4ai-command-r-plus"},
			},
		},
		{
			// Its prompt has a single text, so it cannot play the user.
			Name: Gorilla, Description: "A Gorilla OpenFunctions model" + prompted, Roles: []worldv1.Role{agent}, Codec: codecs[Gorilla],
			DefaultModel: "gorilla-llm/gorilla-openfunctions-v2", Aliases: []provider.Alias{{Name: "Gorilla", Model: "gorilla-llm/gorilla-openfunctions-v2"}},
		},
		{
			Name: Hermes, Description: "A Hermes model" + prompted, Roles: both, Codec: codecs[Hermes],
			DefaultModel: "NousResearch/Hermes-2-Pro-Mistral-7B", Aliases: []provider.Alias{{Name: "Hermes", Model: "NousResearch/Hermes-2-Pro-Mistral-7B"}},
		},
		{
			Name: Mistral, Description: "A Mistral instruction model" + prompted, Roles: both, Codec: codecs[Mistral],
			DefaultModel: "mistralai/Mistral-7B-Instruct-v0.3", Aliases: []provider.Alias{{Name: "MistralOpenAIServer", Model: "mistralai/Mistral-7B-Instruct-v0.3"}},
		},
		{
			Name: Plain, Description: "A model without calls of any form at --base-url or OPENAI_BASE_URL, which ends with [END].",
			Roles: []worldv1.Role{user}, Codec: codecs[Plain],
		},
	}
	for i := range list {
		list[i].Address = openai.Address
		list[i].Address.BaseURL, list[i].Address.NoKey = "", "EMPTY"
	}
	return list
}
