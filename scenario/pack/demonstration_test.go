package pack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// demonstrationTurns are the demonstrations of demonstrationScenario. Their calls start on lines 9
// and 10.
const demonstrationTurns = `    - user: How late is it?
    - calls: [{tool: set_wifi_status, arguments: {on: true}, answer: None}]
    - calls:
        - {tool: set_wifi_status, arguments: {on: false}, answer: "PermissionError: no", failed: true}
        - {tool: search_contacts, answer: "[]"}
    - agent: Nine.
    - end: true
`

// demonstrationScenario is testScenario with two tools of the user and demonstrations that call
// them.
func demonstrationScenario(t *testing.T) string {
	t.Helper()
	return edit(t, testScenario, "  says: Wifi off!\n", "  demonstrations:\n"+demonstrationTurns+"  tools: [set_wifi_status, search_contacts]\n  says: Wifi off!\n")
}

// loadDemonstration loads a scenario with the tools of described.
func loadDemonstration(t *testing.T, text string) *setupv1.Setup {
	t.Helper()
	loaded, err := readPack(files(text, testWorld), described(t))
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0].Scenario.GetSetup()
}

func TestDemonstrationCalls(t *testing.T) {
	const user, agent, environment = worldv1.Role_ROLE_USER, worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
	var want []*worldv1.Message
	add := func(m *worldv1.Message) {
		m.Index, m.ConversationActive, m.VisibleTo = int32(len(want))+2, proto.Bool(true), []worldv1.Role{user}
		want = append(want, m)
	}
	say := func(from, to worldv1.Role, text string) {
		add(&worldv1.Message{Sender: from, Recipient: to, Body: &worldv1.Message_Text{Text: text}})
	}
	call := func(id, tool, arguments string) {
		add(&worldv1.Message{Sender: user, Recipient: environment, Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{
			Id: &id, Name: &tool, Tool: tool, ArgumentsJson: arguments,
		}}})
	}
	answer := func(id, tool, text string, exception *string) {
		add(&worldv1.Message{Sender: environment, Recipient: user, Body: &worldv1.Message_Result{Result: &worldv1.ToolResult{
			Id: &id, Name: &tool, Text: &text, Exception: exception,
		}}})
	}
	say(user, agent, "How late is it?")
	call("example_1", "set_wifi_status", `{"on": true}`)
	answer("example_1", "set_wifi_status", "None", nil)
	call("example_2", "set_wifi_status", `{"on": false}`)
	call("example_3", "search_contacts", "{}")
	answer("example_2", "set_wifi_status", "PermissionError: no", proto.String("PermissionError: no"))
	answer("example_3", "search_contacts", "[]", nil)
	say(agent, user, "Nine.")
	add(&worldv1.Message{Sender: user, Recipient: environment, Body: &worldv1.Message_Code{Code: &worldv1.Code{Source: "end_conversation()"}}})
	got := loadDemonstration(t, demonstrationScenario(t)).GetMessages()
	if len(got) != len(want)+4 {
		t.Fatalf("got %d messages, want %d", len(got), len(want)+4)
	}
	if diff := cmp.Diff(want, got[2:2+len(want)], protocmp.Transform()); diff != "" {
		t.Errorf("the demonstrations (-want +got):\n%s", diff)
	}
}

// TestDemonstrationTimes checks times in arguments.
func TestDemonstrationTimes(t *testing.T) {
	got := loadDemonstration(t, edit(t, demonstrationScenario(t), "{tool: search_contacts, answer", `{tool: search_contacts, arguments: {near: {python: 'now'}}, answer`))
	arguments, err := messagetext.Arguments(got.GetMessages()[6].GetCall())
	if got, want := python.JSON(arguments), fmt.Sprintf(`{"near": %.1f}`, got.GetClock().GetNow()); err != nil || got != want {
		t.Errorf("arguments: got %s, want %s", got, want)
	}
}

