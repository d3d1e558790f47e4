package toolhost

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolsandbox/toolsandbox/internal/messagetext"
	"github.com/toolsandbox/toolsandbox/internal/testkit/natstest"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	toolhostv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/toolhost/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestPackTools lists the tools of a pack after the built-in ones. For invalid tools it expects the
// first mistake's position.
func TestPackTools(t *testing.T) {
	client := start(t)
	good := &setupv1.ToolModule{Name: "lamp", Source: "def look() -> float:\n  '''Looks.'''\n  return world.now()\n"}
	list, err := client.ListTools(t.Context(), &toolhostv1.ListToolsRequest{ToolModules: []*setupv1.ToolModule{good}})
	if err != nil {
		t.Fatal(err)
	}
	own := list.GetTools()[len(Tools())-1] // before the tool for consent
	if len(list.GetTools()) != len(Tools())+1 || own.GetTool().GetName() != "look" || own.GetModule() != "lamp" || !own.GetReadOnly() {
		t.Errorf("got %d tools, behind the others %v, want one more than %d, look of lamp, which only reads", len(list.GetTools()), own, len(Tools()))
	}
	for name, module := range map[string]*setupv1.ToolModule{
		"tools/lamp.py:1:1: add_contact: ": {Name: "lamp", Source: strings.Replace(good.GetSource(), "look", "add_contact", 1)},
		"tools/setting.py:1:1: file: ":     {Name: "setting", Source: good.GetSource()},
		"tools/lamp.py:3:10: look: ":       {Name: "lamp", Source: strings.Replace(good.GetSource(), "world.now", "wrold.now", 1)},
	} {
		_, err := client.ListTools(t.Context(), &toolhostv1.ListToolsRequest{ToolModules: []*setupv1.ToolModule{module}})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), name) {
			t.Errorf("list: got %v, want InvalidArgument with %q", err, name)
		}
		setup := smallSetup("small")
		setup.ToolModules = []*setupv1.ToolModule{module}
		_, err = client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "bad", Setup: setup})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), name) {
			t.Errorf("create: got %v, want InvalidArgument with %q", err, name)
		}
	}
	setup := smallSetup("small")
	setup.ToolModules = []*setupv1.ToolModule{good, good}
	_, err = client.CreateSession(t.Context(), &toolhostv1.CreateSessionRequest{SessionId: "twice", Setup: setup})
	wantCode(t, "two files of one name", err, codes.InvalidArgument)
}

// TestTryTools finds the defect of a pack's tool by a call in the setup's world, without a session.
func TestTryTools(t *testing.T) {
	client := start(t)
	setup := smallSetup("small")
	setup.ToolModules = []*setupv1.ToolModule{{Name: "lamp", Source: "def look(name: str) -> str:\n  '''Looks.\n\n  Args:\n    name: N.\n  '''\n  return name + world.now()\n"}}
	tried, err := client.TryTools(t.Context(), &toolhostv1.TryToolsRequest{Setup: setup})
	if err != nil {
		t.Fatal(err)
	}
	want := []*toolhostv1.ToolFault{{File: "tools/lamp.py", Line: 7, Column: 3, Tool: "look",
		Reason: `TypeError: can only concatenate str (not "float") to str, when called as look(name='Ann')`}}
	if diff := cmp.Diff(want, tried.GetFaults(), protocmp.Transform()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	list, err := client.ListSessions(t.Context(), &toolhostv1.ListSessionsRequest{})
	if err != nil || len(list.GetSessions()) > 0 {
		t.Errorf("sessions: got %v and %v, want none", list.GetSessions(), err)
	}
	setup.ToolModules[0].Source = "def look(:"
	_, err = client.TryTools(t.Context(), &toolhostv1.TryToolsRequest{Setup: setup})
	wantCode(t, "a file that Python cannot read", err, codes.InvalidArgument)
}

// TestPackToolsAfterRestart calls a pack's tool before and after a restart, and in a fork.
func TestPackToolsAfterRestart(t *testing.T) {
	file, bus := filepath.Join(t.TempDir(), storeFile), natstest.Start(t)
	setup := smallSetup("small")
	setup.ToolModules = []*setupv1.ToolModule{{Name: "rename", Source: `
def add_letter(letter: str) -> str:
    """Adds a letter to the name of all contacts.

    Args:
        letter: The letter.
    """
    name = world.rows("contact")[0]["name"] + letter
    world.update("contact", {"name": name}, person_id="a")
    return name
`}}
	letter := func(client toolhostv1.ToolHostServiceClient, session string, index int32, want string) {
		t.Helper()
		response, err := client.Execute(t.Context(), &toolhostv1.ExecuteRequest{SessionId: session, Index: index + 1, Calls: []*worldv1.Message{
			call(index, worldv1.Role_ROLE_AGENT, messagetext.ComposeSource("call_1", "add_letter", "{'letter': 'x'}")),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := messagetext.Content(response.GetAnswers()[0]); got != want {
			t.Errorf("call in %s: got %s, want %s", session, got, want)
		}
	}
	before := serve(t, file, bus, ownsAll)
	create(t, before.client, "s", setup)
	letter(before.client, "s", 2, "'Annx'")
	before.close()
	after := serve(t, file, bus, ownsAll)
	letter(after.client, "s", 4, "'Annxx'")
	if _, err := after.client.ForkSession(t.Context(), &toolhostv1.ForkSessionRequest{SessionId: "s", Index: 3, NewSessionId: "f"}); err != nil {
		t.Fatal(err)
	}
	letter(after.client, "f", 4, "'Annxx'")
	letter(after.client, "s", 6, "'Annxxx'")
}
