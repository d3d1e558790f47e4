package cohere

import (
	"bytes"
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

// TestEncode sends a turn with a plan verbatim, and translates the rest.
func TestEncode(t *testing.T) {
	const turn = `{"role":"assistant","tool_plan":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	query := &provider.Query{
		Model: &agentgwv1.Model{Model: "m", Temperature: proto.Float64(0.5), MaxTokens: 9, ThinkingBudget: 7},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "s"}, {Kind: conversation.User, Index: 1, Text: ""}, {Kind: conversation.Assistant, Index: 2, Text: ""},
			{Kind: conversation.Assistant, Index: 3, Text: "x"}, {Kind: conversation.User, Index: 4, Text: "u"},
			{Kind: conversation.ToolCall, Index: 5, RowID: id("y"), Name: "f"}, {Kind: conversation.ToolCall, Index: 6, ID: "z", Name: "g"},
			{Kind: conversation.Result, Index: 7, RowID: id("y"), Text: "<1>"}, {Kind: conversation.Result, Index: 8, ID: "z", Text: ""},
			{Kind: conversation.ToolCall, Index: 9, RowID: id("a"), Name: "f"}, {Kind: conversation.Result, Index: 10, RowID: id("a"), Text: "2"},
		},
		Native: map[int32][]byte{9: []byte(turn)},
		Tools:  []*worldv1.Tool{{Name: "f", ParametersJson: `{"type":"object","required":[],"maximum":1.0}`}},
	}
	want := `{"model":"m","max_tokens":9,"temperature":0.5,"thinking":{"type":"enabled","token_budget":7},` +
		`"messages":[{"role":"system","content":"s"},{"role":"user","content":" "},{"role":"assistant","content":"x"},{"role":"user","content":"u"},` +
		`{"role":"assistant","tool_calls":[{"id":"y","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"z","type":"function","function":{"name":"g","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"y","content":[{"type":"document","document":{"data":"\u003c1\u003e"}}]},` +
		`{"role":"tool","tool_call_id":"z","content":[{"type":"document","document":{"data":" "}}]},` + turn +
		`,{"role":"tool","tool_call_id":"a","content":[{"type":"document","document":{"data":"2"}}]}],` +
		`"tools":[{"type":"function","function":{"name":"f","description":"","parameters":{"type":"object","required":[],"maximum":1.0}}}],"stream":false}`
	got, err := Codec{}.Encode(query)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got.Body)); diff != "" || got.Path != "/chat" {
		t.Errorf("path %s, body (-want +got):\n%s", got.Path, diff)
	}
}

// TestEncodeMinimal sends no optional field that is not set.
func TestEncodeMinimal(t *testing.T) {
	for name, tools := range map[string][]*worldv1.Tool{"none": nil, "empty": {}} {
		got, err := Codec{}.Encode(&provider.Query{Model: &agentgwv1.Model{Model: "m"}, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(`{"model":"m","messages":[],"stream":false}`, string(got.Body)); diff != "" {
			t.Errorf("tools %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEncodeTurn checks when a native turn is sent, and that each result has its call.
func TestEncodeTurn(t *testing.T) {
	const (
		plan   = `{"role":"assistant","tool_plan":"hm","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{}"}}]}`
		spoken = `{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"x"}]}`
		a      = `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
		b      = `{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}`
	)
	calling := func(index int32, id string) conversation.Entry {
		return conversation.Entry{Kind: conversation.ToolCall, Index: index, ID: id, Name: "f"}
	}
	result := func(id string) conversation.Entry {
		return conversation.Entry{Kind: conversation.Result, Index: 9, ID: id, Name: "f", Text: "1"}
	}
	text := conversation.Entry{Kind: conversation.Assistant, Text: "x"}
	calls := func(list string) string { return `{"role":"assistant","tool_calls":[` + list + `]}` }
	answered := func(id string) string {
		return `,{"role":"tool","tool_call_id":"` + id + `","content":[{"type":"document","document":{"data":"1"}}]}`
	}
	tests := map[string]struct {
		native     string
		transcript []conversation.Entry
		want       string
	}{
		"as it was":         {plan, []conversation.Entry{calling(0, "a"), calling(1, "b"), result("a")}, plan + answered("a")},
		"another id":        {plan, []conversation.Entry{calling(0, "a"), calling(1, "c"), result("a")}, calls(a+`,`+strings.ReplaceAll(b, `"b"`, `"c"`)) + answered("a")},
		"a call less":       {plan, []conversation.Entry{calling(0, "a"), result("a")}, calls(a) + answered("a")},
		"a call more":       {plan, []conversation.Entry{calling(0, "a"), calling(1, "b"), calling(2, "c")}, calls(a + `,` + b + `,` + strings.ReplaceAll(b, `"b"`, `"c"`))},
		"no JSON":           {`{`, []conversation.Entry{calling(0, "a")}, calls(a)},
		"reasoning":         {spoken, []conversation.Entry{text}, spoken},
		"calls after it":    {spoken, []conversation.Entry{text, calling(1, "a"), result("a")}, spoken + `,` + calls(a) + answered("a")},
		"plan for a text":   {plan, []conversation.Entry{text}, `{"role":"assistant","content":"x"}`},
		"call not shown":    {"", []conversation.Entry{result("a")}, calls(a) + answered("a")},
		"empty id":          {"", []conversation.Entry{calling(0, ""), result("")}, calls(strings.ReplaceAll(a, `"a"`, `"None"`)) + answered("None")},
		"results at random": {"", []conversation.Entry{calling(0, "a"), calling(1, "b"), result("b"), result("a")}, calls(a+`,`+b) + answered("b") + answered("a")},
	}
	for name, test := range tests {
		query := &provider.Query{Model: &agentgwv1.Model{Model: "m"}, Transcript: test.transcript, Native: map[int32][]byte{}}
		if test.native != "" {
			query.Native[0] = []byte(test.native)
		}
		got, err := Codec{}.Encode(query)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(`{"model":"m","messages":[`+test.want+`],"stream":false}`, string(got.Body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
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
			message(`"tool_plan":"hm","content":[{"type":"text","text":""},null],"citations":[5],"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1.0}"}}]`),
			provider.Answer{
				Calls:  []turn.Call{{ID: id("a"), Name: "f", Arguments: `{"x": 1.0}`}},
				Native: []byte(`{"role":"assistant","tool_plan":"hm","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1.0}"}}]}`),
			},
		},
		"ids": {
			message(`"tool_plan":"hm","tool_calls":[{"id":"","type":5,"function":{"name":"f","arguments":"[]"}},{"id":null,"function":{"name":"g","arguments":""}},{"function":{"name":null}},{},null]`),
			provider.Answer{Calls: []turn.Call{{ID: id(""), Name: "f", Arguments: "[]"}, {Name: "g", Arguments: "{}"}, {Arguments: "{}"}, {Arguments: "{}"}}},
		},
		"a plan that cannot go back": {
			message(`"tool_plan":"hm","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[1]"}}]`),
			provider.Answer{Calls: []turn.Call{{ID: id("a"), Name: "f", Arguments: "[1]"}}},
		},
		"parts of all kinds": {
			message(`"tool_calls":[],"content":[{"type":"text","text":null},{"text":"no type"},{"type":"new","x":1},null,{"type":"thinking","thinking":"hm","x":1e400},{"type":"text","text":"a"}]`),
			provider.Answer{Text: "a", Native: []byte(`{"role":"assistant","content":[{"type":"new","x":1},{"type":"thinking","thinking":"hm","x":1e400},{"type":"text","text":"a"}]}`)},
		},
		"empty text":  {`{"id":5,"logprobs":"x","message":{"role":"robot","content":[{"type":"text","text":""}]}}`, provider.Answer{}},
		"null text":   {message(`"content":[{"type":"text","text":null}],"tool_calls":null`), provider.Answer{EmptyReason: "the answer has neither text nor calls: COMPLETE"}},
		"no thoughts": {message(`"content":[{"type":"thinking","thinking":""},{"type":"text","text":"a"}]`), provider.Answer{Text: "a"}},
		"reasoning": {
			message(`"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]`),
			provider.Answer{Text: "ab", Native: []byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}]}`)},
		},
		"cut": {
			`{"finish_reason":"MAX_TOKENS","message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x"}}]}}`,
			provider.Answer{Calls: []turn.Call{{ID: id("a"), Name: "f", Arguments: `{"x`, Truncated: true}}},
		},
		"nothing": {message(`"content":[]`), provider.Answer{EmptyReason: "the answer has neither text nor calls: COMPLETE"}},
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

