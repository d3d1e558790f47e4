// Package providers lists all model providers. A new provider has its own package and one line
// here.
package providers

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/anthropic"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/cohere"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/dialect"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/google"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/openai"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/responses"
)

// All returns all providers in a fixed order, with the dialects of dialect.Load. Nil dialects
// suffice for names. Each knows the error words of all, because proxies pass them on.
func All(dialects map[string]dialect.Codec) []provider.Spec {
	specs := slices.Concat([]provider.Spec{
		anthropic.Spec(),
		cohere.Spec(),
		google.StudioSpec(),
		google.VertexSpec(),
		openai.Spec(),
		responses.Spec(),
	}, dialect.Specs(dialects))
	words := make([]provider.ErrorWords, len(specs))
	for i := range specs {
		words[i] = specs[i].Errors
	}
	merged := provider.MergeErrorWords(words...)
	for i := range specs {
		specs[i].Errors = merged
	}
	return specs
}

// Named returns the provider of a name, false if there is none.
func Named(specs []provider.Spec, name string) (*provider.Spec, bool) {
	i := slices.IndexFunc(specs, func(s provider.Spec) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return &specs[i], true
}

// Names returns the names of providers.
func Names(specs []provider.Spec) []string {
	names := make([]string, len(specs))
	for i := range specs {
		names[i] = specs[i].Name
	}
	return names
}
