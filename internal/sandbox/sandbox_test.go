package sandbox

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

const (
	agent       = worldv1.Role_ROLE_AGENT
	user        = worldv1.Role_ROLE_USER
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func jsonCall(id *string, tool, arguments string) *worldv1.ToolCall {
	return &worldv1.ToolCall{Id: id, Tool: tool, ArgumentsJson: arguments}
}

func textCall(id *string, tool, arguments string) *worldv1.ToolCall {
	return &worldv1.ToolCall{Id: id, Tool: tool, ArgumentsText: &arguments}
}

func TestSource(t *testing.T) {
	t.Parallel()
	id := proto.String("a")
	named := jsonCall(id, "f", "{}")
	named.Variable = proto.String("f")
	for name, test := range map[string]struct {
		call *worldv1.ToolCall
		want string
	}{
		"object":        {jsonCall(id, "f", `{"x": 1.0, "y": "\ud800"}`), "a_parameters = {'x': 1.0, 'y': '\\ud800'}\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"no arguments":  {&worldv1.ToolCall{Id: id, Tool: "f"}, "a_parameters = {}\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"no id":         {jsonCall(nil, "f", "{}"), "None_parameters = {}\nNone_response = f(**None_parameters)\nprint(repr(None_response))"},
		"empty id":      {jsonCall(proto.String(""), "f", "{}"), "_parameters = {}\n_response = f(**_parameters)\nprint(repr(_response))"},
		"variable":      {named, "f_parameters = {}\nf_response = f(**f_parameters)\nprint(repr(f_response))"},
		"text":          {jsonCall(id, "f", `"on"`), "a_parameters = 'on'\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"spelled":       {jsonCall(id, "f", `"{\"x\": true}"`), "a_parameters = {\"x\": true}\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"no JSON":       {textCall(id, "f", "{'x'}"), "a_parameters = \"{'x'}\"\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"never run":     {textCall(id, "f", "{}"), "a_parameters = '{}'\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"empty text":    {textCall(id, "f", ""), "a_parameters = ''\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"unsound JSON":  {jsonCall(id, "f", "{"), "a_parameters = '{'\na_response = f(**a_parameters)\nprint(repr(a_response))"},
		"not a mapping": {jsonCall(id, "f", "null"), "a_parameters = None\na_response = f(**a_parameters)\nprint(repr(a_response))"},
	} {
		if diff := cmp.Diff(test.want, Source(test.call)); diff != "" {
			t.Errorf("%s: Source (-want +got):\n%s", name, diff)
		}
	}
}

func TestParseCall(t *testing.T) {
	t.Parallel()
	arguments := `{"name": "x\n_parameters = {}\ny_response = f(**g", "b": 1.0}`
	for _, id := range []string{
		"call_1", "", "chatcmpl-tool-9f", "x\ny", "a_parameters = b", "_parameters = ", "None", "call_é", "a_response = f(**", "print(repr(",
	} {
		want := jsonCall(nil, "search_contacts", arguments)
		want.Variable = &id
		got, ok := ParseCall(Source(want))
		if !ok || !proto.Equal(want, got) {
			t.Errorf("ParseCall(Source(%v)) = %v, %v", want, got, ok)
		}
	}
	for _, source := range []string{
		"", "print(repr(f()))",
		ComposeSource("a", "f", "on"),
		ComposeSource("a", "f()", "{}"),
		ComposeSource("a", "f", "{}") + "\n",
		"a_parameters = {}\nb_response = f(**a_parameters)\nprint(repr(a_response))",
		"a_parameters = {}\na_response = f(**b_parameters)\nprint(repr(a_response))",
		"a_parameters = {}\na_response = f(**a_parameters)\nprint(a_response)",
	} {
		if call, ok := ParseCall(source); ok {
			t.Errorf("ParseCall(%q) = %v, want refused", source, call)
		}
	}
}

// TestSetBody checks what rows become, and that each message renders as its row again.
func TestSetBody(t *testing.T) {
	t.Parallel()
	p := proto.String
	source := ComposeSource("a", "f", `{'x': nan}`)
	call := jsonCall(p("a"), "f", `{"x": NaN}`)
	call.Name = p("shown")
	for name, test := range map[string]struct {
		row      Row
		from, to worldv1.Role
		want     *worldv1.Message
	}{
		"text":      {Row{Content: p("x")}, user, agent, &worldv1.Message{Body: &worldv1.Message_Text{Text: "x"}}},
		"nothing":   {Row{}, user, agent, &worldv1.Message{}},
		"call":      {Row{Content: &source, ToolCallID: p("a"), FunctionName: p("shown")}, agent, environment, &worldv1.Message{Body: &worldv1.Message_Call{Call: call}}},
		"code":      {Row{Content: p("print(1)"), ToolCallID: p("a")}, agent, environment, &worldv1.Message{Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: "print(1)", Id: p("a")}}}},
		"unquoted":  {Row{Content: p(ComposeSource("a", "f", "{'a':1}"))}, user, environment, &worldv1.Message{Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: ComposeSource("a", "f", "{'a':1}")}}}},
		"no result": {Row{}, environment, agent, &worldv1.Message{Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{}}}},
		"result": {
			Row{Content: p("1"), Exception: p("E"), ToolTrace: []string{`{"tool_name": "f", "arguments": {"a": 1.0}, "result": ["é"]}`}}, environment, agent,
			&worldv1.Message{Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
				Text: p("1"), Exception: p("E"), Traces: []*worldv1.ToolTrace{{Tool: "f", ArgumentsJson: `{"a": 1.0}`, ResultJson: `["é"]`}},
			}}},
		},
	} {
		got := &worldv1.Message{Sender: test.from, Recipient: test.to}
		test.want.Sender, test.want.Recipient = test.from, test.to
		if err := test.row.SetBody(got); err != nil || !proto.Equal(test.want, got) {
			t.Errorf("%s: got %v and %v, want %v", name, got, err, test.want)
		}
		if diff := cmp.Diff(test.row, RowOf(got)); diff != "" {
			t.Errorf("%s: RowOf (-want +got):\n%s", name, diff)
		}
	}
}

func TestSetBodyErrors(t *testing.T) {
	t.Parallel()
	p := proto.String
	for name, test := range map[string]struct {
		row      Row
		from, to worldv1.Role
		want     error
	}{
		"id of a text":        {Row{ToolCallID: p("a")}, user, agent, ErrColumn},
		"name of a text":      {Row{FunctionName: p("a")}, user, agent, ErrColumn},
		"exception of a call": {Row{Exception: p("a")}, agent, environment, ErrColumn},
		"trace of a text":     {Row{ToolTrace: []string{"{}"}}, user, agent, ErrColumn},
		"no trace":            {Row{ToolTrace: []string{`{"tool_name": "f", "arguments": {}}`}}, environment, agent, ErrTrace},
		"no JSON":             {Row{ToolTrace: []string{`{`}}, environment, agent, ErrTrace},
		"no object":           {Row{ToolTrace: []string{`[]`}}, environment, agent, ErrTrace},
		"other spaces":        {Row{ToolTrace: []string{`{"tool_name":"f","arguments":{},"result":1}`}}, environment, agent, ErrTrace},
	} {
		if err := test.row.SetBody(&worldv1.Message{Sender: test.from, Recipient: test.to}); !errors.Is(err, test.want) {
			t.Errorf("%s: got error %v, want %v", name, err, test.want)
		}
	}
}

// FuzzSetBody checks that every row of source is rendered again as it was read, whatever it holds.
func FuzzSetBody(f *testing.F) {
	f.Add("a_parameters = {}\na_response = f(**a_parameters)\nprint(repr(a_response))", "a", true)
	f.Add("None_parameters = {'x': 1e999}\nNone_response = f(**None_parameters)\nprint(repr(None_response))", "", false)
	f.Fuzz(func(t *testing.T, source, id string, hasID bool) {
		if !utf8.ValidString(source) {
			return
		}
		row := Row{Content: &source}
		if hasID {
			row.ToolCallID = &id
		}
		m := &worldv1.Message{Sender: agent, Recipient: environment}
		if err := row.SetBody(m); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, RowOf(m)); diff != "" {
			t.Errorf("RowOf (-want +got):\n%s", diff)
		}
	})
}

// FuzzSource checks that the source of a call with an object is read back as that call.
func FuzzSource(f *testing.F) {
	f.Add("a", `{"x": 1}`)
	f.Add("a-1", `{"x": [NaN, -1e999, "\ud800", 1.50]}`)
	f.Fuzz(func(t *testing.T, id, arguments string) {
		if !utf8.ValidString(id) || !utf8.ValidString(arguments) || strings.Contains(id, parametersInfix) {
			return // an id with the infix can make the source ambiguous
		}
		call := jsonCall(&id, "f", arguments)
		want, err := Arguments(call)
		if err != nil || want.Kind() != python.KindDict {
			return
		}
		read, ok := ParseCall(Source(call))
		if !ok || read.GetVariable() != id || read.GetTool() != "f" {
			t.Fatalf("ParseCall(%q): got %v, want a call of f by %q", Source(call), read, id)
		}
		if got, err := Arguments(read); err != nil || python.Repr(got) != python.Repr(want) {
			t.Errorf("ParseCall(%q): got %v and %v, want the arguments %s", Source(call), read, err, python.Repr(want))
		}
	})
}