func TestBadDemonstrationCalls(t *testing.T) {
	const first = "{tool: set_wifi_status, arguments: {on: true}, answer: None}"
	at := "a.yaml:9:17: one.user.demonstrations[1].calls[0]"
	for _, c := range []struct{ name, old, replacement, want string }{
		{"fine", first, first, ""},
		{"no list", "[" + first + "]", first, "a.yaml:9:16: one.user.demonstrations[1].calls: is a mapping, expected a list"},
		{"empty", "[" + first + "]", "[]", "a.yaml:9:16: one.user.demonstrations[1].calls: is empty, expected at least one call"},
		{"only a tool", first, "set_wifi_status", at + `: has no "answer", which is required`},
		{"no mapping", first, "5", at + ": is a number, expected a mapping"},
		{"no answer", ", answer: None", "", at + `: has no "answer", which is required`},
		{"no tool", "tool: set_wifi_status, arguments: {on: true}", "arguments: {on: true}", at + `: has no "tool", which is required`},
		{"unknown field", "answer: None", "answer: None, id: a", "a.yaml:9:78: one.user.demonstrations[1].calls[0].id: unknown field; expected one of tool, arguments, answer, failed"},
		{"answer of another shape", "answer: None", "answer: true", "a.yaml:9:72: one.user.demonstrations[1].calls[0].answer: is a boolean, expected a text (quote it)"},
		{"empty answer", "answer: None", "answer: ''", "a.yaml:9:72: one.user.demonstrations[1].calls[0].answer: is empty, expected what the environment prints, e.g. None or True"},
		{"failed: false", "answer: None", "answer: None, failed: false", "a.yaml:9:86: one.user.demonstrations[1].calls[0].failed: is false; leave it out"},
		{"unknown tool", first, "{tool: set_wifi_statu, answer: None}",
			`a.yaml:9:24: one.user.demonstrations[1].calls[0].tool: unknown tool "set_wifi_statu"; did you mean "set_wifi_status"?`},
		{"the end", first, "{tool: end_conversation, answer: None}",
			"a.yaml:9:24: one.user.demonstrations[1].calls[0].tool: end_conversation has no answer; show it with a turn of its own, end: true"},
		{"not in its hands", "[set_wifi_status, search_contacts]", "[search_contacts]",
			`a.yaml:9:24: one.user.demonstrations[1].calls[0].tool: the user cannot call "set_wifi_status", only search_contacts, end_conversation; list it in user.tools if it should` +
				"\n" + `a.yaml:11:20: one.user.demonstrations[2].calls[0].tool: the user cannot call "set_wifi_status", only search_contacts, end_conversation; list it in user.tools if it should`},
		{"arguments of another shape", "{on: true}", "[on]", "a.yaml:9:52: one.user.demonstrations[1].calls[0].arguments: is a list, expected a mapping"},
		{"unknown argument", "{on: true}", "{on: true, of: 1}",
			`a.yaml:9:52: one.user.demonstrations[1].calls[0].arguments: set_wifi_status has no argument "of"; did you mean "on"?`},
		{"wrong type", "{on: true}", "{on: 'on'}", `a.yaml:9:52: one.user.demonstrations[1].calls[0].arguments: argument on of set_wifi_status is "on", expected a boolean`},
		{"missing argument", ", arguments: {on: true}", "", at + `: set_wifi_status needs the argument "on"`},
		{"beside a text", "- calls: [" + first + "]", "- {user: Hi., calls: [" + first + "]}",
			"a.yaml:9:9: one.user.demonstrations[1]: has 2 fields, expected one of user, calls, agent, end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readPack(files(edit(t, demonstrationScenario(t), c.old, c.replacement), testWorld), described(t))
			if diff := cmp.Diff(c.want, errorText(err)); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestValidateDemonstrations checks demonstrations of canonical scenarios.
func TestValidateDemonstrations(t *testing.T) {
	good, err := readPack(files(demonstrationScenario(t), testWorld), described(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(setup *setupv1.Setup)
		want   []scenario.Problem
	}{
		{"fine", func(*setupv1.Setup) {}, nil},
		{"the original's end", func(setup *setupv1.Setup) { setup.Messages[10].GetCode().Name = proto.String("end") }, nil},
		{"another answer", func(setup *setupv1.Setup) { setup.Messages[4].GetResult().Id = proto.String("other") }, []scenario.Problem{
			{Path: "setup.messages[4]", Reason: `answers call "other", which the messages before it do not make`},
			{Path: "setup.messages[3]", Reason: "has no answer; a demonstration shows what the environment answers to a call"},
		}},
		{"answers in another order", func(setup *setupv1.Setup) {
			first, second := setup.GetMessages()[7].GetResult(), setup.GetMessages()[8].GetResult()
			first.Id, second.Id = second.Id, first.Id
		}, nil},
		{"no tool", func(setup *setupv1.Setup) { setup.Messages[3].GetCall().Tool = "set_wifi_statu" }, []scenario.Problem{
			{Path: "setup.messages[3].call.tool", Reason: `unknown tool "set_wifi_statu"; did you mean "set_wifi_status"?`},
		}},
		{"arguments that are no object", func(setup *setupv1.Setup) { setup.Messages[3].GetCall().ArgumentsJson = "[]" }, []scenario.Problem{
			{Path: "setup.messages[3].call.arguments_json", Reason: "is no JSON object: []"},
		}},
		{"no answer at the end", func(setup *setupv1.Setup) {
			setup.Messages = setup.GetMessages()[:7]
			setup.Messages[5].GetCall().Id = nil // not a call of a demonstration
		}, []scenario.Problem{{Path: "setup.messages[6]", Reason: "has no answer; a demonstration shows what the environment answers to a call"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := proto.CloneOf(good[0].Scenario)
			c.change(s.GetSetup())
			if diff := cmp.Diff(c.want, scenario.Validate(s, described(t))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDemonstrationEnd compares a demonstration without an end with one that has an end.
func TestDemonstrationEnd(t *testing.T) {
	t.Parallel()
	messages := func(end string) []*worldv1.Message {
		text := strings.Replace(turnScenario, "ORACLE", "oracle: [{say: Done., milestone: told}]\n", 1)
		text = strings.Replace(text, "says:", "demonstrations: [{user: Hi.}, {agent: Ho.}"+end+"], says:", 1)
		loaded, err := readPack(files(text, testWorld), scenario.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return loaded[0].Scenario.GetSetup().GetMessages()
	}
	if diff := cmp.Diff(messages(", {end: true}"), messages(""), protocmp.Transform()); diff != "" {
		t.Errorf("messages (-with an end +without):\n%s", diff)
	}
}
