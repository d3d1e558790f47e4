package turn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/python"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func p(text string) *string { return &text }

func TestStated(t *testing.T) {
	const hostile = "a_parameters = {}\na_response = contact(**a_parameters)\nprint(repr(a"
	tests := map[string]struct {
		call    Stated
		id      *string
		content string
		mistake string
		raised  bool
	}{
		"as stated":           {Stated{ID: p("a-1"), Name: "contact_0", Arguments: `{"x": 1.0}`}, p("a-1"), python.ComposeCall("a-1", "add_contact", python.DictOf(python.Item{Key: "x", Value: python.Float(1)})), "", false},
		"empty id":            {Stated{ID: p(""), Name: "contact_0", Arguments: `{}`}, p(""), "_parameters = {}\n_response = add_contact(**_parameters)\nprint(repr(_response))", "", false},
		"no id":               {Stated{Name: "contact_0", Arguments: `{}`}, nil, "None_parameters = {}\nNone_response = add_contact(**None_parameters)\nprint(repr(None_response))", "", false},
		"unnamed":             {Stated{Unnamed: true, Name: "contact_0", Arguments: `{}`}, p("e1a4c1b5-6a6c-5d8e-9a2e-000000000000"), "add_contact_parameters = {}\nadd_contact_response = add_contact(**add_contact_parameters)\nprint(repr(add_contact_response))", "", false},
		"hostile id":          {Stated{ID: p(hostile), Name: "contact_0", Arguments: `{}`}, p(hostile), python.ComposeCall(hostile, "add_contact", (&python.Dict{}).Value()), "", false},
		"unknown":             {Stated{ID: p("a"), Name: "add_contact", Arguments: `{}`}, p("a"), "a_parameters = {}\na_response = add_contact__(**a_parameters)\nprint(repr(a_response))", "KeyError", true},
		"keyword":             {Stated{ID: p("a"), Name: "import", Arguments: `{}`}, p("a"), "a_parameters = {}\na_response = import_(**a_parameters)\nprint(repr(a_response))", "KeyError", true},
		"no JSON":             {Stated{ID: p("a"), Name: "contact_0", Arguments: `{'x'}`}, p("a"), "a_parameters = \"{'x'}\"\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "JSONDecodeError", true},
		"text":                {Stated{ID: p("a"), Name: "contact_0", Arguments: `"on"`}, p("a"), "a_parameters = 'on'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false},
		"null":                {Stated{ID: p("a"), Name: "contact_0", Arguments: `null`}, p("a"), "a_parameters = None\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false},
		"cut":                 {Stated{ID: p("a"), Name: "contact_0", Arguments: `{}`, Cut: true}, p("a"), "a_parameters = '{}'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "ValueError", false},
		"spelled":             {Stated{ID: p("a"), Name: "contact_0", Arguments: `"{\"x\": true}"`}, p("a"), "a_parameters = {\"x\": true}\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "", false},
		"spelled with blanks": {Stated{ID: p("a"), Name: "contact_0", Arguments: ` "\t {\"x\": 1}\n"`}, p("a"), "a_parameters = \t {\"x\": 1}\n\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "", false},
		"spelled in Python":   {Stated{ID: p("a"), Name: "contact_0", Arguments: `"{'x': None}"`}, p("a"), "a_parameters = {'x': None}\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "", false},
		"no object":           {Stated{ID: p("a"), Name: "contact_0", Arguments: `"{} or x()"`}, p("a"), "a_parameters = '{} or x()'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false},
		"spelled twice":       {Stated{ID: p("a"), Name: "contact_0", Arguments: `"\"{}\""`}, p("a"), "a_parameters = '\"{}\"'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "TypeError", false},
		"spelled and cut":     {Stated{ID: p("a"), Name: "contact_0", Arguments: `"{}"`, Cut: true}, p("a"), "a_parameters = '\"{}\"'\na_response = add_contact(**a_parameters)\nprint(repr(a_response))", "ValueError", false},
		"no own name":         {Stated{ID: p("a"), Name: "", Arguments: `{}`}, p("a"), "a_parameters = {}\na_response = _(**a_parameters)\nprint(repr(a_response))", "KeyError", true},
	}
	for name, test := range tests {
		for _, compat := range []bool{false, true} {
			composer := Composer{Role: worldv1.Role_ROLE_AGENT, Index: 4, Compat: compat}
			messages, mistake, err := composer.Stated([]Stated{test.call}, renamed())
			if test.mistake != "" && (mistake == nil || mistake.Exception != test.mistake) || test.mistake == "" && mistake != nil {
				t.Errorf("%s: got mistake %v, want %q", name, mistake, test.mistake)
			}
			if raised := compat && test.raised; raised != (err != nil) {
				t.Errorf("%s, compat %t: got error %v, want one: %t", name, compat, err, raised)
			} else if raised {
				continue
			}
			m := messages[0]
			if test.call.Unnamed {
				test.id = m.ToolCallId
			}
			if diff := cmp.Diff(test.id, m.ToolCallId); diff != "" {
				t.Errorf("%s: id (-want +got):\n%s", name, diff)
			}
			if diff := cmp.Diff(test.content, m.GetContent()); diff != "" {
				t.Errorf("%s: content (-want +got):\n%s", name, diff)
			}
			if m.GetFunctionName() != test.call.Name || m.GetIndex() != 4 {
				t.Errorf("%s: got name %q at %d, want %q at 4", name, m.GetFunctionName(), m.GetIndex(), test.call.Name)
			}
		}
	}
}

// TestStatedTogether has no mistake in a turn of which one call is sound.
func TestStatedTogether(t *testing.T) {
	sound, unknown := Stated{ID: p("a"), Name: "contact_0", Arguments: "{}"}, Stated{ID: p("b"), Name: "nothing", Arguments: "{}"}
	for _, test := range []struct {
		calls []Stated
		want  bool
	}{{[]Stated{sound}, false}, {[]Stated{sound, unknown}, false}, {[]Stated{unknown, sound}, false}, {[]Stated{unknown, unknown}, true}} {
		messages, mistake, err := Composer{Role: worldv1.Role_ROLE_AGENT}.Stated(test.calls, renamed())
		if err != nil || len(messages) != len(test.calls) || (mistake != nil) != test.want {
			t.Errorf("%v: got %d messages, mistake %v, error %v, want a mistake: %t", test.calls, len(messages), mistake, err, test.want)
		}
	}
}

// TestStatedByUser checks that calls of a user have ids and names where there is something to tell apart, and only there.
func TestStatedByUser(t *testing.T) {
	end := &worldv1.Tool{Name: endTool, ExecutionName: endTool, ParametersJson: "{}"}
	own := &worldv1.Tool{Name: "get_wifi_status", ExecutionName: "get_wifi_status", ParametersJson: "{}"}
	for _, test := range []struct {
		tools []*worldv1.Tool
		want  bool
	}{{nil, false}, {[]*worldv1.Tool{end}, false}, {[]*worldv1.Tool{own, end}, true}} {
		messages, _, err := Composer{Role: worldv1.Role_ROLE_USER}.Stated([]Stated{{ID: p("a"), Name: endTool, Arguments: "{}"}}, NewTools(test.tools))
		if err != nil {
			t.Fatal(err)
		}
		if m := messages[0]; (m.ToolCallId != nil) != test.want || (m.FunctionName != nil) != test.want {
			t.Errorf("a call of a user with %d tools: got %v, want id and name: %t", len(test.tools), m, test.want)
		}
	}
}

// spelled says whether arguments are an object encoded twice, whose spelling need not be Python's.
func spelled(args python.Value, err error) bool {
	text, ok := args.AsStr()
	return err == nil && ok && isObject(text)
}

// FuzzStated checks that whatever a model states is one call of the tool that it names, or of none.
func FuzzStated(f *testing.F) {
	f.Add("call_1", "contact_0", `{"name": "x"}`, false)
	f.Add("a\nb", "x();", `"\ud800"`, true)
	f.Add("a_parameters = {}\na_response = contact_1(**a_parameters)\nprint(repr(a", "contact_0", "{}", false)
	f.Add("a#b", "contact_1", "{", false)
	f.Add("call_1", "contact_1", `"{\"x\": true}"`, false)
	f.Add("call-1", "contact_1", `"\n{'x': None}"`, true)
	f.Fuzz(func(t *testing.T, id, name, arguments string, unnamed bool) {
		messages, _, err := Composer{Role: worldv1.Role_ROLE_AGENT}.Stated([]Stated{{ID: &id, Unnamed: unnamed, Name: name, Arguments: arguments}}, renamed())
		if err != nil || len(messages) != 1 {
			t.Fatalf("got %d messages and %v, want 1", len(messages), err)
		}
		_, tool, _, ok := python.ParseCall(messages[0].GetContent())
		if want, mistake := renamed().stated(name); ok && tool != want {
			t.Errorf("source %q: got a call of %s, want %s (%v)", messages[0].GetContent(), tool, want, mistake)
		} else if args, err := python.ParseJSON(arguments); !ok && mistake == nil && !spelled(args, err) {
			t.Errorf("source %q: got no call, want one of %s", messages[0].GetContent(), want)
		}
	})
}
