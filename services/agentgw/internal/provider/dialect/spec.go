package dialect

import (
	"slices"
	"text/template"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	user  = worldv1.Role_ROLE_USER
	agent = worldv1.Role_ROLE_AGENT
)

// definition is a dialect: its template, its codec without that, and its provider.
type definition struct {
	template string
	codec    Codec
	spec     provider.Spec
}

// definitions returns all dialects.
func definitions() []definition {
	both := []worldv1.Role{user, agent}
	const prompted = ", prompted in its own form at --base-url or OPENAI_BASE_URL."
	return []definition{
		{Cohere, Codec{maxTokens: shortAnswer, parse: parseCohere}, provider.Spec{
			Name: "cohere-prompted", Description: "A Command-R model" + prompted, Roles: both,
			DefaultModel: "c4ai-command-r-v01", Aliases: []provider.Alias{
				{Name: "Cohere_Command_R", Model: "c4ai-command-r-v01"}, {Name: "Cohere_Command_R_Plus", Model: "c4ai-command-r-plus"},
			},
		}},
		// Its prompt has a single text, so it cannot play the user.
		{Gorilla, Codec{maxTokens: shortAnswer, parse: parseGorilla}, provider.Spec{
			Name: "gorilla", Description: "A Gorilla OpenFunctions model" + prompted, Roles: []worldv1.Role{agent},
			DefaultModel: "gorilla-llm/gorilla-openfunctions-v2", Aliases: []provider.Alias{{Name: "Gorilla", Model: "gorilla-llm/gorilla-openfunctions-v2"}},
		}},
		{Hermes, Codec{maxTokens: longAnswer, parse: parseHermes}, provider.Spec{
			Name: "hermes", Description: "A Hermes model" + prompted, Roles: both,
			DefaultModel: "NousResearch/Hermes-2-Pro-Mistral-7B", Aliases: []provider.Alias{{Name: "Hermes", Model: "NousResearch/Hermes-2-Pro-Mistral-7B"}},
		}},
		{Mistral, Codec{maxTokens: shortAnswer, shape: shapeMistral, parse: parseMistral}, provider.Spec{
			Name: "mistral", Description: "A Mistral instruction model" + prompted, Roles: both,
			DefaultModel: "mistralai/Mistral-7B-Instruct-v0.3", Aliases: []provider.Alias{{Name: "MistralOpenAIServer", Model: "mistralai/Mistral-7B-Instruct-v0.3"}},
		}},
		{Plain, Codec{maxTokens: shortAnswer, parse: parsePlain}, provider.Spec{
			Name: "plain", Description: "A model without calls of any form at --base-url or OPENAI_BASE_URL, which ends with [END].", Roles: []worldv1.Role{user},
		}},
	}
}

// Specs returns the dialects as providers. Each needs a server at --base-url, because these models
// have no official address. codecs are those of Load. Nil suffices for names.
func Specs(codecs map[string]Codec) []provider.Spec {
	var specs []provider.Spec
	for _, d := range definitions() {
		spec := d.spec
		compat := codecs[d.template]
		compat.compat = true
		spec.Codec, spec.Compat, spec.Address, spec.Prompted = codecs[d.template], compat, openai.Address, true
		spec.TakesStop, spec.TakesSeed = true, true
		spec.Address.BaseURL, spec.Address.NoKey = "", "EMPTY"
		specs = append(specs, spec)
	}
	return specs
}

// Files returns the names of the template files.
func Files() []string {
	var files []string
	for _, d := range definitions() {
		files = append(files, d.template+suffix)
	}
	return files
}

// codec returns the codec of a template's name, false if there is none.
func codec(name string, t *template.Template) (Codec, bool) {
	all := definitions()
	i := slices.IndexFunc(all, func(d definition) bool { return d.template == name })
	if i < 0 {
		return Codec{}, false
	}
	found := all[i].codec
	found.template = t
	return found, true
}
