package row

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
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

func TestParseCall(t *testing.T) {
	t.Parallel()
	arguments := `{"name": "x\n_parameters = {}\ny_response = f(**g", "b": 1.0}`
	for _, id := range []string{
		"call_1", "", "chatcmpl-tool-9f", "x\ny", "a_parameters = b", "_parameters = ", "None", "call_é", "a_response = f(**", "print(repr(",
	} {
		want := jsonCall(nil, "search_contacts", arguments)
		want.Variable = &id
		got, ok := ParseCall(messagetext.Source(want))
		if !ok || !proto.Equal(want, got) {
			t.Errorf("ParseCall(messagetext.Source(%v)) = %v, %v", want, got, ok)
		}
	}
	for _, source := range []string{
		"", "print(repr(f()))",
		messagetext.ComposeSource("a", "f", "on"),
		messagetext.ComposeSource("a", "f()", "{}"),
		messagetext.ComposeSource("a", "f", "{}") + "\n",
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
	source := messagetext.ComposeSource("a", "f", `{'x': nan}`)
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
		"unquoted":  {Row{Content: p(messagetext.ComposeSource("a", "f", "{'a':1}"))}, user, environment, &worldv1.Message{Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: messagetext.ComposeSource("a", "f", "{'a':1}")}}}},
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
		if diff := cmp.Diff(test.row, Of(got)); diff != "" {
			t.Errorf("%s: Of (-want +got):\n%s", name, diff)
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
		if diff := cmp.Diff(row, Of(m)); diff != "" {
			t.Errorf("Of (-want +got):\n%s", diff)
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
		want, err := messagetext.Arguments(call)
		if err != nil || want.Kind() != python.KindDict {
			return
		}
		read, ok := ParseCall(messagetext.Source(call))
		if !ok || read.GetVariable() != id || read.GetTool() != "f" {
			t.Fatalf("ParseCall(%q): got %v, want a call of f by %q", messagetext.Source(call), read, id)
		}
		if got, err := messagetext.Arguments(read); err != nil || python.Repr(got) != python.Repr(want) {
			t.Errorf("ParseCall(%q): got %v and %v, want the arguments %s", messagetext.Source(call), read, err, python.Repr(want))
		}
	})
}
