package responses

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func id(text string) *string { return &text }

// TestEncode sends a turn with reasoning verbatim, and translates the rest.
func TestEncode(t *testing.T) {
	const reasoning = `{"encrypted_content":"e","id":"rs_1","summary":[],"type":"reasoning"}`
	const calls = `{"arguments":"{}","call_id":"a","name":"f","type":"function_call"},{"arguments":"{}","call_id":"b","name":"f","type":"function_call"}`
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "o4-mini", ReasoningEffort: "low", Temperature: proto.Float64(0.5), MaxTokens: 9},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "s"}, {Kind: conversation.User, Index: 1, Text: ""},
			{Kind: conversation.ToolCall, Index: 2, RowID: id("z"), ID: "y", Name: "f"}, {Kind: conversation.Result, Index: 3, RowID: id("z"), Text: "<0>"},
			{Kind: conversation.ToolCall, Index: 4, RowID: id("a"), Name: "f"}, {Kind: conversation.ToolCall, Index: 5, RowID: id("b"), Name: "f"},
			{Kind: conversation.Result, Index: 6, RowID: id("a"), Text: "1"}, {Kind: conversation.Result, Index: 7, RowID: id("b"), Text: "2"},
			{Kind: conversation.Assistant, Index: 8, Text: "done"},
		},
		Native: map[int32][]byte{4: []byte("[" + reasoning + "," + calls + "]")},
		Tools:  []*worldv1.Tool{{Name: "f", Description: "d", ParametersJson: `{"type":"object"}`}},
	}
	want := `{"max_output_tokens":9,"store":false,"include":["reasoning.encrypted_content"],` +
		`"input":[{"content":"s","role":"system","type":"message"},{"content":"","role":"user","type":"message"},` +
		`{"arguments":"{}","call_id":"z","name":"f","type":"function_call"},{"output":"<0>","call_id":"z","type":"function_call_output"},` +
		reasoning + "," + calls + `,{"output":"1","call_id":"a","type":"function_call_output"},{"output":"2","call_id":"b","type":"function_call_output"},` +
		`{"content":"done","role":"assistant","type":"message"}],"model":"o4-mini","reasoning":{"effort":"low"},` +
		`"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false}]}`
	got, err := Codec{}.Encode(query)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Path != "/responses" {
		t.Errorf("path %s, body (-want +got):\n%s", got.Path, diff)
	}
	query.Model = &agentgwv1.Model{Model: "gpt-4o", Temperature: proto.Float64(0.5)}
	query.Transcript, query.Tools = query.Transcript[:1], []*worldv1.Tool{}
	want = `{"store":false,"temperature":0.5,"input":[{"content":"s","role":"system","type":"message"}],"model":"gpt-4o"}`
	if got, err = (Codec{}).Encode(query); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Errorf("without reasoning: body (-want +got):\n%s", diff)
	}
}

