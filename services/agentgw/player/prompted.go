package player

import (
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	hermes   = agentgwv1.Model_PROVIDER_HERMES
	gorilla  = agentgwv1.Model_PROVIDER_GORILLA
	mistral  = agentgwv1.Model_PROVIDER_MISTRAL
	prompted = agentgwv1.Model_PROVIDER_COHERE_PROMPTED
)

// alias is a name of the original and its model.
type alias struct{ name, model string }

// promptedForms returns the ways to name a model that is asked with a prompt in its own form, at
// --base-url.
func promptedForms() []form {
	both := []worldv1.Role{user, agent}
	var list []form
	for _, d := range []struct {
		name     string
		provider agentgwv1.Model_Provider
		models   string
		roles    []worldv1.Role
		aliases  []alias // the first one's model is the default
	}{
		{"cohere-prompted", prompted, "A Command-R model", both, []alias{
			{"Cohere_Command_R", "c4ai-command-r-v01"}, {"Cohere_Command_R_Plus", "c4ai-command-r-plus"},
		}},
		{"gorilla", gorilla, "A Gorilla OpenFunctions model", []worldv1.Role{agent}, []alias{{"Gorilla", "gorilla-llm/gorilla-openfunctions-v2"}}},
		{"hermes", hermes, "A Hermes model", both, []alias{{"Hermes", "NousResearch/Hermes-2-Pro-Mistral-7B"}}},
		{"mistral", mistral, "A Mistral instruction model", both, []alias{{"MistralOpenAIServer", "mistralai/Mistral-7B-Instruct-v0.3"}}},
	} {
		parse := parseModel(d.provider)
		fixed := func(model string) func(string) (*agentgwv1.Player, error) {
			return func(string) (*agentgwv1.Player, error) { return parse(model) }
		}
		list = append(list,
			form{d.name + ":MODEL", d.name + ":", d.models + ", prompted in its own form at --base-url or OPENAI_BASE_URL.", d.roles, parse},
			form{d.name, "", "The same as " + d.name + ":" + d.aliases[0].model + ".", d.roles, fixed(d.aliases[0].model)},
		)
		for _, a := range d.aliases {
			list = append(list, form{a.name, "", "The original's name for " + d.name + ":" + a.model + ".", d.roles, fixed(a.model)})
		}
	}
	return append(list, form{
		"plain:MODEL", "plain:", "A model without calls of any form at --base-url or OPENAI_BASE_URL, which writes [END] to end.",
		[]worldv1.Role{user}, parseModel(agentgwv1.Model_PROVIDER_PLAIN),
	})
}
