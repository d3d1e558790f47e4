package openai

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// TestThoughts keeps what compatible servers call reasoning beside calls, and sends it back to them with the calls.
func TestThoughts(t *testing.T) {
	const call = `"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for _, test := range []struct{ message, native string }{
		{`"reasoning_content":"hm <1>",` + call, `{"reasoning_content":"hm <1>"}`},
		{`"reasoning_details":[ {"type": "reasoning.text"} ],"reasoning":"hm",` + call, `{"reasoning_details":[{"type":"reasoning.text"}]}`},
		{`"reasoning_content":"a","reasoning_details":[1],` + call, `{"reasoning_content":"a","reasoning_details":[1]}`},
		{`"reasoning_content":"","reasoning_details":null,` + call, ""},
		{call, ""},
		{`"reasoning_content":"hm","content":"a text"`, ""},
	} {
		got, err := Codec{}.Decode([]byte(`{"choices":[{"message":{` + test.message + `}}]}`))
		if err != nil || string(got.Native) != strings.ReplaceAll(strings.ReplaceAll(test.native, "<", `\u003c`), ">", `\u003e`) {
			t.Errorf("Decode(%s): got %+v and %v, want the native form %s", test.message, got, err, test.native)
		}
	}
	query := &provider.Query{
		Model:  &agentgwv1.Model{Model: "m"},
		Native: map[int32][]byte{2: []byte(`{"reasoning_content":"hm","reasoning_details":[1]}`)},
		Transcript: []conversation.Entry{
			{Kind: conversation.User, Text: "u"}, {Kind: conversation.Calling, Index: 2, ID: "a", Name: "f"}, {Kind: conversation.Calling, Index: 3, ID: "b", Name: "f"},
			{Kind: conversation.Result, Index: 4, ID: "a"}, {Kind: conversation.Calling, Index: 5, ID: "c", Name: "f"},
		},
	}
	for _, test := range []struct {
		own, compat bool
		want        int
	}{{false, false, 1}, {true, false, 0}, {false, true, 0}} {
		query.Own, query.Compat = test.own, test.compat
		got, err := Codec{}.Encode(query)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{`"reasoning_content":"hm"`, `"reasoning_details":[1]`} {
			if n := strings.Count(string(got.Body), field); n != test.want {
				t.Errorf("own %t, compat %t: got %s, want %s in it %d times", test.own, test.compat, got.Body, field, test.want)
			}
		}
	}
}
