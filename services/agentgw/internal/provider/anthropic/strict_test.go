package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider/conversation"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
)

// sentMessages returns the messages of a request as JSON.
func sentMessages(t *testing.T, q *provider.Query) string {
	t.Helper()
	q.Model = &agentgwv1.Model{Model: "m"}
	got, err := Codec{}.Encode(q)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Messages json.RawMessage }
	if err := json.Unmarshal(got.Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Messages)
}

// use, result and text are entries of a transcript.
func use(index int32, of, name string) conversation.Entry {
	return conversation.Entry{Kind: conversation.ToolCall, Index: index, RowID: id(of), Name: name}
}

func result(index int32, of, text string) conversation.Entry {
	return conversation.Entry{Kind: conversation.Result, Index: index, RowID: id(of), Name: "f", Text: text}
}

func text(kind conversation.Kind, index int32, text string) conversation.Entry {
	return conversation.Entry{Kind: kind, Index: index, Text: text}
}

// sentUse and sentResult are blocks of a request.
func sentUse(of, name string) string {
	return `{"id":"` + of + `","input":{},"name":"` + name + `","type":"tool_use"}`
}

func sentResult(of, text string, failed bool) string {
	content, failure := `[{"text":"`+text+`","type":"text"}]`, "false"
	if text == "" {
		content = "[]"
	}
	if failed {
		failure = "true"
	}
	return `{"tool_use_id":"` + of + `","is_error":` + failure + `,"content":` + content + `,"type":"tool_result"}`
}

// turns returns alternating messages of the user and the assistant.
func turns(contents ...string) string {
	list := make([]string, len(contents))
	for i, content := range contents {
		list[i] = `{"role":"` + [...]string{"user", "assistant"}[i%2] + `","content":` + content + `}`
	}
	return "[" + strings.Join(list, ",") + "]"
}

// TestPairCalls checks transcripts that Anthropic refuses, and their replacements.
func TestPairCalls(t *testing.T) {
	const user, assistant = conversation.User, conversation.Assistant
	u := text(user, 1, "u")
	const native = `[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"a.1","name":"f","input":{}}]`
	tests := map[string]struct {
		transcript []conversation.Entry
		native     map[int32][]byte
		want       string
	}{
		"as it should be": {
			[]conversation.Entry{u, use(2, "a", "f"), use(3, "b", "f"), result(4, "b", "1"), result(5, "a", "2")}, nil,
			turns(`"u"`, "["+sentUse("a", "f")+","+sentUse("b", "f")+"]", "["+sentResult("b", "1", false)+","+sentResult("a", "2", false)+"]"),
		},
		"ids of another shape": {
			[]conversation.Entry{u, use(2, "a.1", "f"), use(3, "", "f"), use(4, "call_2", "f"), result(5, "", "1"), result(6, "a.1", "2"), result(7, "call_2", "3")}, nil,
			turns(`"u"`, "["+sentUse("call_2", "f")+","+sentUse("call_3", "f")+","+sentUse("call_4", "f")+"]",
				"["+sentResult("call_3", "1", false)+","+sentResult("call_2", "2", false)+","+sentResult("call_4", "3", false)+"]"),
		},
		"a fresh id that is taken": {
			[]conversation.Entry{u, use(2, "call_3", "f"), use(3, "é", "f"), result(4, "é", "1"), result(5, "call_3", "2")}, nil,
			turns(`"u"`, "["+sentUse("call_3", "f")+","+sentUse("call_3_1", "f")+"]", "["+sentResult("call_3_1", "1", false)+","+sentResult("call_3", "2", false)+"]"),
		},
		"an id used again": {
			[]conversation.Entry{u, use(2, "a", "f"), result(3, "a", "1"), use(4, "a", "f"), use(5, "a", "f"), result(6, "a", "2"), result(7, "a", "3")}, nil,
			turns(`"u"`, "["+sentUse("a", "f")+"]", "["+sentResult("a", "1", false)+"]", "["+sentUse("call_4", "f")+","+sentUse("call_5", "f")+"]",
				"["+sentResult("call_4", "2", false)+","+sentResult("call_5", "3", false)+"]"),
		},
		"no result": {
			[]conversation.Entry{u, use(2, "a", "f"), use(3, "b", "f"), result(4, "b", "1"), text(conversation.System, 5, "s"), use(6, "c", "f")}, nil,
			turns(`"u"`, "["+sentUse("a", "f")+","+sentUse("b", "f")+"]", "["+sentResult("b", "1", false)+","+sentResult("a", placeholder, true)+"]",
				"["+sentUse("c", "f")+"]", "["+sentResult("c", placeholder, true)+"]"),
		},
		"no call": {
			[]conversation.Entry{result(1, "z", "1"), text(assistant, 2, "x"), result(3, "y", "2")}, nil,
			turns(`"Result of f: 1"`, `"x"`, `"Result of f: 2"`),
		},
		"odd names": {
			[]conversation.Entry{u, use(2, "a", ""), use(3, "b", "né x"), result(4, "a", "1"), result(5, "b", "2")}, nil,
			turns(`"u"`, "["+sentUse("a", "unnamed")+","+sentUse("b", "n__x")+"]", "["+sentResult("a", "1", false)+","+sentResult("b", "2", false)+"]"),
		},
		"own form": {
			[]conversation.Entry{u, use(2, "a.1", "f"), text(user, 3, "v")}, map[int32][]byte{2: []byte(native)},
			`[{"role":"user","content":"u"},{"role":"assistant","content":` + native + `},{"role":"user","content":[` + sentResult("a.1", placeholder, true) + `]},{"role":"user","content":"v"}]`,
		},
		"only system": {[]conversation.Entry{text(conversation.System, 0, "s")}, nil, turns(`"Hello."`)},
	}
	for name, test := range tests {
		got := sentMessages(t, &provider.Query{Official: true, Transcript: test.transcript, Native: test.native})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: messages (-want +got):\n%s", name, diff)
		}
	}
	asIs := "[" + sentUse("a.1", "f") + "," + sentUse("", "f") + "]"
	for _, q := range []*provider.Query{{}, {Official: true, Compat: true}} {
		q.Transcript = []conversation.Entry{u, use(2, "a.1", "f"), use(3, "", "f")}
		if want, got := turns(`"u"`, asIs), sentMessages(t, q); got != want {
			t.Errorf("own address %t, compat %t: got %s, want %s", q.Official, q.Compat, got, want)
		}
	}
}

