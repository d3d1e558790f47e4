package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func id(text string) *string { return &text }

func TestEncode(t *testing.T) {
	temperature := 0.5
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m", Temperature: &temperature, MaxTokens: 7},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "s"}, {Kind: conversation.User, Text: ""}, {Kind: conversation.Assistant, Text: ""},
			{Kind: conversation.Calling, ID: "a", Name: "f"}, {Kind: conversation.Calling, ID: "", Name: "g"},
			{Kind: conversation.Result, ID: "", Name: "g", Text: "<1>"},
		},
		Tools: []*worldv1.Tool{}, Own: true,
	}
	want := `{"messages":[{"role":"system","content":"s"},{"role":"user","content":""},{"role":"assistant","content":""},` +
		`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"null"}},` +
		`{"id":"","type":"function","function":{"name":"g","arguments":"null"}}]},` +
		`{"role":"tool","content":"\u003c1\u003e","tool_call_id":"","name":"g"}],"model":"m","tools":[],"temperature":0.5,"max_completion_tokens":7}`
	got, err := Codec{}.Encode(query)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	query.Tools, query.Own = nil, false
	if got, err = (Codec{}).Encode(query); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(got.Body, &body); err != nil || body["tools"] != nil || body["max_tokens"] != 7.0 {
		t.Errorf("without tools, at a compatible server: got %s and %v, want no tools and max_tokens", got.Body, err)
	}
}

func TestDecode(t *testing.T) {
	message := func(text string) string { return `{"choices":[{"message":` + text + `}]}` }
	tests := map[string]struct {
		body string
		want provider.Answer
	}{
		"usage": {
			`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":5,"completion_tokens":4,
			  "prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":2}}}`,
			provider.Answer{Text: "x", Usage: &agentgwv1.Usage{InputTokens: 5, OutputTokens: 4, CachedTokens: 3, ReasoningTokens: 2}},
		},
		"no choice":    {`{"choices":[]}`, provider.Answer{Nothing: "the answer has no choice"}},
		"no message":   {`{"choices":[{}]}`, provider.Answer{Nothing: "the answer's choice has no message"}},
		"nothing":      {message(`{"content":null,"tool_calls":[]}`), provider.Answer{Nothing: "the answer has neither text nor calls"}},
		"odd content":  {message(`{"content":5}`), provider.Answer{Nothing: "the answer has neither text nor calls"}},
		"empty text":   {message(`{"content":"","tool_calls":[]}`), provider.Answer{}},
		"parts":        {message(`{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}`), provider.Answer{Text: "ab"}},
		"refusal":      {message(`{"content":null,"refusal":"no"}`), provider.Answer{Text: "no"}},
		"old call":     {message(`{"function_call":{"name":"f"}}`), provider.Answer{Calls: []provider.Call{{ID: id("call_1"), Name: "f", Arguments: "{}"}}}},
		"object":       {message(`{"tool_calls":[{"id":"","function":{"name":"f","arguments":{"a": 1.0}}}]}`), provider.Answer{Calls: []provider.Call{{ID: id(""), Name: "f", Arguments: `{"a": 1.0}`}}}},
		"no id":        {message(`{"content":"x","tool_calls":[{"function":{"name":"f","arguments":null}}]}`), provider.Answer{Calls: []provider.Call{{Name: "f", Arguments: "{}"}}}},
		"as it stands": {message(`{"tool_calls":[{"id":"1","function":{"name":"f","arguments":" {"}}]}`), provider.Answer{Calls: []provider.Call{{ID: id("1"), Name: "f", Arguments: " {"}}}},
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
	for _, body := range []string{"", "not json", `{"a":`, "{}", `{"choices":{}}`, "[]", "null"} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body, got, err)
		}
	}
}

// FuzzDecode checks that whatever a server sends becomes an answer or ErrAnswer.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"id":null,"function":{"name":"f","arguments":{}}}]}}]}`))
	f.Add([]byte(`{"choices":[{"message":{"function_call":{"name":"f","arguments":"{"}}}],"usage":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Codec{}.Decode(body)
		if err != nil {
			if !errors.Is(err, provider.ErrAnswer) {
				t.Errorf("got %v, want ErrAnswer", err)
			}
			return
		}
		if answer.Nothing != "" && (answer.Text != "" || len(answer.Calls) > 0) {
			t.Errorf("got %+v, want either something or nothing", answer)
		}
	})
}
