package usercheck_test

import (
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/sandbox"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/python"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/orchestrator/internal/usercheck"
)

// flagged returns the flags as rule: evidence.
func flagged(view, said []*worldv1.Message, tools usercheck.Tools) (list []string) {
	for _, flag := range usercheck.Check(view, said, tools) {
		list = append(list, flag.GetRule()+": "+flag.GetEvidence())
	}
	return list
}

// TestCalls checks what a user calls and what it writes into a call, however deep.
func TestCalls(t *testing.T) {
	tools := usercheck.Tools{
		User:  []*worldv1.Tool{{Name: "send_0", ExecutionName: "send_message"}, {Name: "both"}, {Name: "end_conversation"}},
		Agent: []*worldv1.Tool{{Name: "remove_0", ExecutionName: "remove_contact"}, {Name: "both"}, {Name: "end_conversation"}},
	}
	for name, test := range map[string]struct {
		tool, arguments string
		want            []string
	}{
		"the agent's tool":          {"remove_contact", `{"person_id": "5551234"}`, []string{"assistant: remove_contact"}},
		"the agent's under a name":  {"remove_0", `{}`, []string{"assistant: remove_0"}},
		"the agent's, refused":      {"remove_contact__", `{}`, []string{"assistant: remove_contact"}},
		"its own":                   {"send_message", `{"content": "my baker is Emil Sand"}`, nil},
		"its own under a name":      {"send_0", `{}`, nil},
		"a tool of both":            {"both", `{}`, nil},
		"a tool of nobody":          {"hang_up", `{}`, nil},
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
			said := []*worldv1.Message{message(user, environment, sandbox.ComposeSource("call_1", test.tool, python.Repr(arguments)))}
			if diff := cmp.Diff(test.want, flagged(view("Done."), said, tools)); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

// TestForeignCallGivesNoHands shows that a user has no tools because it called one of the agent's.
func TestForeignCallGivesNoHands(t *testing.T) {
	tools := usercheck.Tools{Agent: []*worldv1.Tool{{Name: "remove_contact"}}}
	said := []*worldv1.Message{message(user, agent, "I've updated the contact.")}
	for tool, want := range map[string][]string{"remove_contact": {"assistant: I've updated the contact"}, "send_message": nil} {
		before := append(view("Who?"), message(user, environment, sandbox.ComposeSource("call_1", tool, python.Repr(python.DictOf()))), message(environment, user, "None"))
		if diff := cmp.Diff(want, flagged(before, said, tools)); diff != "" {
			t.Errorf("after a call of %s (-want +got):\n%s", tool, diff)
		}
	}
}
