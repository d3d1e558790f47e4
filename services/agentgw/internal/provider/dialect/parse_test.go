package dialect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/agentgw/internal/provider"
)

// summary formats an answer on one line.
func summary(text *provider.Answer) string {
	var b strings.Builder
	if text.Raised != nil {
		fmt.Fprintf(&b, "%s ", text.Raised.Exception)
	}
	for _, call := range text.Calls {
		fmt.Fprintf(&b, "%s=%s(%s)", *call.ID, call.Name, call.Arguments)
	}
	if len(text.Calls) == 0 {
		fmt.Fprintf(&b, "%q", text.Text)
	}
	if text.EmptyReason != "" {
		b.WriteString(" nothing: " + text.EmptyReason)
	}
	return b.String()
}

// TestFaults checks answers on which the original loops, crashes or says nothing.
func TestFaults(t *testing.T) {
	const action = `[{"tool_name": "f", "parameters": {}}]`
	tests := []struct{ dialect, said, want string }{
		{Hermes, `<tool_call>{"name": "f", "arguments": null}</tool_call>`, "call_1=f(null)"},
		{Hermes, `<tool_call>{"name": "f", "arguments": "import os"}</tool_call>`, `call_1=f("import os")`},
		{Hermes, `<tool_call>{"name": "f", "arguments": " {}\n"}</tool_call>`, `call_1=f(" {}\n")`},
		{Hermes, `<tool_call>{"name": "f", "arguments": "\f{}"}</tool_call>`, `call_1=f("\f{}")`},
		{Hermes, `<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>`, `call_1=f("{\"a\": 1}")`},
		{Hermes, `<tool_call>{"name": "f", "arguments": "{'a': True}"}</tool_call>`, `call_1=f("{'a': True}")`},
		{Hermes, `<tool_call>{"name": "f", "arguments": "{'a': g()}"}</tool_call>`, `call_1=f("{'a': g()}")`},
		{Hermes, `<tool_call>{"name": "f", "arguments": "{} or g()"}</tool_call>`, `call_1=f("{} or g()")`},
		{Hermes, `<tool_call>{</tool_call>x<tool_call>{"name": "f", "arguments": {}}</tool_call>`, `RuntimeError call_1=tool_call_is_no_json("{")call_2=f({})`},
		{Hermes, `<tool_call>[1]</tool_call>`, `TypeError call_1=tool_call_is_no_object("[1]")`},
		{Hermes, `<TOOL_CALL>{}</TOOL_CALL>`, `"<TOOL_CALL>{}</TOOL_CALL>"`},
		{Gorilla, "get()", "call_0=get({})"},
		{Gorilla, "<<function>>__import__('os').system('ls')", `call_0=__import__('os').system({"None": ["ls"]})`},
		{Gorilla, "<<function>>f(a='{\"b\": 1}')", `call_0=f({"a": "{\"b\": 1}"})`},
		{Gorilla, "<<function>>contacts = f()\nprint(contacts[0])", "call_0=f({})"},
		{Gorilla, "\x1c<<function>>\x1f\u00a0f(a=1)\x1d\x1e<<function>>\x1c", `call_0=f({"a": 1})`},
		{Gorilla, "<<function>>f()<<function>>f(a=g(5km))", `"<<function>>f()<<function>>f(a=g(5km))"`},
		{Gorilla, "<<function>>f(a=print)<<function>>f(a=1 if 0 else 2)", `"" nothing: an argument that JSON cannot write`},
		{Gorilla, "<<function>>f(a=print)<<function>>f(a=1 if x else 2)", `"<<function>>f(a=print)<<function>>f(a=1 if x else 2)"`},
		{Gorilla, "<<function>>f()\nI called it.", `"<<function>>f()\nI called it."`},
		{Plain, "ASSISTANT: Which?", `"" nothing: the model speaks for the other side only`},
		{Mistral, "[TOOL_CALLS] []", `"" nothing: the answer has an empty list of calls`},
		{Mistral, `[TOOL_CALLS] ["f"]`, `AttributeError tool_call_is_no_object=tool_call_is_no_object("\"f\"")`},
		{Mistral, `[TOOL_CALLS] [{"name": "f", "arguments": ""}]`, `f=f("")`},
		{Mistral, `[TOOL_CALLS] [{"name": "f", "arguments": {"a": NaN}}]`, `f=f({"a": NaN})`},
		{Cohere, "", `"" nothing: the answer is empty`},
		{Cohere, " Done.\n", `"Done."`},
		{Cohere, "Done.<|END_OF_TURN_TOKEN|>", `"Done."`},
		{Cohere, "Action: none", `"Action: none"`},
		{Cohere, "Action: ```json``", "\"Action: ```json``\""},
		{Cohere, " Action: ```json\n" + action + "\n```\n", "call_0=f({})"},
		{Cohere, "Action: ```json\n" + action + "```<|END_OF_TURN_TOKEN|>", "call_0=f({})"},
		{Cohere, "Action: ```json\n" + action + "```Done", "call_0=f({})"},
		{Cohere, "Action: ```json\n" + action, "call_0=f({})"},
		{Cohere, "Action: ```" + action + "```", "call_0=f({})"},
		{Cohere, "action: " + action, "call_0=f({})"},
		{Cohere, "Action: [{}]", `"Action: [{}]"`},
		{Cohere, "Action: {}", `"Action: {}"`},
		{Cohere, "Action: ```json[]```", `"" nothing: the answer has an empty list of actions`},
		{Cohere, "Action: ```json[1]```", `TypeError call_0=action_is_no_object("1")`},
	}
	codecs := load(t, "")
	for _, test := range tests {
		text, err := codecs[test.dialect].Decode(fmt.Appendf(nil, `{"choices": [{"text": %s, "finish_reason": "stop"}]}`, python.JSON(python.Str(test.said))))
		if err != nil {
			t.Errorf("%s %q: %v", test.dialect, test.said, err)
			continue
		}
		if got := summary(text); got != test.want {
			t.Errorf("%s %q: got %s, want %s", test.dialect, test.said, got, test.want)
		}
	}
}

