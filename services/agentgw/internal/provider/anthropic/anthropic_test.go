package anthropic

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

func id(text string) *string { return &text }

// TestEncodeNative sends a turn with reasoning back as it was, and the rest as usual.
func TestEncodeNative(t *testing.T) {
	const turn = `[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]`
	got, err := Codec{}.Encode(&provider.Query{
		Model: &agentgwv1.Model{Model: "m"},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "s"}, {Kind: conversation.System, Text: "t"}, {Kind: conversation.User, Text: "u"},
			{Kind: conversation.Calling, Index: 3, RowID: id("a"), Name: "f"}, {Kind: conversation.Calling, Index: 4, RowID: id("b"), Name: "f"},
			{Kind: conversation.Result, Index: 5, RowID: id("b"), Text: "1"}, {Kind: conversation.Result, Index: 6, RowID: id("a"), Text: "2", Failed: true},
			{Kind: conversation.Calling, Index: 7, ID: "None", Name: "f"},
		},
		Native: map[int32][]byte{3: []byte(turn)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","max_tokens":4096,"system":"s\n\nt","messages":[{"role":"user","content":"u"},{"role":"assistant","content":` + turn + `},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"1"}],"is_error":false},` +
		`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"2"}],"is_error":true}]},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"None","name":"f","input":{}}]}]}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestEncodeFlipped begins with a user's message, which the interface wants.
func TestEncodeFlipped(t *testing.T) {
	got, err := Codec{}.Encode(&provider.Query{
		Model: &agentgwv1.Model{Model: "m", MaxTokens: 9}, Flipped: true,
		Transcript: []conversation.Entry{{Kind: conversation.System, Text: "s"}, {Kind: conversation.Assistant, Text: "a"}, {Kind: conversation.User, Text: "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		MaxTokens int `json:"max_tokens"`
		Messages  []struct{ Role string }
	}
	if err := json.Unmarshal(got.Body, &body); err != nil {
		t.Fatal(err)
	}
	if body.MaxTokens != 9 || len(body.Messages) != 3 || body.Messages[0].Role != roleUser {
		t.Errorf("got %s, want 9 tokens and three messages, the first a user's", got.Body)
	}
}

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		body string
		want provider.Answer
	}{
		"usage": {
			`{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4}}`,
			provider.Answer{Text: "x", Usage: &agentgwv1.Usage{InputTokens: 6, CachedTokens: 3, OutputTokens: 4}},
		},
		"two texts":    {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, provider.Answer{Text: "ab"}},
		"nothing":      {`{"content":[],"stop_reason":"end_turn"}`, provider.Answer{Nothing: "the answer has neither text nor calls"}},
		"null":         {`{"content":null,"stop_reason":"end_turn"}`, provider.Answer{Nothing: "the answer has neither text nor calls"}},
		"unknown only": {`{"content":[{"type":"x"}]}`, provider.Answer{Nothing: "the answer has neither text nor calls"}},
		"cut": {
			`{"content":[{"type":"tool_use","id":"a","name":"f","input":{"z":1,"a":2}},{"type":"tool_use","name":"g"}],"stop_reason":"max_tokens"}`,
			provider.Answer{Calls: []provider.Call{{ID: id("a"), Name: "f", Arguments: `{"z":1,"a":2}`}, {Name: "g", Arguments: "null", Cut: true}}},
		},
		"reasoning": {
			`{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"x"}]}`,
			provider.Answer{Text: "x", Native: []byte(`[{"type":"thinking","thinking":"hm"},{"type":"text","text":"x"}]`)},
		},
	}
	for name, test := range tests {
		got, err := Codec{}.Decode([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&test.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, body := range []string{"", "not json", "{}", `{"content":"x"}`, "[]"} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body, got, err)
		}
	}
}

// FuzzDecode checks that whatever a server sends becomes an answer or ErrAnswer, and that its own form can be sent back.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"thinking"},{"type":"tool_use","id":"a","name":"f","input":{"a":1}}],"stop_reason":"max_tokens"}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Codec{}.Decode(body)
		if err != nil {
			if !errors.Is(err, provider.ErrAnswer) {
				t.Errorf("got %v, want ErrAnswer", err)
			}
			return
		}
		_, err = Codec{}.Encode(&provider.Query{
			Model: &agentgwv1.Model{Model: "m"}, Native: map[int32][]byte{0: answer.Native},
			Transcript: []conversation.Entry{{Kind: conversation.Assistant, Text: answer.Text}},
		})
		if err != nil && len(answer.Native) > 0 {
			t.Errorf("send %s back: %v", answer.Native, err)
		}
	})
}