func TestDecode(t *testing.T) {
	output := func(items string) string { return `{"status":"completed","output":[` + items + `]}` }
	tests := map[string]struct {
		body string
		want provider.Answer
	}{
		"usage": {
			`{"output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":5,"output_tokens":4,
			  "input_tokens_details":{"cached_tokens":3},"output_tokens_details":{"reasoning_tokens":2}}}`,
			provider.Answer{Text: "x", Usage: &agentgwv1.Usage{InputTokens: 5, OutputTokens: 4, CachedTokens: 3, ReasoningTokens: 2}},
		},
		"parallel calls": {
			output(`{"type":"message","content":[{"text":"Let me see."}]},{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":"{\"x\": 1.0}"},` +
				`{"type":"function_call","name":"g"}`),
			provider.Answer{Calls: []turn.Call{{ID: id("a"), Name: "f", Arguments: `{"x": 1.0}`}, {Name: "g", Arguments: "{}"}}},
		},
		"reasoning": {
			output(`{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"e","status":null},{"type":"web_search_call"},{"type":"function_call","call_id":"a","name":"f","arguments":"{"}`),
			provider.Answer{
				Calls:  []turn.Call{{ID: id("a"), Name: "f", Arguments: "{"}},
				Native: []byte(`[{"encrypted_content":"e","id":"rs","summary":[],"type":"reasoning"},{"arguments":"{","call_id":"a","name":"f","type":"function_call"}]`),
			},
		},
		"reasoning by id only": {output(`{"type":"reasoning","id":"rs"},{"type":"message","content":[{"text":"x"}]}`), provider.Answer{Text: "x"}},
		"cut": {
			`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x","status":"incomplete"}]}`,
			provider.Answer{Calls: []turn.Call{{ID: id("a"), Name: "f", Arguments: `{"x`, Truncated: true}}},
		},
		"cut in its reasoning": {
			`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","encrypted_content":"e"}]}`,
			provider.Answer{EmptyReason: "the answer has neither text nor calls: max_output_tokens"},
		},
		"no UTF-8":     {output("{\"type\":\"message\",\"content\":[null,{\"text\":\"a\xff\\ud83d\\u0041\"}]}"), provider.Answer{Text: "a\ufffd\ufffdA"}},
		"object":       {output(`{"type":"function_call","call_id":"a","name":"f","arguments":{"x": 1.0}}`), provider.Answer{Calls: []turn.Call{{ID: id("a"), Name: "f", Arguments: `{"x": 1.0}`}}}},
		"unknown item": {output(`null,{"type":"web_search_call"},{"content":[{"text":"x"}]}`), provider.Answer{EmptyReason: "the answer has neither text nor calls"}},
		"refusal":      {output(`{"type":"message","content":[{"type":"refusal","refusal":"no"}]}`), provider.Answer{Text: "no", Refusal: "refusal: no"}},
		"texts":        {output(`{"type":"message","content":[{"text":"a"},{"text":"b"}]},{"type":"message","content":[{"text":"c"}]},{"type":"message"}`), provider.Answer{Text: "abc"}},
		"nothing":      {output(""), provider.Answer{EmptyReason: "the answer has neither text nor calls"}},
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
}

// TestDecodeInvalid decodes invalid bodies.
func TestDecodeInvalid(t *testing.T) {
	for _, body := range []string{
		"", "not json", "{}", "[]", "null", `{"output":{}}`, `{"output":[5]}`, `{"output":[{"type":"message","content":5}]}`,
		`{"output":[{"type":"message","content":[{"text":5}]}]}`,
		`{"output":[{"type":"function_call","name":{}}]}`, `{"output":[{"type":"reasoning","encrypted_content":[]}]}`, `{"output":[{"type":5}]}`,
		`{"output":[` + strings.Repeat("{},", 1<<16) + `{}]}`,
		`{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}`,
		`{"error":{"code":429,"message":"m"},"output":[{"type":"message","content":[{"text":"begun"}]}]}`,
	} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body[:min(len(body), 99)], got, err)
		}
	}
}

// TestDecodeIncomplete checks that incomplete answers are not the model's turn.
func TestDecodeIncomplete(t *testing.T) {
	for _, status := range []string{"failed", "cancelled", "in_progress", "queued"} {
		body := `{"status":"` + status + `","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}`
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("%s: got %+v and %v, want ErrAnswer", status, got, err)
		}
	}
}

// FuzzDecode checks that any body decodes to an answer or ErrAnswer, and that its native form can
// be sent back.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"output":[{"type":"reasoning","encrypted_content":"e"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}","status":null}]}`))
	f.Add([]byte(`{"output":[{"type":"message","content":[{"text":"a"},{"refusal":"b"}]}],"usage":{"input_tokens":1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Codec{}.Decode(body)
		if err != nil {
			if !errors.Is(err, provider.ErrAnswer) {
				t.Errorf("got %v, want ErrAnswer", err)
			}
			return
		}
		if len(answer.Native) == 0 {
			return
		}
		request, err := Codec{}.Encode(&provider.Query{
			Model: &agentgwv1.Model{Model: "m"}, Native: map[int32][]byte{0: answer.Native},
			Transcript: []conversation.Entry{{Kind: conversation.Assistant, Text: answer.Text}},
		})
		if err != nil || !json.Valid(request.Body) {
			t.Errorf("send %s back: got %v and %v, want JSON", answer.Native, request, err)
		}
	})
}
