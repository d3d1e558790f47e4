package openai

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestReasoningFields keeps the reasoning of compatible servers, and sends it back with the text
// or the calls.
func TestReasoningFields(t *testing.T) {
	const call = `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for _, test := range []struct{ message, native string }{
		{`"reasoning_content":"hm <1>",` + call, `{"reasoning_content":"hm <1>"}`},
		{`"reasoning_details":[ {"type": "reasoning.text"} ],"reasoning":"hm",` + call, `{"reasoning_details":[{"type":"reasoning.text"}]}`},
		{`"reasoning_content":"a","reasoning_details":[1],` + call, `{"reasoning_content":"a","reasoning_details":[1]}`},
		{`"reasoning":"hm",` + call, `{"reasoning":"hm"}`},
		{`"reasoning_content":"hm","reasoning":"hm",` + call, `{"reasoning_content":"hm","reasoning":"hm"}`},
		{`"reasoning":"hm","reasoning_details":[],` + call, `{"reasoning":"hm"}`},
		{`"reasoning":{"effort":"low"},` + call, ""},
		{`"reasoning":"",` + call, ""},
		{`"reasoning_content":"","reasoning_details":null,` + call, ""},
		{call, ""},
		{`"reasoning_content":"hm","content":"a text"`, `{"reasoning_content":"hm"}`},
		{`"content":"<think>hm</think>a text"`, `{"reasoning_content":"hm"}`},
		{`"content":"<think>hm</think>",` + call, `{"reasoning_content":"hm"}`},
		{`"reasoning":"so","content":"<think>hm</think>a text"`, `{"reasoning":"so"}`},
		{`"content":"a text"`, ""},
	} {
		got, err := Codec{}.Decode([]byte(`{"choices":[{"message":{` + test.message + `}}]}`))
		if err != nil || string(got.Native) != strings.ReplaceAll(strings.ReplaceAll(test.native, "<", `\u003c`), ">", `\u003e`) {
			t.Errorf("Decode(%s): got %+v and %v, want the native form %s", test.message, got, err, test.native)
		}
	}
	query := &provider.Query{
		Model:  &agentgwv1.Model{Model: "m"},
		Native: map[int32][]byte{2: []byte(`{"reasoning_content":"hm","reasoning":"so","reasoning_details":[1]}`)},
		Transcript: []conversation.Entry{
			{Kind: conversation.User, Text: "u"}, {Kind: conversation.ToolCall, Index: 2, ID: "a", Name: "f"}, {Kind: conversation.ToolCall, Index: 3, ID: "b", Name: "f"},
			{Kind: conversation.Result, Index: 4, ID: "a"}, {Kind: conversation.ToolCall, Index: 5, ID: "c", Name: "f"},
			{Kind: conversation.Result, Index: 6, ID: "c"}, {Kind: conversation.Assistant, Index: 7, Text: "done"},
		},
	}
	query.Native[7] = query.Native[2]
	for _, test := range []struct {
		own, compat bool
		want        int
	}{{false, false, 2}, {true, false, 0}, {false, true, 0}} {
		query.Official, query.Compat = test.own, test.compat
		got, err := Codec{}.Encode(query)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{`"reasoning_content":"hm"`, `"reasoning":"so"`, `"reasoning_details":[1]`} {
			if n := strings.Count(string(got.Body), field); n != test.want {
				t.Errorf("own %t, compat %t: got %s, want %s in it %d times", test.own, test.compat, got.Body, field, test.want)
			}
		}
	}
}

// TestExtras sends server-specific fields back with the same calls.
func TestExtras(t *testing.T) {
	const signature = `"extra_content":{"google":{"thought_signature":"s<1>"}}`
	answer := func(calls string) string { return `{"choices":[{"message":{"tool_calls":[` + calls + `]}}]}` }
	function := func(name string) string {
		return `"type":"function","function":{"name":"` + name + `","arguments":"{}"}`
	}
	transcript := []conversation.Entry{
		{Kind: conversation.User, Text: "u"},
		{Kind: conversation.ToolCall, Index: 2, ID: "a", Name: "f", Arguments: (&python.Dict{}).Value()},
		{Kind: conversation.ToolCall, Index: 3, ID: "b", Name: "g", Arguments: (&python.Dict{}).Value()},
		{Kind: conversation.Result, Index: 4, ID: "a"}, {Kind: conversation.Result, Index: 5, ID: "b"},
		{Kind: conversation.ToolCall, Index: 6, ID: "c", Name: "h", Arguments: (&python.Dict{}).Value()},
	}
	sent := func(id, name, extra string) string {
		return `{"id":"` + id + `","function":{"arguments":"{}","name":"` + name + `"},"type":"function"` + extra + `}`
	}
	escaped := "," + strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(signature)
	both := `{"id":"a",` + signature + `,` + function("f") + `},{"id":"b","x":1,"a.b":[2],` + function("g") + `}`
	tests := map[string]struct {
		calls       string
		own, compat bool
		f, g        string
	}{
		"first":        {`{"id":"a",` + signature + `,` + function("f") + `},{"id":"b",` + function("g") + `}`, false, false, escaped, ""},
		"second":       {`{"id":"a",` + function("f") + `},{"id":"b",` + signature + `,` + function("g") + `}`, false, false, "", escaped},
		"both":         {both, false, false, escaped, `,"a.b":[2],"x":1`},
		"at OpenAI":    {both, true, false, "", ""},
		"compatible":   {both, false, true, "", ""},
		"ordinary":     {`{"id":"a","index":0,"extra_content":null,` + function("f") + `},{"id":"b","index":1,"y":{},` + function("g") + `}`, false, false, "", ""},
		"signed twice": {`{"id":"a",` + signature + `,` + function("f") + `},{"id":"b",` + signature + `,` + function("g") + `}`, false, false, escaped, escaped},
	}
	for name, test := range tests {
		said, err := Codec{}.Decode([]byte(answer(test.calls)))
		if err != nil {
			t.Fatal(err)
		}
		if name == "ordinary" && said.Native != nil {
			t.Errorf("%s: got the native form %s, want none", name, said.Native)
		}
		got, err := Codec{}.Encode(&provider.Query{
			Model: &agentgwv1.Model{Model: "m"}, Transcript: transcript, Native: map[int32][]byte{2: said.Native}, Official: test.own, Compat: test.compat,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`[` + sent("a", "f", test.f) + `,` + sent("b", "g", test.g) + `]`, `[` + sent("c", "h", "") + `]`} {
			if !strings.Contains(string(got.Body), `"tool_calls":`+want) {
				t.Errorf("%s: got %s, want the calls %s in it", name, got.Body, want)
			}
		}
	}
}
