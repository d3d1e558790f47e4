package player

import (
	"strings"
	"testing"

	"buf.build/go/protovalidate"
)

func TestParsePrompted(t *testing.T) {
	const hermesModel, gorillaModel, mistralModel = "NousResearch/Hermes-2-Pro-Mistral-7B", "gorilla-llm/gorilla-openfunctions-v2", "mistralai/Mistral-7B-Instruct-v0.3"
	tests := []struct {
		text     string
		provider string
		model    string
		user     bool
	}{
		{"hermes", "hermes", hermesModel, true},
		{"hermes:NousResearch/Hermes-3", "hermes", "NousResearch/Hermes-3", true},
		{"Hermes", "hermes", hermesModel, true},
		{"mistral", "mistral", mistralModel, true},
		{"MistralOpenAIServer", "mistral", mistralModel, true},
		{"cohere-prompted", "cohere-prompted", "c4ai-command-r-v01", true},
		{"cohere-prompted:CohereForAI/c4ai-command-r-v01", "cohere-prompted", "CohereForAI/c4ai-command-r-v01", true},
		{"Cohere_Command_R", "cohere-prompted", "c4ai-command-r-v01", true},
		{"Cohere_Command_R_Plus", "cohere-prompted", "c4ai-command-r-plus", true},
		{"gorilla", "gorilla", gorillaModel, false},
		{"gorilla:m", "gorilla", "m", false},
		{"Gorilla", "gorilla", gorillaModel, false},
	}
	for _, test := range tests {
		got, err := Parse(agent, test.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
			continue
		}
		if m := got.GetModel(); m.GetProvider() != test.provider || m.GetModel() != test.model {
			t.Errorf("Parse(%q): got %v, want %s of %s", test.text, got, test.model, test.provider)
		}
		if err := protovalidate.Validate(got); err != nil {
			t.Errorf("Parse(%q): %v", test.text, err)
		}
		if _, err := Parse(user, test.text); (err == nil) != test.user || err != nil && !strings.Contains(err.Error(), "cannot play the user") {
			t.Errorf("Parse(%q) for the user: got %v, want a player: %t", test.text, err, test.user)
		}
	}
}
