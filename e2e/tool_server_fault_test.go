package e2e_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/testkit/porttest"
	"github.com/toolsandbox/toolsandbox/sdk/go/tools"
)

// orderScenario makes parallel calls that raise in another order than the given one: the note
// exists already.
const orderScenario = `write_anew:
  clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
  tables:
    setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false}]
    note: [{title: Old door code, pages: 3}]
  user: {goal: Have the note of the old door code written anew., says: Write the note of the old door code anew.}
  oracle:
    - calls: [{remove_note: {title: Old door code}}, {add_note: {title: Old door code}}, {add_note: {title: Garden plan}}]
    - say: It is written anew.
  milestones:
    added: {addition: {note: [{title: Garden plan, pages: 1}]}}
`

// TestToolServerOrder makes parallel calls that conflict through the rows of a server's requests.
// The outcome is that of the first order in which a call raises. A replay without the server has
// the same one.
func TestToolServerOrder(t *testing.T) {
	t.Parallel()
	server := serveTools(t, "127.0.0.1:0")
	files := maps.Clone(deskPack)
	files["desk.yaml"] = orderScenario
	pack := writeServedPack(t, files, server.address)
	out, again := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "again")
	toolsandbox(t, "run", "--agent", "oracle", "--pack", pack, "--out", out)
	raw, err := os.ReadFile(filepath.Join(out, "trajectories", "write_anew", "conversation.json"))
	if err != nil {
		t.Fatal(err)
	}
	output := string(raw)
	const raised = "ValueError: There is a note Old door code"
	if first := strings.Index(output, raised); first < 0 || strings.Count(output, "There is a note") != strings.Count(output, raised) {
		t.Errorf("conversation: got\n%s\nwant the order in which add_note raises %s", output, raised)
	}
	mustContain(t, "replay of the session", toolsandbox(t, "session", "replay", "write_anew", "--out", out), "are identical")
	server.stop()
	toolsandbox(t, "run", "--replay", out, "--out", again)
	equalRuns(t, out, again)
}

// TestToolServerNames declares tools of a server with the names of other tools.
func TestToolServerNames(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, *tools.Call, struct{}) (any, error) { return nil, nil }
	server := serveTools(t, "127.0.0.1:0", tools.New("add_contact", "Adds a contact.", nothing), tools.New("len", "Measures.", nothing))
	other := serveTools(t, "127.0.0.1:0")
	files := maps.Clone(deskPack)
	files["pack.yaml"] = "name: desk\ntools:\n  - {server: desk, address: \"ADDRESS\"}\n  - {server: shelf, address: \"" + other.address + "\"}\n"
	files["tools/note.py"] = "def find_notes(title: str) -> str:\n    \"\"\"Finds notes.\n\n    Args:\n        title: The title.\n    \"\"\"\n    return title\n"
	printed := refused(t, "pack", "validate", writeServedPack(t, files, server.address))
	for _, want := range []string{
		"pack.yaml:3:5: desk.find_notes: the name is that of a tool in tools/note.py; rename one of them",
		"pack.yaml:3:5: desk.add_contact: the name is that of a built-in tool; rename one of them",
		"pack.yaml:3:5: desk.len: len means something in Python or to tools already; rename the tool in its server",
		"pack.yaml:4:5: shelf.add_note: the name is that of a tool of the server desk; rename one of them",
	} {
		if strings.Count(printed, want+"\n") != 1 {
			t.Errorf("validate: got\n%s\nwant one line with %q", printed, want)
		}
	}
}

// TestUnknownToolServer uses names of servers that a pack or a tool host does not have.
func TestUnknownToolServer(t *testing.T) {
	t.Parallel()
	server := serveTools(t, "127.0.0.1:0")
	pack := writeServedPack(t, deskPack, server.address)
	mustContain(t, "name of no server", refused(t, "run", "--agent", "oracle", "--pack", pack, "--out", filepath.Join(t.TempDir(), "out"), "--toolhost-tool-server", "dsek=grpc://"+server.address),
		`--toolhost-tool-server: dsek names no tool server of `+pack+`; did you mean "desk"?`)
	services := start(t)
	mustContain(t, "run", refused(t, append([]string{"run", "--agent", "oracle", "--pack", pack, "--out", filepath.Join(t.TempDir(), "out")}, services.ClientArgs()...)...),
		"1 of 1 rollouts have no score because a service, a provider or a player failed", `unknown tool server "desk": start the tool host with --toolhost-tool-server desk=address`)
	if server.calls.Load() > 0 {
		t.Errorf("calls of the server: got %d, want none", server.calls.Load())
	}
}

// TestLongToolServerLost stops a server during its first call. The rollout waits, then it has no
// score, and the run fails. With the server back, the run continues.
func TestLongToolServerLost(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 8)
	look := func(ctx context.Context, _ *tools.Call, _ struct{}) (any, error) {
		called <- struct{}{}
		return "a shelf", ctx.Err()
	}
	shelf := func() tools.Tool { return tools.New("look_at_shelf", "Looks at the shelf.", look) }
	server := serveTools(t, porttest.Address(t), shelf()) // it comes back there
	files := maps.Clone(deskPack)
	files["desk.yaml"] = strings.NewReplacer("extra_tools: [", "extra_tools: [look_at_shelf, ", "  oracle:\n", "  oracle:\n    - look_at_shelf: {}\n").Replace(files["desk.yaml"])
	pack := writeServedPack(t, files, server.address)
	toolsandbox(t, "pack", "freeze", pack)
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"run", "--agent", "oracle", "--pack", pack, "--toolhost-tool-server-timeout", "500ms", "--out", out}
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-called:
			server.stop()
		case <-ended:
		}
	}()
	printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...).CombinedOutput()
	close(ended)
	<-stopped
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 1 {
		t.Errorf("run: got %v, want exit code 1", err)
	}
	mustContain(t, "run", string(printed), "1 of 1 rollouts have no score because a service, a provider or a player failed", "tool server is unavailable: desk at grpc://"+server.address)
	serveTools(t, server.address, shelf())
	mustContain(t, "resumed run", toolsandbox(t, append(args, "--resume")...), "take_two_notes  1.000")
}
