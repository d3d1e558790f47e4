package turn

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/world"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func renamed() *Tools {
	return NewTools([]*worldv1.Tool{
		{Name: "contact_0", ExecutionName: "add_contact"},
		{Name: "contact_1", ExecutionName: "add_contact_"},
		{Name: "contact_0", ExecutionName: "shadowed"},
	})
}

func TestResolve(t *testing.T) {
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
		got, mistake := renamed().resolve(Call{Name: test.name})
		if known := renamed().byName[test.name] != nil; got.GetTool() != test.want || got.GetName() != test.name || (mistake == nil) != known {
			t.Errorf("resolve %q: got %v and the mistake %v, want %s", test.name, got, mistake, test.want)
		}
	}
	for _, call := range []Call{{Name: "add_contact"}, {Tool: "add_contact"}} {
		if got, mistake := AnyTools().resolve(call); mistake != nil || got.GetTool() != "add_contact" || got.GetName() != "add_contact" {
			t.Errorf("resolve %+v without a tool set: got %v and %v, want add_contact", call, got, mistake)
		}
	}
	if got, mistake := renamed().resolve(Call{Tool: "add_contact"}); mistake != nil || got.GetName() != "contact_0" {
		t.Errorf("resolve the environment's name: got %v and %v, want contact_0", got, mistake)
	}
}

// TestUnknownTool checks that no role reaches a tool of another role, in a scenario without a
// choice of tools, where the environment accepts all.
func TestUnknownTool(t *testing.T) {
	end := &worldv1.Tool{Name: world.EndTool, ExecutionName: world.EndTool}
	wifi := &worldv1.Tool{Name: "get_wifi_status", ExecutionName: "get_wifi_status"}
	for _, test := range []struct {
		who   string
		tools *Tools
		name  string
		want  string
	}{
		{"an agent", NewTools([]*worldv1.Tool{wifi}), world.EndTool, "end_conversation_"},
		{"an agent", NewTools([]*worldv1.Tool{wifi}), "end.conversation", "end_conversation_"},
		{"an agent", NewTools([]*worldv1.Tool{wifi}), "fly", "fly"},
		{"an agent", renamed(), world.EndTool, "end_conversation_"},
		{"a user", NewTools([]*worldv1.Tool{end}), world.EndTool, world.EndTool},
		{"a user", NewTools([]*worldv1.Tool{end}), "get_wifi_status", "get_wifi_status_"},
		{"a user", NewTools([]*worldv1.Tool{end}), "get wifi status", "get_wifi_status_"},
		{"a user with tools", NewTools([]*worldv1.Tool{wifi, end}), "set_wifi_status", "set_wifi_status"},
		{"a model without tools", AnyTools().OrNone(), "get_wifi_status", "get_wifi_status_"},
		{"a model without tools", AnyTools().OrNone(), world.EndTool, "end_conversation_"},
		{"anybody", AnyTools(), world.EndTool, world.EndTool},
	} {
		messages, _, err := Composer{}.Calls([]Call{{Name: test.name, Arguments: "{}"}}, test.tools)
		if err != nil {
			t.Fatal(err)
		}
		if got := messages[0].GetCall().GetTool(); got != test.want {
			t.Errorf("%s calls %s: got %s, want %s", test.who, test.name, got, test.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	composer := Composer{Role: worldv1.Role_ROLE_AGENT, Compat: true}
	for name, test := range map[string]struct {
		call Call
		want string
	}{
		"unknown name":      {Call{Name: "add_contact", Arguments: "{}"}, exceptionKey},
		"unknown execution": {Call{Tool: "contact_0", Arguments: "{}"}, exceptionKey},
		"no JSON":           {Call{Name: "contact_0"}, exceptionJSON},
		"two values":        {Call{Name: "contact_0", Arguments: "{} {}"}, exceptionJSON},
		"too deep":          {Call{Name: "contact_0", Arguments: strings.Repeat("[", 2000)}, "RecursionError"},
	} {
		_, _, err := composer.Calls([]Call{test.call}, renamed())
		var got *Mistake
		if !errors.As(err, &got) || got.Exception != test.want {
			t.Errorf("%s: got %v, want a mistake of type %s", name, err, test.want)
		}
	}
}

// TestCountedIDs checks that counted ids are printable and unique in their turn.
func TestCountedIDs(t *testing.T) {
	var calls []Call
	for _, id := range []*string{p("a-1"), p(""), nil, p("call_5"), p("a\nb"), p(strings.Repeat("x", 5000))} {
		calls = append(calls, Call{ID: id, IDRule: IndexID, Name: "contact_0", Arguments: "{}"})
	}
	messages, _, err := Composer{Role: worldv1.Role_ROLE_AGENT, Index: 4}.Calls(calls, renamed())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		got = append(got, m.GetCall().GetId())
	}
	if diff := cmp.Diff([]string{"a-1", "call_5_", "call_6", "call_5", "call_8", "call_9"}, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}
