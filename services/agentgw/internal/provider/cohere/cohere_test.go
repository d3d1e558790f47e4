package cohere

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func id(text string) *string { return &text }

// TestEncode sends a turn with a plan back as it was, and the rest as messages.
func TestEncode(t *testing.T) {
	const turn = `{"role":"assistant","tool_plan":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m", Temperature: proto.Float64(0.5), MaxTokens: 9, ThinkingBudget: 7},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "s"}, {Kind: conversation.User, Index: 1, Text: ""}, {Kind: conversation.Assistant, Index: 2, Text: ""},
			{Kind: conversation.Assistant, Index: 3, Text: "x"}, {Kind: conversation.User, Index: 4, Text: "u"},
			{Kind: conversation.Calling, Index: 5, RowID: id("y"), Name: "f"}, {Kind: conversation.Calling, Index: 6, ID: "z", Name: "g"},
			{Kind: conversation.Result, Index: 7, RowID: id("y"), Text: "<1>"}, {Kind: conversation.Result, Index: 8, ID: "z", Text: ""},
			{Kind: conversation.Calling, Index: 9, RowID: id("a"), Name: "f"}, {Kind: conversation.Result, Index: 10, RowID: id("a"), Text: "2"},
		},
		Native: map[int32][]byte{9: []byte(turn)},
		Tools:  []*worldv1.Tool{{Name: "f", Description: "d", ParametersJson: `{"type":"object"}`}},
	}
	want := `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":" "},{"role":"assistant","content":"x"},{"role":"user","content":"u"},` +
		`{"role":"assistant","tool_calls":[{"id":"y","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"z","type":"function","function":{"name":"g","arguments":"{}"}}]},` +
		`{"role":"tool","content":[{"type":"document","document":{"data":"\u003c1\u003e"}}],"tool_call_id":"y"},` +
		`{"role":"tool","content":[{"type":"document","document":{"data":""}}],"tool_call_id":"z"},` + turn +
		`,{"role":"tool","content":[{"type":"document","document":{"data":"2"}}],"tool_call_id":"a"}],` +
		`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],` +
		`"temperature":0.5,"max_tokens":9,"thinking":{"type":"enabled","token_budget":7},"stream":false}`
	got, err := Codec{}.Encode(query)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got.Body)); diff != "" || BaseURL+got.Path != "https://api.cohere.com/v2/chat" {
		t.Errorf("path %s, body (-want +got):\n%s", got.Path, diff)
	}
}

func TestDecode(t *testing.T) {
	message := func(text string) string {
		return `{"finish_reason":"COMPLETE","message":{"role":"assistant",` + text + `}}`
	}
	tests := map[string]struct {
		body string
		want provider.Answer
	}{
		"usage": {
			`{"message":{"content":[{"type":"text","text":"x"}]},"usage":{"billed_units":{"input_tokens":1,"output_tokens":1},"tokens":{"input_tokens":5.0,"output_tokens":4},"cached_tokens":3}}`,
			provider.Answer{Text: "x", Usage: &agentgwv1.Usage{InputTokens: 5, CachedTokens: 3, OutputTokens: 4}},
		},
		"billed only": {
			`{"message":{"content":[{"type":"text","text":"x"}]},"usage":{"billed_units":{"input_tokens":1,"output_tokens":2}}}`,
			provider.Answer{Text: "x", Usage: &agentgwv1.Usage{InputTokens: 1, OutputTokens: 2}},
		},
		"no numbers": {`{"message":{"content":[{"type":"text","text":""}]},"usage":{}}`, provider.Answer{}},
		"calls with a plan": {
			message(`"tool_plan":"hm","citations":[],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1.0}"}},{"function":{"name":"g"}}]`),
			provider.Answer{
				Calls:  []provider.Call{{ID: id("a"), Name: "f", Arguments: `{"x": 1.0}`}, {Name: "g", Arguments: "{}"}},
				Native: []byte(`{"role":"assistant","tool_plan":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1.0}"}},{"function":{"name":"g"}}]}`),
			},
		},
		"reasoning": {
			message(`"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]`),
			provider.Answer{Text: "ab", Native: []byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}`)},
		},
		"cut": {
			`{"finish_reason":"MAX_TOKENS","message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x"}}]}}`,
			provider.Answer{Calls: []provider.Call{{ID: id("a"), Name: "f", Arguments: `{"x`, Cut: true}}},
		},
		"nothing": {message(`"content":[]`), provider.Answer{Nothing: "the answer has neither text nor calls: COMPLETE"}},
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
	for _, body := range []string{"", "not json", "{}", "[]", "null", `{"message":5}`, `{"message":{"content":"x"}}`, `{"message":{},"usage":5}`} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body, got, err)
		}
	}
}

// FuzzDecode checks that whatever a server sends becomes an answer or ErrAnswer, and that its own form can be sent back.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"message":{"tool_plan":"a","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"usage":{"tokens":{"input_tokens":1e300}}}`))
	f.Add([]byte(`{"message":{"content":[{"type":"thinking","thinking":"a"},{"type":"text","text":"b"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Codec{}.Decode(body)
		if err != nil {
			if !errors.Is(err, provider.ErrAnswer) {
				t.Errorf("got %v, want ErrAnswer", err)
			}
			return
		}
		if u := answer.Usage; u.GetInputTokens() < 0 || u.GetOutputTokens() < 0 || u.GetCachedTokens() < 0 {
			t.Errorf("got usage %v, want no negative number", u)
		}
		request, err := Codec{}.Encode(&provider.Query{
			Model: &agentgwv1.Model{Model: "m"}, Native: map[int32][]byte{0: answer.Native},
			Transcript: []conversation.Entry{{Kind: conversation.Assistant, Text: answer.Text}},
		})
		if len(answer.Native) > 0 && (err != nil || !json.Valid(request.Body)) {
			t.Errorf("send %s back: got %v, want JSON", answer.Native, err)
		}
	})
}
