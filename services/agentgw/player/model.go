package player

import (
	"fmt"
	"net/url"
	"regexp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxModel is the longest model name, as the proto has it.
const maxModel = 200

// modelForms returns the ways to name a model: by provider and model, by a provider that stands for
// its usual model, and by the original's names.
func modelForms() []form {
	var list []form
	for _, spec := range providers.All(nil) {
		parse := parseModel(spec.Name)
		fixed := func(model string) func(string) (*agentgwv1.Player, error) {
			return func(string) (*agentgwv1.Player, error) { return parse(model) }
		}
		list = append(list, form{spec.Name + ":MODEL", spec.Name + ":", spec.Description, spec.Roles, parse})
		if spec.DefaultModel != "" {
			list = append(list, form{spec.Name, "", "The same as " + spec.Name + ":" + spec.DefaultModel + ".", spec.Roles, fixed(spec.DefaultModel)})
		}
		for _, a := range spec.Aliases {
			list = append(list, form{a.Name, "", "The original's name for " + spec.Name + ":" + a.Model + ".", spec.Roles, fixed(a.Model)})
		}
	}
	return append(list, form{
		name: "Unhelpful", description: "The original's name for unhelpful.", roles: []worldv1.Role{agent}, parse: parseUnhelpful,
	})
}

func parseModel(provider string) func(string) (*agentgwv1.Player, error) {
	return func(name string) (*agentgwv1.Player, error) {
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@/-]*$`).MatchString(name) || len(name) > maxModel {
			return nil, fmt.Errorf("model %q: expected letters, digits and . _ : @ / -, at most %d", name, maxModel)
		}
		return &agentgwv1.Player{Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{Provider: provider, Model: name}}}, nil
	}
}

// SetBaseURL lets a model be asked at an address other than its provider's own, e.g.
// http://localhost:8000/v1. The error says that the address is none or that the player is no model.
func SetBaseURL(p *agentgwv1.Player, address string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" && parsed.Scheme != "h2c" || parsed.Host == "" {
		return fmt.Errorf("base URL %q: expected http://, https:// or h2c:// and a host, e.g. http://localhost:8000/v1", address)
	}
	if parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return fmt.Errorf("base URL %q: expected no user, query or fragment", address)
	}
	model := p.GetModel()
	if model == nil {
		return fmt.Errorf("base URL %q: player %q is no model", address, p.GetName())
	}
	model.BaseUrl = address
	return nil
}
