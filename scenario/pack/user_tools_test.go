package pack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// userToolScenario is testScenario in which the user turns wifi off while the agent adds a contact.
func userToolScenario(t *testing.T) string {
	t.Helper()
	text := edit(t, testScenario, "extra_tools: [set_wifi_status]\n", "extra_tools: [add_contact]\nwithout_tools: [set_wifi_status]\n")
	text = edit(t, text, "  says: Wifi off!\n", "  knowledge: [It is late.]\n  tools: [set_wifi_status]\n  says: Wifi off!\n  script:\n"+
		"    - calls: [{tool: set_wifi_status, arguments: {on: false}}]\n    - say: I did it.\n")
	return edit(t, text, "- calls: [{tool: set_wifi_status, arguments: {on: false}}]\n  - say: Done.",
		"- say: You can do that yourself.\n  - say: Done.")
}

func TestUserTools(t *testing.T) {
	loaded, err := readPack(files(userToolScenario(t), testWorld), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	setup := loaded[0].Scenario.GetSetup()
	if diff := cmp.Diff([]string{"set_wifi_status"}, setup.GetTools().GetUser()); diff != "" {
		t.Errorf("the user's tools (-want +got):\n%s", diff)
	}
	want := &worldv1.ScriptTurn{Calls: []*worldv1.ToolCall{{Id: proto.String("call_1"), Tool: "set_wifi_status", ArgumentsJson: `{"on": false}`}}}
	if diff := cmp.Diff(want, setup.GetUserScript()[0], protocmp.Transform()); diff != "" {
		t.Errorf("the script's first turn (-want +got):\n%s", diff)
	}
	userSpec := &evaluationv1.User{Goal: "Wifi off.", Knowledge: []string{"It is late."}, Tools: []string{"set_wifi_status"}}
	if diff := cmp.Diff(userSpec, loaded[0].Scenario.GetEvaluation().GetUser(), protocmp.Transform()); diff != "" {
		t.Errorf("what the user was told (-want +got):\n%s", diff)
	}
	var instruction string
	for _, m := range setup.GetMessages() {
		if m.GetSender() == worldv1.Role_ROLE_SYSTEM && m.GetRecipient() == worldv1.Role_ROLE_USER {
			instruction = messagetext.Content(m)
		}
	}
	if !strings.Contains(instruction, "tools are in your own hands") {
		t.Errorf("the user's instruction: got %q, want it to speak of tools", instruction)
	}
	// The user may change settings at any time, so there is no guardrail of setting since the start.
	for _, node := range loaded[0].Scenario.GetEvaluation().GetMilestones().GetNodes() {
		for _, c := range node.GetConstraints() {
			if c.GetMeasure() == evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL && c.GetReference() == -1 &&
				c.GetTable() == world.Setting {
				t.Errorf("node %q: got a guardrail of setting since the start, want none", node.GetName())
			}
		}
	}
}

func TestBadUserTools(t *testing.T) {
	for _, test := range []struct{ name, old, replacement, want string }{
		{"unknown", "  tools: [set_wifi_status]", "  tools: [set_wifi_status, set_wifi_statu]",
			`a.yaml:9:30: one.user.tools[1]: unknown tool "set_wifi_statu"; did you mean "set_wifi_status"?`},
		{"the end", "  tools: [set_wifi_status]", "  tools: [set_wifi_status, end_conversation]",
			"a.yaml:9:30: one.user.tools[1]: the user always has end_conversation; remove it"},
		{"twice", "  tools: [set_wifi_status]", "  tools: [set_wifi_status, set_wifi_status]",
			`a.yaml:9:30: one.user.tools[1]: tool "set_wifi_status" occurs twice`},
		{"not its own", "    - calls: [{tool: set_wifi_status", "    - calls: [{tool: add_contact",
			`a.yaml:12:24: one.user.script[0].calls[0].tool: the user cannot call "add_contact", only set_wifi_status, end_conversation; list it in user.tools if it should`},
		{"no list", "  tools: [set_wifi_status]", "  tools: set_wifi_status",
			"a.yaml:9:12: one.user.tools: is a text, expected a list"},
		{"the agent uses it", "- say: You can do that yourself.", "- calls: [{tool: set_wifi_status, arguments: {on: false}}]",
			`the agent may not call "set_wifi_status": without_tools lists it`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readPack(files(edit(t, userToolScenario(t), test.old, test.replacement), testWorld), testOptions())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}
