package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func id(text string) *string { return &text }

func TestEncode(t *testing.T) {
	temperature := 0.5
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m", Temperature: &temperature, MaxTokens: 7, ReasoningEffort: "none"},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "s"}, {Kind: conversation.User, Text: ""}, {Kind: conversation.Assistant, Text: ""},
			{Kind: conversation.ToolCall, ID: "a", Name: "f"}, {Kind: conversation.ToolCall, ID: "", Name: "g.h"},
			{Kind: conversation.Result, ID: "", Name: "g.h", Text: "<1>"}, {Kind: conversation.Result, ID: "a", Text: ""},
			{Kind: conversation.ToolCall, ID: "b", Name: "f"}, {Kind: conversation.User, Text: "u"},
		},
		Tools:    []*worldv1.Tool{{Name: "f", Description: "<d>", ParametersJson: `{"type": "object", "required": [], "properties": {"b": {"maximum": 1.0}, "a": {}}}`}},
		Official: true,
	}
	want := `{"messages":[{"content":"s","role":"system"},{"content":"","role":"user"},{"content":"","role":"assistant"},` +
		`{"content":"","tool_calls":[{"id":"a","function":{"arguments":"null","name":"f"},"type":"function"},` +
		`{"id":"","function":{"arguments":"null","name":"g_h"},"type":"function"}],"role":"assistant"},` +
		`{"role":"tool","content":"<1>","tool_call_id":"","name":"g_h"},{"role":"tool","content":"","tool_call_id":"a"},` +
		`{"content":"","tool_calls":[{"id":"b","function":{"arguments":"null","name":"f"},"type":"function"}],"role":"assistant"},{"content":"u","role":"user"}],` +
		`"model":"m","max_completion_tokens":7,"temperature":0.5,"reasoning_effort":"none",` +
		`"tools":[{"type":"function","function":{"name":"f","description":"<d>",` +
		`"parameters":{"type":"object","required":[],"properties":{"b":{"maximum":1.0},"a":{}}}}}]}`
	got, err := Codec{}.Encode(query)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Path != "/chat/completions" {
		t.Errorf("path %s, body (-want +got):\n%s", got.Path, diff)
	}
	hidden := *query
	hidden.Transcript = query.Transcript[:len(query.Transcript)-1]
	if got, err := (Codec{}).Encode(&hidden); err != nil || strings.Contains(string(got.Body), `"tools"`) {
		t.Errorf("after the agent's own turn: got %s and %v, want no tools", got.Body, err)
	}
	for _, parameters := range []string{"", "{", "{} {}"} {
		query.Tools[0].ParametersJson = parameters
		if got, err := (Codec{}).Encode(query); err == nil {
			t.Errorf("parameters %q: got %s, want an error", parameters, got.Body)
		}
	}
}

