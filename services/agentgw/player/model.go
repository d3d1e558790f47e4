package player

import (
	"fmt"
	"net/url"
	"regexp"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// maxModel is the longest model name, as the proto has it.
const maxModel = 200

const (
	openai    = agentgwv1.Model_PROVIDER_OPENAI
	anthropic = agentgwv1.Model_PROVIDER_ANTHROPIC
	google    = agentgwv1.Model_PROVIDER_GOOGLE
	vertex    = agentgwv1.Model_PROVIDER_VERTEX
	responses = agentgwv1.Model_PROVIDER_OPENAI_RESPONSES
	cohere    = agentgwv1.Model_PROVIDER_COHERE
)

// modelForms returns the ways to name a model: by provider and model, and by the original's names.
func modelForms() []form {
	both := []worldv1.Role{user, agent}
	list := []form{
		{"anthropic:MODEL", "anthropic:", "A model of Anthropic, with ANTHROPIC_API_KEY.", both, parseModel(anthropic)},
		{"cohere:MODEL", "cohere:", "A model of Cohere, with COHERE_API_KEY.", both, parseModel(cohere)},
		{"google:MODEL", "google:", "A Gemini model of Google AI Studio, with GEMINI_API_KEY.", both, parseModel(google)},
		{"openai:MODEL", "openai:", "A model of OpenAI, with OPENAI_API_KEY, or of any compatible server, with --base-url.", both, parseModel(openai)},
		{"openai-responses:MODEL", "openai-responses:", "A model of OpenAI by its responses interface, which keeps the reasoning of earlier turns, with OPENAI_API_KEY.", both, parseModel(responses)},
		{"vertex:MODEL", "vertex:", "A Gemini model of Vertex AI, with application default credentials.", both, parseModel(vertex)},
	}
	for _, alias := range []struct {
		name     string
		provider agentgwv1.Model_Provider
		prefix   string
		model    string
	}{
		{"Claude_3_Haiku", anthropic, "anthropic:", "claude-3-haiku-20240307"},
		{"Claude_3_Opus", anthropic, "anthropic:", "claude-3-opus-20240229"},
		{"Claude_3_Sonnet", anthropic, "anthropic:", "claude-3-sonnet-20240229"},
		{"GPT_3_5_0125", openai, "openai:", "gpt-3.5-turbo-0125"},
		{"GPT_4_0125", openai, "openai:", "gpt-4-0125-preview"},
		{"GPT_4_o_2024_05_13", openai, "openai:", "gpt-4o-2024-05-13"},
		{"Gemini_1_0", vertex, "vertex:", "gemini-1.0-pro"},
		{"Gemini_1_5", vertex, "vertex:", "gemini-1.5-pro-001"},
		{"Gemini_1_5_Flash", vertex, "vertex:", "gemini-1.5-flash-001"},
	} {
		parse := parseModel(alias.provider)
		list = append(list, form{
			name: alias.name, description: "The original's name for " + alias.prefix + alias.model + ".", roles: both,
			parse: func(string) (*agentgwv1.Player, error) { return parse(alias.model) },
		})
	}
	return append(list, form{
		name: "Unhelpful", description: "The original's name for unhelpful.", roles: []worldv1.Role{agent}, parse: parseUnhelpful,
	})
}

func parseModel(provider agentgwv1.Model_Provider) func(string) (*agentgwv1.Player, error) {
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
