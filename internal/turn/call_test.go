package turn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row"
	"github.com/toolsandbox/toolsandbox/python"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func p(text string) *string { return &text }

func TestCalls(t *testing.T) {
	const hostile = "a_parameters = {}\na_response = contact(**a_parameters)\nprint(repr(a"
	tests := map[string]struct {
		call    Call
		id      *string
		content string
		mistake string
		raised  bool
		// mended: only Compat leaves the call as it is, see TestArgumentsMended and TestIDsMended.
		mended bool
	}{
		"as stated":           {Call{ID: p("a-1"), Name: "contact_0", Arguments: `{"x": 1.0}`}, p("a-1"), messagetext.ComposeSource("a-1", "add_contact", "{'x': 1.0}"), "", false, false},
		"empty id":            {Call{ID: p(""), Name: "contact_0", Arguments: `{}`}, p(""), "_parameters = {}\n_response = add_contact(**_parameters)\nprint(repr(_response))", "", false, true},
		"no id":               {Call{Name: "contact_0", Arguments: `{}`}, nil, "None_parameters = {}\nNone_response = add_contact(**None_parameters)\nprint(repr(None_response))", "", false, true},
		"drawn":               {Call{IDRule: DeriveID, Name: "contact_0", Arguments: `{}`}, p("e1a4c1b5-6a6c-5d8e-9a2e-000000000000"), "add_contact_parameters = {}\nadd_contact_response = add_contact(**add_contact_parameters)\nprint(repr(add_contact_response))", "", false, false},
		"hostile id":          {Call{ID: p(hostile), Name: "contact_0", Arguments: `{}`}, p("call_4"), messagetext.ComposeSource("call_4", "add_contact", "{}"), "", false, false},
		"unknown":             {Call{ID: p("a"), Name: "add_contact", Arguments: `{}`}, p("a"), "a_parameters = {}\na_response = add_contact__(**a_parameters)\nprint(repr(a_response))", "KeyError", true, false},
		"keyword":             {Call{ID: p("a"), Name: "import", Arguments: `{}`}, p("a"), "a_parameters = {}\na_response = import_(**a_parameters)\nprint(repr(a_response))", "KeyError", true, false},
		"no JSON":             {Call{ID: p("a"), Name: "contact_0", Arguments: `{'x'}`}, p("a"), "a_parameters = \"{'x'}\"\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "JSONDecodeError", true, false},
		"text":                {Call{ID: p("a"), Name: "contact_0", Arguments: `"on"`}, p("a"), "a_parameters = 'on'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false, false},
		"null":                {Call{ID: p("a"), Name: "contact_0", Arguments: `null`}, p("a"), "a_parameters = None\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false, false},
		"cut":                 {Call{ID: p("a"), Name: "contact_0", Arguments: `{}`, Truncated: true}, p("a"), "a_parameters = '{}'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "ValueError", false, false},
		"spelled":             {Call{ID: p("a"), Name: "contact_0", Arguments: `"{\"x\": true}"`}, p("a"), "a_parameters = {\"x\": true}\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "", false, true},
		"spelled with blanks": {Call{ID: p("a"), Name: "contact_0", Arguments: ` "\t {\"x\": 1}\n"`}, p("a"), "a_parameters = \t {\"x\": 1}\n\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "", false, true},
		"spelled in Python":   {Call{ID: p("a"), Name: "contact_0", Arguments: `"{'x': None}"`}, p("a"), "a_parameters = {'x': None}\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "", false, false},
		"no object":           {Call{ID: p("a"), Name: "contact_0", Arguments: `"{} or x()"`}, p("a"), "a_parameters = '{} or x()'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false, false},
		"spelled twice":       {Call{ID: p("a"), Name: "contact_0", Arguments: `"\"{}\""`}, p("a"), "a_parameters = '\"{}\"'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false, true},
		"spelled and cut":     {Call{ID: p("a"), Name: "contact_0", Arguments: `"{}"`, Truncated: true}, p("a"), "a_parameters = '\"{}\"'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "ValueError", false, false},
		"no own name":         {Call{ID: p("a"), Name: "", Arguments: `{}`}, p("a"), "a_parameters = {}\na_response = _(**a_parameters)\nprint(repr(a_response))", "KeyError", true, false},
	}
	for name, test := range tests {
		for _, compat := range []bool{false, true} {
			if test.mended && !compat {
				continue
			}
			composer := Composer{Role: worldv1.Role_ROLE_AGENT, Index: 4, Compat: compat}
			messages, mistake, err := composer.Calls([]Call{test.call}, renamed())
			if test.mistake != "" && (mistake == nil || mistake.Exception != test.mistake) || test.mistake == "" && mistake != nil {
				t.Errorf("%s: got mistake %v, want %q", name, mistake, test.mistake)
			}
			if raised := compat && test.raised; raised != (err != nil) {
				t.Errorf("%s, compat %t: got error %v, want one: %t", name, compat, err, raised)
			} else if raised {
				continue
			}
			m := messages[0]
			if test.call.IDRule == DeriveID {
				test.id = m.GetCall().Id
			}
			if diff := cmp.Diff(test.id, m.GetCall().Id); diff != "" {
				t.Errorf("%s: id (-want +got):\n%s", name, diff)
			}
			if diff := cmp.Diff(test.content, messagetext.Content(m)); diff != "" {
				t.Errorf("%s: content (-want +got):\n%s", name, diff)
			}
			if m.GetCall().GetName() != test.call.Name || m.GetIndex() != 4 {
				t.Errorf("%s: got name %q at %d, want %q at 4", name, m.GetCall().GetName(), m.GetIndex(), test.call.Name)
			}
		}
	}
}

// TestArgumentsMended checks which texts count as the object that the model meant, except with
// Compat.
func TestArgumentsMended(t *testing.T) {
	for written, want := range map[string]string{
		"": "{}", " \n": "{}", `""`: "{}", `" "`: "{}", "{}": "{}", `{}""`: "{}", "{\"x\": 1.0} '' \n": `{"x": 1.0}`, `{"x": "\"\""}""`: `{"x": "\"\""}`,
		"{}```": "{}", `"{\"x\": [true, false, null]}"`: `{"x": [true, false, null]}`, `"{\"x\": true}\"\""`: `{"x": true}`,
		` "\t {\"x\": 1}\n"`: ` "\t {\"x\": 1}\n"`, `"{\"x\": true}"`: `{"x": true}`, `"\"{}\""`: "{}", `"\"\\\"{}\\\"\""`: "{}",
		// No object is meant, or which one is unclear.
		"null": "", "[]": "", "[{}]": "", `"on"`: "", "5": "", "{} {}": "", "{}x": "", `{"x": 1`: "", `""{}`: "", `"[]"`: "", `"null"`: "",
	} {
		for _, compat := range []bool{false, true} {
			messages, mistake, err := Composer{Role: worldv1.Role_ROLE_AGENT, Compat: compat}.Calls([]Call{{ID: p("a"), Name: "contact_0", Arguments: written}}, renamed())
			call := &worldv1.ToolCall{}
			if len(messages) == 1 {
				call = messages[0].GetCall()
			}
			switch {
			case compat:
				if err == nil && call.GetArgumentsJson() != written {
					t.Errorf("%q, compat: got %q, want it unchanged", written, call.GetArgumentsJson())
				}
			case want == "":
				if mistake == nil || call.GetArgumentsJson()+call.GetArgumentsText() != written {
					t.Errorf("%q: got %v and mistake %v, want it unchanged and a mistake", written, call, mistake)
				}
			case mistake != nil || call.GetArgumentsJson() != want:
				t.Errorf("%q: got %v and mistake %v, want %s", written, call, mistake, want)
			}
		}
	}
}

// TestIDsMended checks that every call of a conversation gets an id of its own, except with Compat.
func TestIDsMended(t *testing.T) {
	view := []*worldv1.Message{
		{Sender: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: p("early")}}},
		{Sender: worldv1.Role_ROLE_AGENT, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: p("call_7")}}},
		{Sender: worldv1.Role_ROLE_USER, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Id: p("other's")}}},
	}
	written := []*string{p("call_5"), p("a"), p("a"), nil, p(""), p("None"), p("early"), p("other's"), p("a b")}
	want := []string{"call_5", "a", "call_6", "call_7_", "call_8", "call_9", "call_10", "other's", "a b"}
	var calls []Call
	for _, id := range written {
		calls = append(calls, Call{ID: id, Name: "contact_0", Arguments: "{}"})
	}
	for _, compat := range []bool{false, true} {
		messages, _, err := Composer{Role: worldv1.Role_ROLE_AGENT, Index: 4, View: view, Compat: compat}.Calls(calls, renamed())
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range messages {
			wanted := p(want[i])
			if compat {
				wanted = written[i]
			}
			if diff := cmp.Diff(wanted, m.GetCall().Id); diff != "" {
				t.Errorf("call %d, compat %t: id (-want +got):\n%s", i, compat, diff)
			}
		}
	}
}

// TestCallsTogether reports no mistake in a turn with one usable call.
func TestCallsTogether(t *testing.T) {
	sound, unknown := Call{ID: p("a"), Name: "contact_0", Arguments: "{}"}, Call{ID: p("b"), Name: "nothing", Arguments: "{}"}
	for _, test := range []struct {
		calls []Call
		want  bool
	}{{[]Call{sound}, false}, {[]Call{sound, unknown}, false}, {[]Call{unknown, sound}, false}, {[]Call{unknown, unknown}, true}} {
		messages, mistake, err := Composer{Role: worldv1.Role_ROLE_AGENT}.Calls(test.calls, renamed())
		if err != nil || len(messages) != len(test.calls) || (mistake != nil) != test.want {
			t.Errorf("%v: got %d messages, mistake %v, error %v, want a mistake: %t", test.calls, len(messages), mistake, err, test.want)
		}
	}
}

// TestCallsOfUser checks that a user's calls have ids and names only if the user has more tools
// than the end.
func TestCallsOfUser(t *testing.T) {
	end := &worldv1.Tool{Name: world.EndTool, ExecutionName: world.EndTool, ParametersJson: "{}"}
	own := &worldv1.Tool{Name: "get_wifi_status", ExecutionName: "get_wifi_status", ParametersJson: "{}"}
	for _, test := range []struct {
		tools []*worldv1.Tool
		want  bool
	}{{nil, false}, {[]*worldv1.Tool{end}, false}, {[]*worldv1.Tool{own, end}, true}} {
		messages, _, err := Composer{Role: worldv1.Role_ROLE_USER}.Calls([]Call{{ID: p("a"), Name: world.EndTool, Arguments: "{}"}}, NewTools(test.tools))
		if err != nil {
			t.Fatal(err)
		}
		if m := messages[0]; (m.GetCall().Id != nil) != test.want || (m.GetCall().Name != nil) != test.want {
			t.Errorf("a call of a user with %d tools: got %v, want id and name: %t", len(test.tools), m, test.want)
		}
	}
}

// FuzzCalls checks that any call becomes one call of the named tool, or of none, whose source
// parses as that call.
func FuzzCalls(f *testing.F) {
	f.Add("call_1", "contact_0", `{"name": "x"}`, uint8(KeepID))
	f.Add("a\nb", "x();", `"\ud800"`, uint8(DeriveID))
	f.Add("a_parameters = {}\na_response = contact_1(**a_parameters)\nprint(repr(a", "contact_0", "{}", uint8(KeepID))
	f.Add("a#b", "contact_1", "{", uint8(IndexID))
	f.Add("call_1", "contact_1", `"{\"x\": true}"`, uint8(IndexID))
	f.Add("call-1", "contact_1", `"\n{'x': None}"`, uint8(DeriveID))
	f.Fuzz(func(t *testing.T, id, name, arguments string, rule uint8) {
		stated := Call{ID: &id, IDRule: IDRule(rule % 3), Name: name, Arguments: arguments}
		messages, mistake, err := Composer{Role: worldv1.Role_ROLE_AGENT}.Calls([]Call{stated}, renamed())
		if err != nil || len(messages) != 1 {
			t.Fatalf("got %d messages and %v, want 1", len(messages), err)
		}
		call := messages[0].GetCall()
		if _, err := proto.Marshal(messages[0]); err != nil {
			t.Errorf("%v: %v", call, err)
		}
		if known := renamed().byName[name]; known != nil && call.GetTool() != known.GetExecutionName() || known == nil && renamed().Knows(call.GetTool()) {
			t.Errorf("a call of %q: got the tool %s", name, call.GetTool())
		}
		read, ok := row.ParseCall(messagetext.Source(call))
		if ok && read.GetTool() != call.GetTool() {
			t.Errorf("source %q: got a call of %s, want %s", messagetext.Source(call), read.GetTool(), call.GetTool())
		}
		if args, err := messagetext.Arguments(call); !ok && mistake == nil && err == nil && args.Kind() == python.KindDict {
			t.Errorf("source %q: got no call, want one of %s", messagetext.Source(call), call.GetTool())
		}
	})
}