// TestEncodeTools leaves out an empty list of tools where it is refused. The limit's name also
// depends on the server.
func TestEncodeTools(t *testing.T) {
	tests := []struct {
		tools       []*worldv1.Tool
		own, compat bool
		want        string
	}{
		{nil, true, false, `"max_completion_tokens":7`},
		{nil, false, true, `"max_tokens":7`},
		{[]*worldv1.Tool{}, true, false, `"max_completion_tokens":7`},
		{[]*worldv1.Tool{}, true, true, `"max_completion_tokens":7,"tools":[]`},
		{[]*worldv1.Tool{}, false, false, `"max_tokens":7,"tools":[]`},
	}
	for _, test := range tests {
		got, err := Codec{}.Encode(&provider.Query{Model: &agentgwv1.Model{Model: "m", MaxTokens: 7}, Tools: test.tools, Official: test.own, Compat: test.compat})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(`{"messages":[],"model":"m",`+test.want+`}`, string(got.Body)); diff != "" {
			t.Errorf("%d tools, nil: %t, own address %t, compatible mode %t (-want +got):\n%s", len(test.tools), test.tools == nil, test.own, test.compat, diff)
		}
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
		"no choice":    {`{"choices":[]}`, provider.Answer{EmptyReason: "the answer has no choice"}},
		"no message":   {`{"choices":[{}]}`, provider.Answer{EmptyReason: "the answer's choice has no message"}},
		"nothing":      {message(`{"content":null,"tool_calls":[]}`), provider.Answer{EmptyReason: "the answer has neither text nor calls"}},
		"odd content":  {message(`{"content":5}`), provider.Answer{EmptyReason: "the answer has neither text nor calls"}},
		"empty text":   {message(`{"content":"","tool_calls":[]}`), provider.Answer{EmptyReason: "the answer has neither text nor calls"}},
		"parts":        {message(`{"content":[{"type":"text","text":"a"},{"type":"image"},{"text":"b"}]}`), provider.Answer{Text: "ab"}},
		"refusal":      {message(`{"content":null,"refusal":"no"}`), provider.Answer{Text: "no", Refusal: "refusal: no"}},
		"old call":     {message(`{"function_call":{"name":"f"}}`), provider.Answer{Calls: []turn.Call{{ID: id("call_1"), Name: "f", Arguments: "{}"}}}},
		"old and text": {message(`{"content":"hi","function_call":{"name":"f"}}`), provider.Answer{Text: "hi"}},
		"old and null": {message(`{"content":null,"function_call":{"name":"f"}}`), provider.Answer{Calls: []turn.Call{{ID: id("call_1"), Name: "f", Arguments: "{}"}}}},
		"old and none": {message(`{"content":"","function_call":{"name":"f"}}`), provider.Answer{Calls: []turn.Call{{ID: id("call_1"), Name: "f", Arguments: "{}"}}}},
		"blank":        {message(`{"content":"","tool_calls":null}`), provider.Answer{EmptyReason: "the answer has neither text nor calls", EmptyText: true}},
		"object":       {message(`{"tool_calls":[{"id":"","function":{"name":"f","arguments":{"a": 1.0}}}]}`), provider.Answer{Calls: []turn.Call{{ID: id(""), Name: "f", Arguments: `{"a": 1.0}`}}}},
		"no id":        {message(`{"content":"x","tool_calls":[{"function":{"name":"f","arguments":null}}]}`), provider.Answer{Calls: []turn.Call{{Name: "f", Arguments: "{}"}}}},
		"null call":    {message(`{"tool_calls":[null,{"id":null,"function":null}]}`), provider.Answer{Calls: []turn.Call{{Arguments: "{}"}}}},
		"no UTF-8":     {message("{\"content\":\"a\xff\\ud83d\\u0041\"}"), provider.Answer{Text: "a\ufffd\ufffdA"}},
		"odd usage":    {`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":5.0,"completion_tokens":-4,"prompt_tokens_details":null}}`, provider.Answer{Text: "x", Usage: &agentgwv1.Usage{InputTokens: 5}}},
		"no JSON":      {message(`{"tool_calls":[{"id":"1","function":{"name":"f","arguments":""}}]}`), provider.Answer{Calls: []turn.Call{{ID: id("1"), Name: "f"}}}},
		"as it stands": {message(`{"tool_calls":[{"id":"1","function":{"name":"f","arguments":" {"}}]}`), provider.Answer{Calls: []turn.Call{{ID: id("1"), Name: "f", Arguments: " {"}}}},
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
	for _, body := range []string{
		"", "not json", `{"a":`, "{}", `{"choices":{}}`, "[]", "null", `{"choices":null}`, `{"choices":[5]}`, `{"choices":[{"message":5}]}`,
		message(`{"tool_calls":5}`), message(`{"tool_calls":[5]}`),
		message(`{"tool_calls":[{"function":5}]}`), message(`{"tool_calls":[{"function":{"name":5}}]}`), message(`{"function_call":5}`),
		`{"choices":[` + strings.Repeat("{},", 1<<16) + `{}]}`,
	} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body[:min(len(body), 99)], got, err)
		}
	}
}

