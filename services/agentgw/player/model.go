package player

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/providers"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxModel is the longest model name, as in the proto.
const maxModel = 200

// modelPatterns returns the patterns of models: provider and model, a provider with a default
// model, and the original's names.
func modelPatterns() []pattern {
	var list []pattern
	for _, spec := range providers.All(nil) {
		parse := parseModel(spec.Name)
		fixed := func(model string) func(string) (*agentgwv1.Player, error) {
			return func(string) (*agentgwv1.Player, error) { return parse(model) }
		}
		list = append(list, pattern{spec.Name + ":MODEL", spec.Name + ":", spec.Description, spec.Roles, parse})
		if spec.DefaultModel != "" {
			list = append(list, pattern{spec.Name, "", "The same as " + spec.Name + ":" + spec.DefaultModel + ".", spec.Roles, fixed(spec.DefaultModel)})
		}
		for _, a := range spec.Aliases {
			list = append(list, pattern{a.Name, "", "The original's name for " + spec.Name + ":" + a.Model + ".", spec.Roles, fixed(a.Model)})
		}
	}
	return append(list, pattern{
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

// SetBaseURL sets another address than the provider's own for a model, e.g.
// http://localhost:8000/v1. White space around it does not count. It fails if the address is
// invalid or the player is no model.
func SetBaseURL(p *agentgwv1.Player, address string) error {
	base, err := ParseBaseURL(address)
	if err != nil {
		return err
	}
	model := p.GetModel()
	if model == nil {
		return fmt.Errorf("base URL %q: player %q is no model", base, p.GetName())
	}
	model.BaseUrl = base
	return nil
}

// ParseBaseURL returns the address of a model server without blanks around it, and with its scheme
// in lower case.
func ParseBaseURL(address string) (string, error) {
	address = strings.TrimSpace(address)
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" && parsed.Scheme != "h2c" || parsed.Host == "" {
		return "", fmt.Errorf("base URL %q: expected http://, https:// or h2c:// and a host, e.g. http://localhost:8000/v1", address)
	}
	if parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return "", fmt.Errorf("base URL %q: expected no user, query or fragment", address)
	}
	return parsed.Scheme + address[len(parsed.Scheme):], nil // url.Parse returns the scheme in lower case
}

// SeparateUser sets the official address of a user with one of the original's names if the agent
// has no official address and both would read it from the same variable, which the original does
// not read for such users. It returns the address and the variable, otherwise nothing. Addresses
// that are set stay.
func SeparateUser(agent, user *agentgwv1.Player) (address, variable string) {
	all := providers.All(nil)
	served, ok := providers.Named(all, agent.GetModel().GetProvider())
	if !ok || served.Address.BaseURL != "" || agent.GetModel().GetBaseUrl() != "" {
		return "", ""
	}
	asked, ok := providers.Named(all, user.GetModel().GetProvider())
	if !ok || asked.Address.BaseURLVariable != served.Address.BaseURLVariable || user.GetModel().GetBaseUrl() != "" {
		return "", ""
	}
	if !slices.ContainsFunc(asked.Aliases, func(a provider.Alias) bool { return a.Name == user.GetName() }) {
		return "", ""
	}
	user.GetModel().BaseUrl = asked.Address.BaseURL
	return asked.Address.BaseURL, asked.Address.BaseURLVariable
}
