package turn

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/python"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func renamed() *Tools {
	return NewTools([]*worldv1.Tool{
		{Name: "contact_0", ExecutionName: "add_contact"},
		{Name: "contact_1", ExecutionName: "add_contact_"},
		{Name: "contact_0", ExecutionName: "shadowed"},
	})
}

func TestByName(t *testing.T) {
	tests := []struct{ name, want string }{
		{"contact_0", "add_contact"},
		{"contact_1", "add_contact_"},
		{"add_contact", "add_contact__"},
		{"add.contact", "add_contact__"},
		{"x(**{})\nprint(1)", "x_______print_1_"},
		{"", "_"},
		{"1st", "_1st"},
		{"größe", "größe"},
	}
	for _, test := range tests {
		got, err := renamed().ByName("id", test.name, "{}", false)
		if err != nil {
			t.Errorf("ByName(%q): %v", test.name, err)
			continue
		}
		want := Call{ID: "id", Name: test.name, ExecutionName: test.want, Arguments: "{}"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ByName(%q) (-want +got):\n%s", test.name, diff)
		}
	}
	if got, err := AnyTools().ByName("id", "add_contact", "{}", true); err != nil || got.ExecutionName != "add_contact" {
		t.Errorf("ByName without a tool set: got %v, %v, want add_contact", got, err)
	}
}

// TestForeignName checks that no role reaches a tool that it was not given, where the environment lets everybody call every tool: in a scenario
// without a choice of tools.
func TestForeignName(t *testing.T) {
	end := &worldv1.Tool{Name: endTool, ExecutionName: endTool}
	wifi := &worldv1.Tool{Name: "get_wifi_status", ExecutionName: "get_wifi_status"}
	for _, test := range []struct {
		who   string
		tools *Tools
		name  string
		want  string
	}{
		{"an agent", NewTools([]*worldv1.Tool{wifi}), endTool, "end_conversation_"},
		{"an agent", NewTools([]*worldv1.Tool{wifi}), "end.conversation", "end_conversation_"},
		{"an agent", NewTools([]*worldv1.Tool{wifi}), "fly", "fly"},
		{"an agent", renamed(), endTool, "end_conversation_"},
		{"a user", NewTools([]*worldv1.Tool{end}), endTool, endTool},
		{"a user", NewTools([]*worldv1.Tool{end}), "get_wifi_status", "get_wifi_status_"},
		{"a user", NewTools([]*worldv1.Tool{end}), "get wifi status", "get_wifi_status_"},
		{"a user with tools", NewTools([]*worldv1.Tool{wifi, end}), "set_wifi_status", "set_wifi_status"},
		{"a model without tools", AnyTools().Closed(), "get_wifi_status", "get_wifi_status_"},
		{"a model without tools", AnyTools().Closed(), endTool, "end_conversation_"},
		{"anybody", AnyTools(), endTool, endTool},
	} {
		call, err := test.tools.ByName("id", test.name, "{}", false)
		if err != nil || call.ExecutionName != test.want {
			t.Errorf("%s calls %s: got %s and %v, want %s", test.who, test.name, call.ExecutionName, err, test.want)
		}
		messages, _, err := Composer{}.Stated([]Stated{{Name: test.name, Arguments: "{}"}}, test.tools)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _, _ := python.ParseCall(messages[0].GetContent()); got != test.want {
			t.Errorf("the model of %s calls %s: got %s, want %s", test.who, test.name, got, test.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	unknown := func(_ Call, err error) error { return err }
	composer := Composer{Role: worldv1.Role_ROLE_AGENT, Compat: true}
	arguments := func(text string) error {
		_, err := composer.Calls([]Call{{ID: "c", Name: "n", ExecutionName: "n", Arguments: text}})
		return err
	}
	tests := map[string]struct {
		err  error
		want string
	}{
		"unknown name":      {unknown(renamed().ByName("", "add_contact", "", true)), exceptionKey},
		"unknown execution": {unknown(renamed().ByExecution("", "contact_0", "", true)), exceptionKey},
		"no JSON":           {arguments(""), exceptionJSON},
		"two values":        {arguments("{} {}"), exceptionJSON},
		"too deep":          {arguments(strings.Repeat("[", 2000)), "RecursionError"},
	}
	for name, test := range tests {
		var got *Mistake
		if !errors.As(test.err, &got) || got.Exception != test.want {
			t.Errorf("%s: got %v, want a mistake of type %s", name, test.err, test.want)
		}
	}
}

// FuzzCalls checks that whatever an agent states becomes one message of three lines that can go on the wire.
func FuzzCalls(f *testing.F) {
	f.Add("call_1", "add_contact", `{"name": "x"}`, false)
	f.Add("a\nb", "x();", `"\ud800"`, false)
	f.Add("", "", "{", false)
	f.Add("call_1", "add_contact", `"{\"x\":\n1}"`, false)
	f.Fuzz(func(t *testing.T, id, name, arguments string, compat bool) {
		call, err := renamed().ByName(id, name, arguments, compat)
		if err != nil {
			return
		}
		messages, err := Composer{Role: worldv1.Role_ROLE_AGENT, Compat: compat}.Calls([]Call{call})
		if err != nil {
			return
		}
		if len(messages) != 1 {
			t.Fatalf("got %d messages, want 1", len(messages))
		}
		for what, text := range map[string]string{
			"content": messages[0].GetContent(), "id": messages[0].GetToolCallId(), "name": messages[0].GetFunctionName(),
		} {
			if text != strings.ToValidUTF8(text, "") {
				t.Errorf("%s: got %q, want UTF-8", what, text)
			}
		}
		args, err := python.ParseJSON(arguments)
		if lines := strings.Count(messages[0].GetContent(), "\n") + 1; lines != 3 && !compat && !spelled(args, err) {
			t.Errorf("content %q: got %d lines, want 3", messages[0].GetContent(), lines)
		}
	})
}
