package google

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

func TestThinking(t *testing.T) {
	for _, test := range []struct {
		model *agentgwv1.Model
		want  string
	}{
		{&agentgwv1.Model{}, ""},
		{&agentgwv1.Model{ThinkingBudget: 7}, `{"thinkingBudget":7}`},
		{&agentgwv1.Model{ReasoningEffort: "none"}, `{"thinkingBudget":0}`},
		{&agentgwv1.Model{ReasoningEffort: "low"}, `{"thinkingLevel":"LOW"}`},
	} {
		got, err := Codec{}.Encode(&provider.Query{Model: test.model})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			GenerationConfig struct{ ThinkingConfig json.RawMessage }
		}
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		if config := string(body.GenerationConfig.ThinkingConfig); config != test.want {
			t.Errorf("%v: got %s, want %s", test.model, config, test.want)
		}
	}
}

// TestEmptyTexts checks that Google gets no empty text, which it refuses.
func TestEmptyTexts(t *testing.T) {
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m"}, Official: true,
		Transcript: []conversation.Entry{
			{Kind: conversation.User, Index: 1}, {Kind: conversation.Assistant, Index: 2}, {Kind: conversation.User, Index: 3, Text: "u"},
			{Kind: conversation.Assistant, Index: 4},
		},
		Native: map[int32][]byte{4: []byte(`[{"text":"","thoughtSignature":"s"}]`)},
	}
	own := `{"contents":[{"role":"user","parts":[{"text":" "}]},{"role":"user","parts":[{"text":"u"}]},{"role":"model","parts":[{"text":"","thoughtSignature":"s"}]}]}`
	other := `{"contents":[{"role":"user","parts":[{"text":""}]},{"role":"model","parts":[{"text":""}]},{"role":"user","parts":[{"text":"u"}]},` +
		`{"role":"model","parts":[{"text":"","thoughtSignature":"s"}]}]}`
	for _, want := range []string{own, other} {
		got, err := Codec{}.Encode(query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got.Body)); diff != "" {
			t.Errorf("own address: %t: body (-want +got):\n%s", query.Official, diff)
		}
		query.Official = false
	}
	for parts, want := range map[string]string{
		`[{"text":""}]`: "", `[{"text":"","thoughtSignature":"s"}]`: `[{"text":"","thoughtSignature":"s"}]`, `[{"text":"x"}]`: `[{"text":"x"}]`,
	} {
		answer, err := Codec{}.Decode([]byte(`{"candidates":[{"content":{"parts":` + parts + `}}]}`))
		if err != nil || string(answer.Native) != want {
			t.Errorf("%s: got %+v and %v, want %q to be sent back", parts, answer, err, want)
		}
	}
}
