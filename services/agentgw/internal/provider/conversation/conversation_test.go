package conversation

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/original/row"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	agent       = worldv1.Role_ROLE_AGENT
	user        = worldv1.Role_ROLE_USER
	system      = worldv1.Role_ROLE_SYSTEM
	environment = worldv1.Role_ROLE_EXECUTION_ENVIRONMENT
)

func text0(from, to worldv1.Role, content string) *worldv1.Message {
	return rowtest.Message(from, to, content)
}

// withID sets the id and the name of a call or a result. Both may be null.
func withID(m *worldv1.Message, id, name *string) *worldv1.Message {
	row := row.Of(m)
	row.ToolCallID, row.FunctionName = id, name
	return rowtest.Read(m.GetSender(), m.GetRecipient(), row)
}

func p(text string) *string { return &text }

// line formats an entry.
func line(e Entry) string {
	kind := map[Kind]string{System: "system", User: "user", Assistant: "assistant", ToolCall: "call", Result: "result"}[e.Kind]
	switch e.Kind {
	case ToolCall:
		return kind + " " + e.ID + " " + e.Name + " " + e.ArgumentsText() + " " + e.ArgumentsObject(true)
	case Result:
		failed := ""
		if e.Failed {
			failed = " failed"
		}
		return kind + " " + e.ID + " " + e.Name + " " + e.Text + failed
	case System, User, Assistant:
	}
	return kind + " " + e.Text
}

func lines(entries []Entry) string {
	var list []string
	for _, e := range entries {
		list = append(list, line(e))
	}
	return strings.Join(list, "\n")
}

