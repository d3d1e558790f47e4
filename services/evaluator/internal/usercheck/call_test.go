package usercheck_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
)

// flagged returns the flags as "rule: evidence".
func flagged(userSpec *evaluationv1.User, view []*worldv1.Message, messages ...*worldv1.Message) (list []string) {
	for _, flag := range check(userSpec, view, messages...) {
		list = append(list, flag.GetRule()+": "+flag.GetEvidence())
	}
	return list
}

// TestCalls checks calls of a user, with arguments of any depth.
func TestCalls(t *testing.T) {
	userSpec := baker()
	userSpec.Tools = []string{"send_message", "allow_action"}
	for name, test := range map[string]struct {
		tool, arguments string
		want            []string
	}{
		"the agent's tool":          {"remove_contact", `{"person_id": "5551234"}`, []string{"assistant: remove_contact"}},
		"the agent's, refused":      {"remove_contact__", `{}`, []string{"assistant: remove_contact"}},
		"its own":                   {"send_message", `{"content": "my baker is Emil Sand"}`, nil},
		"what it allows":            {"allow_action", `{"action": "done", "minutes": 351225559999}`, nil},
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
			said := message(user, environment, messagetext.ComposeSource("call_1", test.tool, python.Repr(arguments)))
			if diff := cmp.Diff(test.want, flagged(userSpec, view("Done."), said)); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnasked checks consents of a user after texts of the agent and after earlier consents.
func TestUnasked(t *testing.T) {
	userSpec := baker()
	userSpec.Tools = []string{"allow_action"}
	allow := func(action string) *worldv1.Message { return parseCall("allow_action " + action) }
	result := message(environment, user, "None")
	for name, test := range map[string]struct {
		view []*worldv1.Message
		said []*worldv1.Message
		want []string
	}{
		"before the agent speaks": {view(), []*worldv1.Message{allow("remove a contact")}, []string{"unasked: remove a contact"}},
		"asked":                   {view("May I?"), []*worldv1.Message{allow("remove a contact")}, nil},
		"about the thing":         {view("Which contact?"), []*worldv1.Message{allow("remove a contact")}, []string{"unasked: remove a contact"}},
		"with the deed":           {view("Removing him is final."), []*worldv1.Message{allow("Remove  a contact.")}, nil},
		"several at once":         {view("May I remove both?"), []*worldv1.Message{allow("remove a contact"), allow("remove a contact")}, nil},
		"several in a turn":       {append(view("May I remove both?"), allow("remove a contact"), result), []*worldv1.Message{allow("remove a contact")}, nil},
		"once more":               {append(view("May I?"), allow("remove a contact"), result, message(agent, user, "It worked.")), []*worldv1.Message{allow("REMOVE a  contact.")}, []string{"unasked: REMOVE a  contact"}},
		"of two, one after the other": {append(view("May I do both?"), allow("remove a contact"), result, message(agent, user, "One is gone.")),
			[]*worldv1.Message{allow("send a text message")}, nil},
		"no words": {view("Who?"), []*worldv1.Message{allow("— * —")}, []string{"unasked: — * —"}},
		"nothing":  {view("Who?"), []*worldv1.Message{parseCall("allow_action")}, nil},
	} {
		if diff := cmp.Diff(test.want, flagged(userSpec, test.view, test.said...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUserToolReports checks a user with tools. It may report the use of its own tools. A call of
// another tool does not permit a report.
func TestUserToolReports(t *testing.T) {
	handed, allowing := baker(), baker()
	allowing.Tools = []string{"allow_action"}
	handed.Tools = []string{"send_message"}
	before := append(view("Who?"), message(user, environment, messagetext.ComposeSource("call_1", "remove_contact", python.Repr(python.DictOf()))), message(environment, user, "None"))
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

// TestManyConsents checks that thousands of consents are checked fast.
func TestManyConsents(t *testing.T) {
	userSpec := baker()
	userSpec.Tools = []string{"allow_action"}
	var messages []*worldv1.Message
	for i := range 5000 {
		messages = append(messages, parseCall(fmt.Sprintf("allow_action remove %d", i)), message(agent, user, "May I?"))
	}
	if got := flagged(userSpec, view(strings.Repeat("May I remove him? ", 900)), messages...); got != nil {
		t.Errorf("got %d flags, want none: each was asked for", len(got))
	}
}
