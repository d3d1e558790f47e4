package responses

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestNative keeps a native turn only if the provider accepts it back.
func TestNative(t *testing.T) {
	const (
		reasoning = `{"encrypted_content":"e","id":"rs","summary":[],"type":"reasoning"}`
		call      = `{"arguments":"{}","call_id":"a","name":"f","type":"function_call"}`
		said      = `{"content":[{"text":"x"}],"type":"message"}`
	)
	tests := map[string]struct{ output, want string }{
		"reasoning and a call":      {reasoning + "," + call, "[" + reasoning + "," + call + "]"},
		"reasoning in between":      {said + "," + reasoning + "," + reasoning + "," + call, "[" + said + "," + reasoning + "," + reasoning + "," + call + "]"},
		"reasoning at the end":      {reasoning + "," + call + "," + reasoning, "[" + reasoning + "," + call + "]"},
		"only at the end":           {call + "," + reasoning, ""},
		"no reasoning":              {call, ""},
		"a message without content": {reasoning + `,{"type":"message","content":[]},` + call, "[" + reasoning + "," + call + "]"},
		"a call without an id":      {reasoning + `,{"type":"function_call","name":"f","arguments":"{}"}`, ""},
		"arguments that are none":   {reasoning + `,{"type":"function_call","call_id":"a","name":"f","arguments":{}}`, ""},
		"a call with an empty id":   {reasoning + `,{"type":"function_call","call_id":"","name":"f","arguments":"{}"},` + call, ""},
		"a name that is none":       {reasoning + `,{"type":"function_call","call_id":"a","name":"multi_tool_use.parallel","arguments":"{}"}`, ""},
		"unknown fields stay":       {reasoning + `,{"type":"function_call","call_id":"a","name":"f","arguments":"","new":{"x":[1.0]},"old":null}`, "[" + reasoning + `,{"arguments":"","call_id":"a","name":"f","new":{"x":[1.0]},"type":"function_call"}]`},
	}
	for name, test := range tests {
		got, err := Codec{}.Decode([]byte(`{"output":[` + test.output + `]}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, string(got.Native)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEncodeCall replaces ids and names that the provider would refuse.
func TestEncodeCall(t *testing.T) {
	got, err := Codec{}.Encode(&provider.Query{
		Model: &agentgwv1.Model{Model: "m"}, Official: true, Native: map[int32][]byte{1: []byte(`[{"type":"reasoning"}]`)},
		Transcript: []conversation.Entry{
			{Kind: conversation.ToolCall, RowID: id(""), Name: "a.b"}, {Kind: conversation.Result, RowID: id(""), Index: 1, Name: "a.b", Text: "1"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"store":false,"input":[{"arguments":"null","call_id":"none","name":"a_b","type":"function_call"},` +
		`{"output":"1","call_id":"none","type":"function_call_output"}],"model":"m"}`
	if diff := cmp.Diff(want, string(got.Body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	got, err = Codec{}.Encode(&provider.Query{
		Model: &agentgwv1.Model{Model: "m"}, Native: map[int32][]byte{0: []byte(`{}`)}, Transcript: []conversation.Entry{{Kind: conversation.Assistant}},
	})
	if err == nil {
		t.Errorf("a recorded turn that is no list: got %s, want an error", got.Body)
	}
}
