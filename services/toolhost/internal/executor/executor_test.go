package executor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

func TestRunOne(t *testing.T) {
	const on = `{"tool_name": "get_wifi_status", "arguments": {}, "result": true}`
	tests := []struct {
		name, source string
		want         Answer
	}{
		{"standard", "i_parameters = {}\ni_response = get_wifi_status(**i_parameters)\nprint(repr(i_response))", Answer{Tool: "get_wifi_status", Content: "True", Traces: traced(on)}},
		{"id is no identifier", "a-1_parameters = {}\na-1_response = get_wifi_status(**a-1_parameters)\nprint(repr(a-1_response))", Answer{Tool: "get_wifi_status", Content: "True", Traces: traced(on)}},
		{"expression", "get_wifi_status()", Answer{Traces: traced(on)}},
		{"undefined", "print(repr(nope()))", Answer{Content: "NameError: name 'nope' is not defined", Exception: "NameError: name 'nope' is not defined"}},
		{"argument is a name", "i_parameters = x\ni_response = get_wifi_status(**i_parameters)\nprint(repr(i_response))", Answer{Content: "NameError: name 'x' is not defined", Exception: "NameError: name 'x' is not defined"}},
		{"not a number", "print(repr(search_contacts(name=nan)))", Answer{Content: "NameError: name 'nan' is not defined", Exception: "NameError: name 'nan' is not defined"}},
		{"result has no such item", "print(get_wifi_status()[7])", Answer{
			Content: "TypeError: 'bool' object is not subscriptable", Exception: "TypeError: 'bool' object is not subscriptable", Traces: traced(on),
		}},
		{"lone surrogate", `print(repr(add_contact('\ud83d', '+14085551111')))`, Answer{
			Content:   `UnicodeEncodeError: 'utf-8' codec can't encode character '\ud83d' in position 0: surrogates not allowed`,
			Exception: `UnicodeEncodeError: 'utf-8' codec can't encode character '\ud83d' in position 0: surrogates not allowed`,
		}},
		{"lone surrogates", `print(repr(search_contacts(person_id='ab\udc00\udc01')))`, Answer{
			Content:   `UnicodeEncodeError: 'utf-8' codec can't encode characters in position 2-3: surrogates not allowed`,
			Exception: `UnicodeEncodeError: 'utf-8' codec can't encode characters in position 2-3: surrogates not allowed`,
		}},
	}
	env := environment(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages(test.source), agent)
			if err != nil {
				t.Fatalf("Run(%q): %v", test.source, err)
			}
			if diff := cmp.Diff([]Answer{test.want}, answers, protocmp.Transform()); diff != "" {
				t.Errorf("Run(%q) (-want +got):\n%s", test.source, diff)
			}
		})
	}
}

// TestArgumentsCut checks that a call whose arguments were cut off does not run, even if they are
// an object.
func TestArgumentsCut(t *testing.T) {
	message := &worldv1.Message{Sender: agent, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{
		Tool: "get_wifi_status", ArgumentsText: new("{}"), ArgumentsCut: true,
	}}}
	answers, _, err := environment(t).Run(t.Context(), someWorld(), []*worldv1.Message{message}, agent)
	if err != nil || len(answers) != 1 || len(answers[0].Traces) > 0 || !strings.HasPrefix(answers[0].Exception, "ValueError: the arguments were cut off") {
		t.Errorf("got %+v and %v, want a ValueError that says so", answers, err)
	}
}

func TestCallable(t *testing.T) {
	user := worldv1.Role_ROLE_USER
	tests := []struct {
		name   string
		tools  *setupv1.ToolSelection
		sender worldv1.Role
		source string
		want   bool
	}{
		{"agent, everything allowed", nil, agent, "get_wifi_status()", true},
		{"agent, everything allowed, the user's tool", nil, agent, "end_conversation()", true},
		{"agent, allowed", &setupv1.ToolSelection{Allow: []string{"get_wifi_status"}}, agent, "get_wifi_status()", true},
		{"agent, not allowed", &setupv1.ToolSelection{Allow: []string{"search_contacts"}}, agent, "get_wifi_status()", false},
		{"agent, denied", &setupv1.ToolSelection{Deny: []string{"get_wifi_status"}}, agent, "get_wifi_status()", false},
		{"agent, the user's tool", &setupv1.ToolSelection{Allow: []string{"get_wifi_status", "end_conversation"}}, agent, "end_conversation()", false},
		{"user, its own tool", &setupv1.ToolSelection{Allow: []string{"get_wifi_status", "end_conversation"}}, user, "end_conversation()", true},
		{"user, the agent's tool", &setupv1.ToolSelection{Allow: []string{"get_wifi_status", "end_conversation"}}, user, "get_wifi_status()", false},
		{"user, its own", &setupv1.ToolSelection{User: []string{"get_wifi_status"}}, user, "get_wifi_status()", true},
		{"user, its own though denied", &setupv1.ToolSelection{Deny: []string{"get_wifi_status"}, User: []string{"get_wifi_status"}}, user, "get_wifi_status()", true},
		{"user with own tools, another", &setupv1.ToolSelection{User: []string{"get_wifi_status"}}, user, "search_contacts(name='ann')", false},
		{"user with own tools ends", &setupv1.ToolSelection{User: []string{"get_wifi_status"}}, user, "end_conversation()", true},
		{"agent, what the user has and it was denied", &setupv1.ToolSelection{Deny: []string{"get_wifi_status"}, User: []string{"get_wifi_status"}}, agent, "get_wifi_status()", false},
		{"agent, what the user has too", &setupv1.ToolSelection{User: []string{"get_wifi_status"}}, agent, "get_wifi_status()", true},
		{"agent, what the user alone has", &setupv1.ToolSelection{Allow: []string{"search_contacts"}, User: []string{"get_wifi_status"}}, agent, "get_wifi_status()", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			catalogue := tool.Builtin()
			selection, err := catalogue.Select(test.tools)
			if err != nil {
				t.Fatalf("select tools: %v", err)
			}
			answers, _, err := New(catalogue, selection).Run(t.Context(), someWorld(), sourceMessages(test.source), test.sender)
			if err != nil {
				t.Fatalf("Run(%q): %v", test.source, err)
			}
			if got := !strings.HasPrefix(answers[0].Exception, "NameError"); got != test.want {
				t.Errorf("Run(%q): got callable %v, want %v (%+v)", test.source, got, test.want, answers[0])
			}
		})
	}
}

// FuzzRun checks that every source gets an answer in UTF-8.
func FuzzRun(f *testing.F) {
	for _, source := range sources() {
		f.Add(source)
	}
	env := environment(f)
	f.Fuzz(func(t *testing.T, source string) {
		answers, _, err := env.Run(t.Context(), someWorld(), sourceMessages(source), agent)
		if err != nil || len(answers) != 1 {
			t.Fatalf("Run(%q): %d answers, error %v", source, len(answers), err)
		}
		if text := answers[0].Content + strings.Join(traces(answers[0]), ""); strings.ToValidUTF8(text, "") != text {
			t.Errorf("Run(%q): answer is not UTF-8: %q", source, text)
		}
	})
}