// TestDecodeUsage counts tokens as compatible servers name them. Input includes cached tokens, and
// output reasoning.
func TestDecodeUsage(t *testing.T) {
	for usage, want := range map[string]*agentgwv1.Usage{
		// xAI counts reasoning beside the output.
		`"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,"prompt_tokens_details":{"cached_tokens":6},"completion_tokens_details":{"reasoning_tokens":94}`: {
			InputTokens: 32, OutputTokens: 103, CachedTokens: 6, ReasoningTokens: 94,
		},
		// Google's address for clients of OpenAI counts it in the total alone.
		`"prompt_tokens":20,"completion_tokens":424,"total_tokens":1016`: {InputTokens: 20, OutputTokens: 996},
		// Counts without what they should include.
		`"prompt_tokens":10,"completion_tokens":7,"total_tokens":67,"cached_tokens":50`: {InputTokens: 60, OutputTokens: 7, CachedTokens: 50},
		`"prompt_tokens":10,"completion_tokens":7,"completion_tokens_details":{"reasoning_tokens":90}`: {
			InputTokens: 10, OutputTokens: 97, ReasoningTokens: 90,
		},
		// Moonshot.
		`"prompt_tokens":19,"completion_tokens":13,"total_tokens":32,"cached_tokens":12`: {InputTokens: 19, OutputTokens: 13, CachedTokens: 12},
		// DeepSeek.
		`"prompt_tokens":19,"completion_tokens":13,"prompt_cache_hit_tokens":12,"prompt_cache_miss_tokens":7`: {InputTokens: 19, OutputTokens: 13, CachedTokens: 12},
	} {
		got, err := Codec{}.Decode([]byte(`{"choices":[{"message":{"content":"x"}}],"usage":{` + usage + `}}`))
		if err != nil {
			t.Errorf("%s: %v", usage, err)
			continue
		}
		if diff := cmp.Diff(want, got.Usage, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", usage, diff)
		}
	}
}

// TestDecodeEmpty checks the reasons of empty answers. A refusal replaces an empty text.
func TestDecodeEmpty(t *testing.T) {
	tests := []struct{ choice, text, nothing, refusal string }{
		{`"message":{"content":""},"finish_reason":"length"`, "", "the answer has neither text nor calls: length", ""},
		{`"message":{"content":null},"finish_reason":"content_filter"`, "", "the answer has neither text nor calls: content_filter", "content_filter"},
		{`"message":{"content":[{"text":""},{"text":null}]},"finish_reason":"stop"`, "", "the answer has neither text nor calls: stop", ""},
		{`"message":{"content":"","refusal":""},"finish_reason":5`, "", "the answer has neither text nor calls", ""},
		{`"message":null,"finish_reason":"content_filter"`, "", "the answer's choice has no message: content_filter", "content_filter"},
		{`"message":{"content":"","refusal":"I can't help."},"finish_reason":"stop"`, "I can't help.", "", "refusal: I can't help."},
		{`"message":{"content":[],"refusal":"no"},"finish_reason":"stop"`, "no", "", "refusal: no"},
		{`"message":{"content":"x","refusal":"no"},"finish_reason":"length"`, "x", "", "refusal: no"},
	}
	for _, test := range tests {
		got, err := Codec{}.Decode([]byte(`{"choices":[{` + test.choice + `}]}`))
		if err != nil {
			t.Errorf("%s: %v", test.choice, err)
			continue
		}
		blank := test.nothing != "" && strings.Contains(test.choice, `"content":""`)
		if diff := cmp.Diff(&provider.Answer{Text: test.text, EmptyReason: test.nothing, EmptyText: blank, Refusal: test.refusal}, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.choice, diff)
		}
	}
}

// FuzzDecode checks that any body decodes to an answer or ErrAnswer.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"id":null,"function":{"name":"f","arguments":{}}}]}}]}`))
	f.Add([]byte(`{"choices":[{"message":{"function_call":{"name":"f","arguments":"{"}}}],"usage":{}}`))
	f.Add([]byte(`{"choices":[{"finish_reason":"error","error":{"code":502,"message":"m"},"message":{"content":"a"}}],"error":"e"}`))
	f.Add([]byte(`{"choices":[{"message":{"reasoning":"a","tool_calls":[{"extra_content":{"google":{}},"function":{"arguments":""}}]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Codec{}.Decode(body)
		if err != nil {
			if !errors.Is(err, provider.ErrAnswer) {
				t.Errorf("got %v, want ErrAnswer", err)
			}
			return
		}
		if (answer.EmptyReason == "") != (answer.Text != "" || len(answer.Calls) > 0) {
			t.Errorf("got %+v, want either something or nothing, and why", answer)
		}
	})
}
