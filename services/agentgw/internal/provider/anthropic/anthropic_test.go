package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/turn"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func id(text string) *string { return &text }

// TestEncodeNative sends a turn with reasoning verbatim, and translates the rest.
func TestEncodeNative(t *testing.T) {
	const turn = `[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]`
	got, err := Codec{}.Encode(&provider.Query{
		Model: &agentgwv1.Model{Model: "m"},
		Transcript: []conversation.Entry{
			{Kind: conversation.System, Text: "s"}, {Kind: conversation.System, Text: "t"}, {Kind: conversation.User, Text: "u"},
			{Kind: conversation.ToolCall, Index: 3, RowID: id("a"), Name: "f"}, {Kind: conversation.ToolCall, Index: 4, RowID: id("b"), Name: "f"},
			{Kind: conversation.Result, Index: 5, RowID: id("b"), Text: "1"}, {Kind: conversation.Result, Index: 6, RowID: id("a"), Text: "2", Failed: true},
			{Kind: conversation.ToolCall, Index: 7, ID: "None", Name: "f"},
		},
		Native: map[int32][]byte{3: []byte(turn)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"max_tokens":16000,"model":"m","system":"s\n\nt","messages":[{"role":"user","content":"u"},{"role":"assistant","content":` + turn + `},` +
		`{"role":"user","content":[{"tool_use_id":"b","is_error":false,"content":[{"text":"1","type":"text"}],"type":"tool_result"},` +
		`{"tool_use_id":"a","is_error":true,"content":[{"text":"2","type":"text"}],"type":"tool_result"}]},` +
		`{"role":"assistant","content":[{"id":"None","input":{},"name":"f","type":"tool_use"}]}]}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestEncodeSystem distinguishes an empty system text from none, and does not join results around a
// system text. Anthropic itself gets neither.
func TestEncodeSystem(t *testing.T) {
	const results = `{"tool_use_id":"a","is_error":false,"content":[{"text":"1","type":"text"}],"type":"tool_result"}`
	const others = `{"tool_use_id":"b","is_error":false,"content":[{"text":"2","type":"text"}],"type":"tool_result"}`
	const calls = `{"content":[{"id":"a","input":{},"name":"f","type":"tool_use"},{"id":"b","input":{},"name":"f","type":"tool_use"}],"role":"assistant"}`
	nothing := []conversation.Entry{{Kind: conversation.User, Text: "u"}}
	blank := []conversation.Entry{{Kind: conversation.System}, {Kind: conversation.User, Text: "u"}}
	parted := []conversation.Entry{
		{Kind: conversation.User, Text: "u"},
		{Kind: conversation.ToolCall, Index: 1, RowID: id("a"), Name: "f"}, {Kind: conversation.ToolCall, Index: 2, RowID: id("b"), Name: "f"},
		{Kind: conversation.Result, Index: 3, RowID: id("a"), Text: "1"}, {Kind: conversation.System, Index: 4, Text: "s"},
		{Kind: conversation.Result, Index: 5, RowID: id("b"), Text: "2"},
	}
	const user = `{"content":"u","role":"user"}`
	two := user + "," + calls + `,{"content":[` + results + `],"role":"user"},{"content":[` + others + `],"role":"user"}`
	one := user + "," + calls + `,{"content":[` + results + "," + others + `],"role":"user"}`
	for name, test := range map[string]struct {
		transcript  []conversation.Entry
		own, compat bool
		system      any
		messages    string
	}{
		"none":                     {nothing, false, false, nil, user},
		"empty":                    {blank, false, false, "", user},
		"empty, compat":            {blank, true, true, "", user},
		"empty, Anthropic":         {blank, true, false, nil, user},
		"between results":          {parted, false, false, "s", two},
		"between results, compat":  {parted, true, true, "s", two},
		"between results, its own": {parted, true, false, "s", one},
	} {
		got, err := Codec{}.Encode(&provider.Query{Model: &agentgwv1.Model{Model: "m"}, Transcript: test.transcript, Official: test.own, Compat: test.compat})
		if err != nil {
			t.Fatal(err)
		}
		var body, want struct{ System, Messages any }
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(`{"messages":[`+test.messages+`]}`), &want); err != nil {
			t.Fatal(err)
		}
		want.System = test.system
		if diff := cmp.Diff(want, body); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEncodeAsUser begins with a user's message, which the interface requires.
func TestEncodeAsUser(t *testing.T) {
	got, err := Codec{}.Encode(&provider.Query{
		Model: &agentgwv1.Model{Model: "m", MaxTokens: 9}, PlaysUser: true,
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
	if body.MaxTokens != 9 || len(body.Messages) != 3 || body.Messages[0].Role != "user" {
		t.Errorf("got %s, want 9 tokens and three messages, the first a user's", got.Body)
	}
}

// TestEncodeTools sends raw schemas, and distinguishes no tools from an empty list.
func TestEncodeTools(t *testing.T) {
	const schema = `{"type":"object","properties":{"z":{"type":"number","default":1.0},"a":{"type":"string"}},"required":[]}`
	list := []*worldv1.Tool{{Name: "f", ParametersJson: schema}, {Name: "g", Description: "<d>", ParametersJson: "{}"}}
	tests := map[string]struct {
		tools []*worldv1.Tool
		want  string
	}{
		"left out": {nil, ""},
		"none":     {[]*worldv1.Tool{}, `,"tools":[]`},
		"two":      {list, `,"tools":[{"name":"f","description":"","input_schema":` + schema + `},{"name":"g","description":"<d>","input_schema":{}}]`},
	}
	for name, test := range tests {
		q := &provider.Query{Model: &agentgwv1.Model{Model: "m"}, Transcript: []conversation.Entry{{Kind: conversation.User, Text: "u"}}, Tools: test.tools, Compat: true}
		got, err := Codec{}.Encode(q)
		if err != nil {
			t.Fatal(err)
		}
		want := provider.Request{
			Path: "/v1/messages?beta=tools", Header: http.Header{"Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"tools-2024-05-16"}},
			Body: []byte(`{"max_tokens":1024,"model":"m","temperature":0,"messages":[{"role":"user","content":"u"}]` + test.want + `}`),
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, schema := range []string{"", "{", "x"} {
		q := &provider.Query{Model: &agentgwv1.Model{}, Tools: []*worldv1.Tool{{Name: "f", ParametersJson: schema}}}
		if got, err := (Codec{}).Encode(q); err == nil {
			t.Errorf("schema %q: got %s, want an error", schema, got.Body)
		}
	}
}

func TestDecode(t *testing.T) {
	const nothing = "the answer has neither text nor calls"
	tests := map[string]struct {
		body string
		want provider.Answer
	}{
		"usage": {
			`{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,` +
				`"output_tokens":6,"output_tokens_details":{"thinking_tokens":5}}}`,
			provider.Answer{Text: "x", Usage: &agentgwv1.Usage{InputTokens: 6, CachedTokens: 3, OutputTokens: 6, ReasoningTokens: 5}},
		},
		"usage of nulls": {`{"content":[],"usage":{"input_tokens":null,"output_tokens_details":null}}`, provider.Answer{EmptyReason: nothing}},
		"two texts":      {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, provider.Answer{Text: "ab"}},
		"null text":      {`{"content":[{"type":"text","text":null}]}`, provider.Answer{EmptyReason: nothing}},
		"half a pair":    {`{"content":[{"type":"text","text":"\ud83d\u0041"}]}`, provider.Answer{Text: "\ufffdA"}},
		"no UTF-8":       {"{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\"}]}", provider.Answer{Text: "a\ufffd"}},
		"nothing":        {`{"content":[],"stop_reason":"end_turn"}`, provider.Answer{EmptyReason: nothing}},
		"null":           {`{"content":null,"stop_reason":"end_turn"}`, provider.Answer{EmptyReason: nothing}},
		"absent":         {`{"stop_reason":"refusal","usage":null}`, provider.Answer{EmptyReason: "the provider refused to answer", Refusal: "refusal"}},
		"no room at all": {
			`{"content":[],"stop_reason":"model_context_window_exceeded"}`,
			provider.Answer{EmptyReason: "the conversation fills the model's context window", ContextOverflow: true},
		},
		"unknown only":   {`{"content":[{"type":"x","text":5},{"type":null},{},null]}`, provider.Answer{EmptyReason: nothing}},
		"only reasoning": {`{"content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"max_tokens"}`, provider.Answer{EmptyReason: "the answer reached its limit of tokens before a text or a call"}},
		"cut": {
			`{"content":[{"type":"tool_use","id":"a","name":"f","input":{"z": 1,"a":2.0}},{"type":"tool_use","name":"g"}],"stop_reason":"max_tokens"}`,
			provider.Answer{Calls: []turn.Call{{ID: id("a"), Name: "f", Arguments: `{"z": 1,"a":2.0}`}, {Name: "g", Arguments: "{}", Truncated: true}}},
		},
		"no room": {
			`{"content":[{"type":"tool_use","id":"","name":null,"input":"x"}],"stop_reason":"model_context_window_exceeded"}`,
			provider.Answer{Calls: []turn.Call{{ID: id(""), Arguments: `"x"`, Truncated: true}}},
		},
		"null id and input": {
			`{"content":[{"type":"tool_use","id":null,"name":"f","input":null},{"type":"text","text":"x"}],"stop_reason":"tool_use"}`,
			provider.Answer{Calls: []turn.Call{{Name: "f", Arguments: "{}"}}},
		},
		"reasoning": {
			`{"content":[{"type":"thinking","thinking":"hm"}, {"type":"text","text":"x"}]}`,
			provider.Answer{Text: "x", Native: []byte(`[{"type":"thinking","thinking":"hm"}, {"type":"text","text":"x"}]`)},
		},
		"reasoning and blanks": {
			`{"content":[{"type":"redacted_thinking","data":"d"},{"type":"text","text":"\n\n"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"text"}]}`,
			provider.Answer{
				Calls:  []turn.Call{{ID: id("a"), Name: "f", Arguments: "{}"}},
				Native: []byte(`[{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"a","name":"f","input":{}}]`),
			},
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
}

// TestDecodeEmptyText distinguishes an empty text that the original accepts from other empty
// answers.
func TestDecodeEmptyText(t *testing.T) {
	const block = `{"type":"text","text":""}`
	for body, want := range map[string]bool{
		`{"content":[` + block + `],"stop_reason":"end_turn"}`:                       true,
		`{"content":[` + block + `],"stop_reason":"max_tokens"}`:                     true,
		`{"content":[` + block + `],"stop_reason":"tool_use"}`:                       false,
		`{"content":[` + block + `],"stop_reason":null}`:                             false,
		`{"content":[` + block + `,` + block + `],"stop_reason":"end_turn"}`:         false,
		`{"content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"end_turn"}`: false,
		`{"content":[],"stop_reason":"end_turn"}`:                                    false,
		`{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}`:          false,
	} {
		if got, err := (Codec{}).Decode([]byte(body)); err != nil || got.EmptyText != want {
			t.Errorf("Decode(%s): got %+v and %v, want a blank: %t", body, got, err, want)
		}
	}
}

// TestDecodeInvalid checks the errors of invalid messages.
func TestDecodeInvalid(t *testing.T) {
	for body, want := range map[string]string{
		`{"content":[` + strings.Repeat("0,", 4<<20) + `0]}`: "4194307 values, expected at most 65536",
		"":                             "unexpected end of JSON input",
		"not json":                     "invalid character",
		`{"content":[]} x`:             "invalid character",
		"{}":                           "expected a message with content",
		"null":                         "expected a message with content",
		"5":                            "expected a message with content",
		"[]":                           "expected a message with content",
		`{"content":null}`:             "expected a message with content",
		`{"content":5}`:                "content: a block: expected an object",
		`{"content":[5]}`:              "content: a block: expected an object",
		`{"content":[[]]}`:             "content: a block: expected an object",
		`{"content":[{"type":5}]}`:     "type: ",
		`{"content":[{"type":["x"]}]}`: "type: ",
		`{"content":[{"type":"text","text":true}]}`:              "text: ",
		`{"content":[{"type":"tool_use","name":{},"input":{}}]}`: "name: ",
	} {
		got, err := Codec{}.Decode([]byte(body))
		if !errors.Is(err, provider.ErrAnswer) || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%.80q): got %+v and %v, want ErrAnswer with %q", body, got, err, want)
		}
	}
}

// FuzzDecode checks that any body decodes to an answer or ErrAnswer, that its texts are valid, and
// that its native form can be sent back.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"content":[{"type":"thinking"},{"type":"tool_use","id":"a","name":"f","input":{"a":1}}],"stop_reason":"max_tokens"}`,
		`{"content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1,"output_tokens_details":{"thinking_tokens":1}}}`,
		`{"content":[null,{"type":"redacted_thinking"},{"type":"text","text":"\ud83d\u0041 "},{"type":"text","citations":[{"type":"x"}]}]}`,
		`{"id":1,"container":{"expires_at":5},"stop_details":[],"model":{},"content":[{"content":[],"caller":0,"type":"tool_use","input":[1,"\u0000"]}]}`,
		`{"content":"x","stop_reason":null,"usage":null}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Codec{}.Decode(body)
		if err != nil {
			if !errors.Is(err, provider.ErrAnswer) {
				t.Errorf("got %v, want ErrAnswer", err)
			}
			return
		}
		for _, call := range answer.Calls {
			if !json.Valid([]byte(call.Arguments)) || !utf8.ValidString(call.Name+call.Arguments) || call.ID != nil && !utf8.ValidString(*call.ID) {
				t.Errorf("got call %+v, want UTF-8 and arguments in JSON", call)
			}
		}
		if !utf8.ValidString(answer.Text) || (answer.EmptyReason == "") != (answer.Text != "" || len(answer.Calls) > 0) {
			t.Errorf("got %+v, want UTF-8, and either something or the reason why not", answer)
		}
		_, err = Codec{}.Encode(&provider.Query{
			Model: &agentgwv1.Model{Model: "m"}, Official: true, Native: map[int32][]byte{0: answer.Native},
			Transcript: []conversation.Entry{{Kind: conversation.Assistant, Text: answer.Text}},
		})
		if err != nil {
			t.Errorf("send %s back: %v", answer.Native, err)
		}
	})
}
