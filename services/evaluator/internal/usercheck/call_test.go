package usercheck_test

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/python"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// flagged returns the flags as rule: evidence.
func flagged(told *evaluationv1.User, view []*worldv1.Message, said ...*worldv1.Message) (list []string) {
	for _, flag := range check(told, view, said...) {
		list = append(list, flag.GetRule()+": "+flag.GetEvidence())
	}
	return list
}

// TestCalls checks what a user calls and what it writes into a call, however deep.
func TestCalls(t *testing.T) {
	told := baker()
	told.Tools = []string{"send_message", "allow_action"}
	for name, test := range map[string]struct {
		tool, arguments string
		want            []string
	}{
		"the agent's tool":          {"remove_contact", `{"person_id": "5551234"}`, []string{"assistant: remove_contact"}},
		"the agent's, refused":      {"remove_contact__", `{}`, []string{"assistant: remove_contact"}},
		"its own":                   {"send_message", `{"content": "my baker is Emil Sand"}`, nil},
		"what it allows":            {"allow_action", `{"action": "remove a contact", "minutes": 351225559999}`, nil},
		"a tool of nobody":          {"hang_up", `{}`, []string{"assistant: hang_up"}},
		"ends at its time":          {"end_conversation", `{}`, nil},
		"a known number":            {"send_message", `{"phone_number": 3023125042, "on": true, "x": null}`, nil},
		"an unknown integer":        {"send_message", `{"phone_number": 351225559999}`, []string{"invented: 351225559999"}},
		"an unknown amount":         {"send_message", `{"amount": 98.75}`, []string{"invented: 98.75"}},
		"an unknown number in list": {"send_message", `{"to": ["030 23125042", ["+351225559999"]]}`, []string{"invented: +351225559999"}},
		"a name in an object":       {"send_message", `{"to": {"first_name": "Carlos"}}`, []string{"invented: Carlos"}},
		"a known name":              {"send_message", `{"to": [{"name": "Emil"}]}`, nil},
		"no arguments in a dict":    {"send_message", `[["Call Gisela"]]`, []string{"invented: Gisela"}},
	} {
		t.Run(name, func(t *testing.T) {
			arguments, err := python.ParseJSON(test.arguments)
			if err != nil {
				t.Fatal(err)
			}
			said := message(user, environment, sandbox.ComposeSource("call_1", test.tool, python.Repr(arguments)))
			if diff := cmp.Diff(test.want, flagged(told, view("Done."), said)); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHands shows that a user has what it was given: it may report what it does with its own tools,
// and a call of another one gives it none.
func TestHands(t *testing.T) {
	handed, allowing := baker(), baker()
	allowing.Tools = []string{"allow_action"}
	handed.Tools = []string{"send_message"}
	before := append(view("Who?"), message(user, environment, sandbox.ComposeSource("call_1", "remove_contact", python.Repr(python.DictOf()))), message(environment, user, "None"))
	said := message(user, agent, "I've updated the contact.")
	for _, test := range []struct {
		told *evaluationv1.User
		want []string
	}{{handed, nil}, {allowing, []string{"assistant: I've updated the contact"}}, {baker(), []string{"assistant: I've updated the contact"}}} {
		if diff := cmp.Diff(test.want, flagged(test.told, before, said)); diff != "" {
			t.Errorf("with the tools %q (-want +got):\n%s", test.told.GetTools(), diff)
		}
	}
}
