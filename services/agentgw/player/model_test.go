package player

import (
	"strings"
	"testing"

	"buf.build/go/protovalidate"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func TestParseModel(t *testing.T) {
	tests := []struct {
		text     string
		provider string
		model    string
	}{
		{"openai:gpt-5.2", "openai", "gpt-5.2"},
		{"openai:meta-llama/Llama-3:free", "openai", "meta-llama/Llama-3:free"},
		{"anthropic:claude-x", "anthropic", "claude-x"},
		{"google:gemini-3", "google", "gemini-3"},
		{"vertex:gemini-3@default", "vertex", "gemini-3@default"},
		{"openai-responses:gpt-5", "openai-responses", "gpt-5"},
		{"cohere:command-a-03-2025", "cohere", "command-a-03-2025"},
		{"GPT_4_o_2024_05_13", "openai", "gpt-4o-2024-05-13"},
		{"Claude_3_Opus", "anthropic", "claude-3-opus-20240229"},
		{"Gemini_1_5_Flash", "vertex", "gemini-1.5-flash-001"},
	}
	for _, test := range tests {
		for _, role := range []worldv1.Role{agent, user} {
			got, err := Parse(role, test.text)
			if err != nil {
				t.Errorf("Parse(%q): %v", test.text, err)
				continue
			}
			if m := got.GetModel(); m.GetProvider() != test.provider || m.GetModel() != test.model || got.GetName() != test.text {
				t.Errorf("Parse(%q): got %v, want %s of %s", test.text, got, test.model, test.provider)
			}
			if err := protovalidate.Validate(got); err != nil {
				t.Errorf("Parse(%q): %v", test.text, err)
			}
		}
	}
}

func TestSetBaseURL(t *testing.T) {
	model, err := Parse(agent, "openai:m")
	if err != nil {
		t.Fatal(err)
	}
	if err := SetBaseURL(model, " http://localhost:8000/v1\n"); err != nil || model.GetModel().GetBaseUrl() != "http://localhost:8000/v1" {
		t.Errorf("got %v and %v, want the address", model, err)
	}
	if err := SetBaseURL(model, "HTTP://localhost:8000/V1"); err != nil || model.GetModel().GetBaseUrl() != "http://localhost:8000/V1" {
		t.Errorf("scheme in capitals: got %v and %v, want it in lower case", model, err)
	}
	oracle, err := Parse(agent, "oracle")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"localhost:8000": "expected http://, https:// or h2c://", "http://": "expected http://, https:// or h2c://", "file:///x": "expected http://, https:// or h2c://",
		"http://u:p@h": "expected no user", "http://h?q": "expected no user", "%": "expected http://, https:// or h2c://",
	} {
		if err := SetBaseURL(model, address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("SetBaseURL(%q): got %v, want %q", address, err, want)
		}
	}
	if err := SetBaseURL(oracle, "http://h"); err == nil || !strings.Contains(err.Error(), `player "oracle" is no model`) {
		t.Errorf("SetBaseURL of the oracle: got %v, want an error", err)
	}
}

// TestSeparateUser separates only the original's users, from agents at the server that
// OPENAI_BASE_URL names.
func TestSeparateUser(t *testing.T) {
	const official, elsewhere = "https://api.openai.com/v1", "http://localhost:8000/v1"
	for _, test := range []struct {
		agent, user          string
		agentURL, userURL    string
		address, wantUserURL string
	}{
		{agent: "Gorilla", user: "GPT_4_o_2024_05_13", address: official, wantUserURL: official},
		{agent: "hermes:m", user: "GPT_3_5_0125", address: official, wantUserURL: official},
		{agent: "Gorilla", user: "openai:gpt-4o-2024-05-13"},
		{agent: "Gorilla", user: "Hermes"},
		{agent: "Gorilla", user: "scripted"},
		{agent: "oracle", user: "GPT_4_0125"},
		{agent: "GPT_4_0125", user: "GPT_4_0125"},
		{agent: "Claude_3_Opus", user: "GPT_4_0125"},
		{agent: "Gemini_1_5", user: "GPT_4_0125"},
		{agent: "Gorilla", user: "GPT_4_0125", agentURL: elsewhere},
		{agent: "Gorilla", user: "GPT_4_0125", userURL: elsewhere, wantUserURL: elsewhere},
	} {
		players := make([]*agentgwv1.Player, 2)
		for i, p := range []struct {
			role      worldv1.Role
			name, url string
		}{{agent, test.agent, test.agentURL}, {user, test.user, test.userURL}} {
			var err error
			if players[i], err = Parse(p.role, p.name); err != nil {
				t.Fatal(err)
			}
			if p.url != "" {
				if err := SetBaseURL(players[i], p.url); err != nil {
					t.Fatal(err)
				}
			}
		}
		address, _ := SeparateUser(players[0], players[1])
		if got := players[1].GetModel().GetBaseUrl(); address != test.address || got != test.wantUserURL {
			t.Errorf("%s with %s: got %q and the user at %q, want %q and %q", test.agent, test.user, address, got, test.address, test.wantUserURL)
		}
	}
}

// TestFromModel reads names of models as other programs write them.
func TestFromModel(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]struct {
		name  string
		local bool
	}{
		"gpt-4o":                    {"openai:gpt-4o", false},
		"openai/gpt-4o":             {"openai:gpt-4o", false},
		"OpenAI/ft:gpt-4o:org::1":   {"openai:ft:gpt-4o:org::1", false},
		"claude-sonnet-5-5":         {"anthropic:claude-sonnet-5-5", false},
		"anthropic/claude-sonnet-5": {"anthropic:claude-sonnet-5", false},
		"gemini/gemini-2.5-pro":     {"google:gemini-2.5-pro", false},
		"vertex_ai/gemini-2.5-pro":  {"vertex:gemini-2.5-pro", false},
		"cohere/command-a-03-2025":  {"cohere:command-a-03-2025", false},
		"ollama_chat/qwen3:4b":      {"openai:qwen3:4b", true},
		"hosted_vllm/org/model":     {"openai:org/model", true},
		"org/model":                 {"openai:org/model", true},
		"qwen3":                     {"openai:qwen3", true},
		"openai:org/model":          {"openai:org/model", false},
		"hermes:org/model":          {"hermes:org/model", false},
		"GPT_4_o_2024_05_13":        {"GPT_4_o_2024_05_13", false},
		"oracle":                    {"oracle", false},
		"grpc://localhost:9000":     {"grpc://localhost:9000", false},
	} {
		if name, local := FromModel(id); name != want.name || local != want.local {
			t.Errorf("%s: got %s and %t, want %s and %t", id, name, local, want.name, want.local)
		}
	}
}