// TestDecode checks bodies that deviate from completions.
func TestDecode(t *testing.T) {
	tests := map[string]string{
		`{`: "unreadable", `"x"`: "unreadable", `{}`: "unreadable", `{"choices": null}`: "unreadable", `{"choices": {}}`: "unreadable",
		`{"choices": []}`: `"" nothing: the answer has no choice`,
		`{"choices": [{"text": null, "finish_reason": "stop"}]}`:                            `"" nothing: the answer's choice has no text`,
		`{"choices": [{"text": "a", "finish_reason": null}]}`:                               `ValidationError "a"`,
		`{"choices": [{"text": "a"}]}`:                                                      `ValidationError "a"`,
		`{"choices": [{"text": "a", "finish_reason": "length"}, {"text": "b"}]}`:            `"a"`,
		`{"choices": [{"text": "a", "error": {"code": 429, "message": "m"}}]}`:              "unreadable",
		`{"choices": [{"text": "a", "finish_reason": "abort"}]}`:                            "unreadable",
		`{"choices": [], "error": {"code": 502, "message": "m"}}`:                           "unreadable",
		`{"choices": [{"text": "a", "finish_reason": "stop", "error": null}], "error": {}}`: `"a"`,
		`{"choices": [` + strings.Repeat("{},", 1<<16) + `{"text": "a"}]}`:                  "unreadable",
	}
	for usage, want := range map[string]string{
		`{"prompt_tokens": 3, "completion_tokens": 4}`: "3+4", `{"prompt_tokens": 3}`: "3+0", `{"prompt_tokens": 10.0, "completion_tokens": 1e2}`: "10+100",
		`{"prompt_tokens": -3, "completion_tokens": 4}`: "0+4", `{"prompt_tokens": "3", "completion_tokens": 4}`: "3+4", `{"prompt_tokens": 1e300}`: "1099511627776+0",
		`{"prompt_tokens": [], "completion_tokens": 4}`: "0+4", `{"prompt_tokens": "many", "completion_tokens": null}`: "unknown",
		`{"prompt_tokens": "NaN"}`: "unknown", `[]`: "unknown", `{}`: "unknown", `"x"`: "unknown", `5`: "unknown", `null`: "unknown", `[1]`: "unknown",
	} {
		tests[`{"choices": [{"text": "a", "finish_reason": "stop"}], "usage": `+usage+`}`] = `"a" ` + want
	}
	codec := load(t, "")[Hermes]
	for body, want := range tests {
		text, err := codec.Decode([]byte(body))
		got := "unreadable"
		if err == nil {
			got = summary(text)
			if u := text.Usage; u != nil {
				got += fmt.Sprintf(" %d+%d", u.GetInputTokens(), u.GetOutputTokens())
			} else if strings.Contains(body, "usage") {
				got += " unknown"
			}
		} else if !errors.Is(err, provider.ErrAnswer) {
			t.Errorf("%s: got %v, want ErrAnswer", body, err)
		}
		if got != want {
			t.Errorf("%.150s: got %s, want %s", body, got, want)
		}
	}
}

