package conversation

import (
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/python"

	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestUserViewDemonstration checks demonstrations with calls. A user with tools sees them with
// their results, but not the unanswered end. A user without tools sees neither, as in the original.
func TestUserViewDemonstration(t *testing.T) {
	source := func(id string) *worldv1.Message {
		return withID(text0(user, environment, messagetext.ComposeSource(id, "set_wifi_status", python.Repr((&python.Dict{}).Value()))), p(id), p("set_wifi_status"))
	}
	failed := withID(text0(environment, user, "PermissionError: no"), p("example_2"), p("set_wifi_status"))
	failed.GetResult().Exception = p("PermissionError: no")
	view := []*worldv1.Message{
		text0(agent, user, "asks"),
		source("example_1"),
		source("example_2"),
		withID(text0(environment, user, "None"), p("example_1"), p("set_wifi_status")),
		failed,
		text0(user, environment, "end_conversation()"),
		text0(system, user, "s"),
		text0(user, agent, "mine"),
		text0(agent, user, "theirs"),
	}
	for hands, want := range map[bool]string{
		true: "user asks\ncall example_1 set_wifi_status {} {}\ncall example_2 set_wifi_status {} {}\n" +
			"result example_1 set_wifi_status None\nresult example_2 set_wifi_status PermissionError: no failed\n" +
			"system s\nassistant mine\nuser theirs",
		false: "user asks\nsystem s\nassistant mine\nuser theirs",
	} {
		got := lines(UserView(view, hands))
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("hands %t: Simulator (-want +got):\n%s", hands, diff)
		}
	}
}