func TestAgentView(t *testing.T) {
	source := func(id, tool string, args python.Value) *worldv1.Message {
		return text0(agent, environment, messagetext.ComposeSource(id, tool, python.Repr(args)))
	}
	failed := text0(environment, agent, "TypeError")
	failed.GetResult().Exception = p("TypeError")
	one, err := python.ParseJSON(`{"a": NaN, "b": [1, 1.0, "é", -Infinity]}`)
	if err != nil {
		t.Fatal(err)
	}
	got := lines(AgentView([]*worldv1.Message{
		text0(system, agent, "s"),
		text0(system, user, "hidden"),
		text0(user, environment, "hidden"),
		text0(user, agent, "u"),
		withID(source("call_1", "real", one), p("call_1"), p("shown")),
		withID(source("None", "real", (&python.Dict{}).Value()), nil, p("shown")),
		withID(source("x", "real", python.Str("{")), p("x"), nil),
		withID(text0(agent, environment, "print(1)"), p("y"), nil),
		withID(failed, p("x"), nil),
		withID(text0(environment, agent, "1"), nil, nil),
		withID(text0(environment, agent, "2"), p("call_1"), p("shown")),
		text0(agent, user, ""),
	}))
	want := strings.Join([]string{
		"system s",
		"user u",
		`call call_1 shown {"a": "nan", "b": [1, 1.0, "\u00e9", "-inf"]} {"a": "nan", "b": [1, 1.0, "\u00e9", "-inf"]}`,
		"call None shown {} {}",
		"call x real { {}",
		`call y python {"source": "print(1)"} {"source": "print(1)"}`,
		"result x real TypeError failed",
		"result None shown 1",
		"result call_1 shown 2",
		"assistant ",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Agent (-want +got):\n%s", diff)
	}
}

func TestUserView(t *testing.T) {
	got := lines(UserView([]*worldv1.Message{
		text0(system, user, "s"),
		text0(system, agent, "hidden"),
		text0(user, agent, "mine"),
		text0(agent, user, "theirs"),
		text0(user, environment, "hidden"),
		text0(environment, user, "hidden"),
	}, false))
	if want := "system s\nassistant mine\nuser theirs"; got != want {
		t.Errorf("Simulator: got %q, want %q", got, want)
	}
}

// TestUserViewOfToolUse checks the view of a user that sees the agent's calls and their results:
// they precede the agent's next text, and one without a text after it does not appear.
func TestUserViewOfToolUse(t *testing.T) {
	search := func(id string) *worldv1.Message {
		return withID(text0(agent, environment, messagetext.ComposeSource(id, "real", python.Repr((&python.Dict{}).Value()))), p(id), p("shown"))
	}
	failed := withID(text0(environment, agent, "TypeError"), p("b"), p("shown"))
	failed.GetResult().Exception = p("TypeError")
	event := &worldv1.Message{Sender: environment, Recipient: agent, Body: &worldv1.Message_Text{Text: "hidden"}}
	got := lines(UserView([]*worldv1.Message{
		text0(system, user, "s"),
		text0(user, agent, "mine"),
		search("a"), search("b"),
		withID(text0(environment, agent, "[1]"), p("a"), p("shown")), failed,
		event,
		withID(text0(agent, environment, "print(1)"), p("c"), nil),
		text0(agent, user, "theirs"),
		text0(user, agent, "again"),
		text0(agent, user, "theirs alone"),
		search("d"),
	}, false))
	want := strings.Join([]string{
		"system s",
		"assistant mine",
		"user [Tool call] shown {}\n[Tool call] shown {}\n[Tool result] [1]\n[Tool error] TypeError\n[Tool call] print(1)\n\ntheirs",
		"assistant again",
		"user theirs alone",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
}

// TestUserViewWithTools checks the view of a user with its own tools: calls appear with their
// results, unanswered calls do not appear.
func TestUserViewWithTools(t *testing.T) {
	wifi := func(id string) *worldv1.Message {
		return withID(text0(user, environment, messagetext.ComposeSource(id, "get_wifi_status", python.Repr((&python.Dict{}).Value()))), p(id), p("get_wifi_status"))
	}
	failed := withID(text0(environment, user, "TypeError"), p("b"), p("get_wifi_status"))
	failed.GetResult().Exception = p("TypeError")
	got := lines(UserView([]*worldv1.Message{
		text0(user, agent, "shown"),
		text0(agent, user, "an example"),
		text0(user, environment, "end_conversation()"),
		text0(system, user, "s"),
		text0(user, agent, "mine"),
		text0(agent, user, "theirs"),
		wifi("a"),
		wifi("b"),
		failed,
		withID(text0(environment, user, "True"), p("a"), p("get_wifi_status")),
	}, true))
	want := strings.Join([]string{
		"assistant shown", "user an example", "system s", "assistant mine", "user theirs",
		"call a get_wifi_status {} {}", "call b get_wifi_status {} {}", "result b get_wifi_status TypeError failed", "result a get_wifi_status True",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Simulator (-want +got):\n%s", diff)
	}
}

// TestNotification shows an event as a text of the user's, to the one who is told and nobody else.
func TestNotification(t *testing.T) {
	event := func(to worldv1.Role) *worldv1.Message {
		return &worldv1.Message{Sender: environment, Recipient: to, Body: &worldv1.Message_Text{Text: "Timer: eggs"}}
	}
	view := []*worldv1.Message{
		text0(user, agent, "Eggs!"), text0(agent, user, "Yes."), event(agent), text0(agent, user, "They are done."), event(user),
	}
	wantAgent := "user Eggs!\nassistant Yes.\nuser [Notification on the phone] Timer: eggs\nassistant They are done."
	if diff := cmp.Diff(wantAgent, lines(AgentView(view))); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	wantUser := "assistant Eggs!\nuser Yes.\nuser They are done.\nuser [Notification on the phone] Timer: eggs"
	for _, hands := range []bool{false, true} {
		if diff := cmp.Diff(wantUser, lines(UserView(view, hands))); diff != "" {
			t.Errorf("user, hands %t (-want +got):\n%s", hands, diff)
		}
	}
	if got := AgentView(view)[2].Notification; got != "Timer: eggs" {
		t.Errorf("notification: got %q", got)
	}
}