// TestHostile checks that huge, deep and misleading answers neither crash, nor take long, nor grow.
func TestHostile(t *testing.T) {
	deep := strings.Repeat("[", 200_000)
	tests := map[string]string{
		"deep hermes":     "<tool_call>" + deep + "</tool_call>",
		"open tags":       strings.Repeat("<tool_call>", 200_000),
		"many calls":      strings.Repeat("<tool_call>1</tool_call>", 50_000),
		"deep mistral":    "[TOOL_CALLS]" + strings.Repeat(`{"a":`, 100_000) + "]",
		"many marks":      strings.Repeat("[TOOL_CALLS]", 100_000),
		"deep cohere":     "Action: ```json" + deep + "```",
		"fences":          "Action: " + strings.Repeat("```", 300_000),
		"many pieces":     strings.Repeat("<<function>>f()", 50_000),
		"deep gorilla":    "<<function>>f(a=" + deep + ")",
		"huge gorilla":    "<<function>>f(a=" + strings.Repeat("'x'*60000+", 50_000) + "'x')",
		"long text":       strings.Repeat("x", 4<<20),
		"broken encoding": "<tool_call>\xff\xfe</tool_call>[TOOL_CALLS]\xff]<<function>>f(a='\xff')",
	}
	codecs := load(t, "")
	for name, text := range tests {
		for dialect, codec := range codecs {
			answer := codec.parse(text)
			size := len(answer.Text)
			for _, call := range answer.Calls {
				size += len(call.Arguments) + len(call.Name)
			}
			if limit := 8*len(text) + 4<<20; size > limit {
				t.Errorf("%s, %s: got %d bytes of %d, want at most %d", name, dialect, size, len(text), limit)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	codecs := load(f, "")
	for _, seed := range []string{
		`<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>`, "<<function>>f(a=2*3, b=g(1))<<function>>h()",
		`x[TOOL_CALLS] [{"name": "f", "arguments": {}}]</s>`, "Action: ```json\n[{\"tool_name\": \"f\", \"parameters\": {}}]```", "text", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, codec := range codecs {
			answer := codec.parse(text)
			if len(answer.Calls) > 0 && answer.Text != "" {
				t.Errorf("%s %q: got calls and the text %q", name, text, answer.Text)
			}
			for _, call := range answer.Calls {
				_, err := python.ParseJSON(call.Arguments)
				if call.ID == nil || err != nil {
					t.Errorf("%s %q: got %+v and %v, want an id and JSON", name, text, call, err)
				}
			}
		}
	})
}