// TestEmptyTexts checks that Anthropic gets no blank text and no error without text.
func TestEmptyTexts(t *testing.T) {
	const user, assistant = conversation.User, conversation.Assistant
	failed := result(6, "b", "")
	failed.Failed = true
	transcript := func() []conversation.Entry {
		return []conversation.Entry{
			text(conversation.System, 0, " "), text(user, 1, " \n"), text(assistant, 2, "\n\n"), text(user, 3, "u"),
			use(4, "a", "f"), use(5, "b", "f"), result(5, "a", ""), failed,
		}
	}
	calls := `,{"role":"assistant","content":[` + sentUse("a", "f") + "," + sentUse("b", "f") + `]},{"role":"user","content":[`
	own := `[{"role":"user","content":"(nothing)"},{"role":"user","content":"u"}` + calls + sentResult("a", "", false) + "," + sentResult("b", placeholder, true) + "]}]"
	const nothing = `"content":[{"text":"","type":"text"}],"type":"tool_result"}`
	other := `[{"role":"user","content":" \n"},{"role":"assistant","content":"\n\n"},{"role":"user","content":"u"}` + calls +
		`{"tool_use_id":"a","is_error":false,` + nothing + `,{"tool_use_id":"b","is_error":true,` + nothing + "]}]"
	for name, test := range map[string]struct {
		own, compat bool
		want        string
	}{"own": {true, false, own}, "other": {false, false, other}, "compat": {true, true, other}} {
		got := sentMessages(t, &provider.Query{Official: test.own, Compat: test.compat, Transcript: transcript()})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: messages (-want +got):\n%s", name, diff)
		}
	}
	got, err := Codec{}.Encode(&provider.Query{Model: &agentgwv1.Model{Model: "m"}, Official: true, Transcript: transcript()})
	if err != nil || strings.Contains(string(got.Body), `"system"`) {
		t.Errorf("a blank system text: got %s and %v, want none", got.Body, err)
	}
}