// TestDecodeInvalid checks that invalid answers are the provider's failure and not the model's.
func TestDecodeInvalid(t *testing.T) {
	for _, body := range []string{
		"", "not json", "{}", "[]", "null", `{"message":5}`, `{"message":{"content":5}}`,
		`{"finish_reason":"ERROR","message":{"content":[{"type":"text","text":"x"}]}}`,
		`{"finish_reason":"ERROR_LIMIT","message":{}}`, `{"finish_reason":"USER_CANCEL","message":{}}`,
		`{"finish_reason":"TIMEOUT","message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}`,
		`{"message":{"content":[{"type":"thinking","thinking":5}]}}`,
	} {
		if got, err := (Codec{}).Decode([]byte(body)); !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("Decode(%q): got %+v and %v, want ErrAnswer", body, got, err)
		}
	}
}

// FuzzDecode checks that any body decodes to an answer or ErrAnswer, and that its native form can
// be sent back.
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
		transcript := []conversation.Entry{{Kind: conversation.Assistant, Text: answer.Text}}
		for i, made := range answer.Calls {
			entry := conversation.Entry{Kind: conversation.ToolCall, Index: int32(i), RowID: made.ID, Name: made.Name}
			transcript = append(transcript[:i], entry)
		}
		request, err := Codec{}.Encode(&provider.Query{
			Model: &agentgwv1.Model{Model: "m"}, Native: map[int32][]byte{0: answer.Native}, Transcript: transcript,
		})
		if err != nil || len(answer.Native) > 0 && !bytes.Contains(request.Body, answer.Native) {
			t.Errorf("send %s back: got %s and %v, want it in the request", answer.Native, request.Body, err)
		}
	})
}
