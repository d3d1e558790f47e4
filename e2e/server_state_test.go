package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestServerState proves and plays a pack whose server keeps state for each session. It replays the
// run without the server.
func TestServerState(t *testing.T) {
	without := strings.ReplaceAll(os.Getenv("PATH"), bin+string(os.PathListSeparator), "")
	out, again := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "again")
	mustContain(t, "prove", toolsandbox(t, "pack", "prove", cartPack, "cups_and_tea"), "1 proven, 0 failed")
	for _, args := range [][]string{
		{"pack", "validate", cartPack}, {"pack", "show", cartPack},
		{"run", "--agent", "oracle", "--pack", cartPack, "--out", out},
	} {
		printed, err := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, printed)
		}
		mustContain(t, args[0], string(printed), "cart/pack.yaml:4:5: cart keeps state (state: session): parallel calls run only in the given order")
	}
	for name, total := range map[string]string{"cups_and_tea": "'items': 4", "two_cups_at_once": "'items': 2"} {
		conversation, err := os.ReadFile(filepath.Join(out, "trajectories", name, "conversation.json"))
		if err != nil {
			t.Fatal(err)
		}
		mustContain(t, name, string(conversation), total, "C-1")
		if strings.Contains(string(conversation), "C-2") {
			t.Errorf("%s: got\n%s\nwant a server that nobody else asks", name, conversation)
		}
		mustContain(t, "replay of the session", toolsandbox(t, "session", "replay", name, "--out", out), "are identical")
	}
	t.Setenv("PATH", without)
	toolsandbox(t, "run", "--replay", out, "--out", again)
	equalRuns(t, out, again)
	mustContain(t, "run without the server", refused(t, "run", "--agent", "oracle", "--pack", cartPack, "--out", filepath.Join(t.TempDir(), "away")),
		"cart/pack.yaml:4:5: tools: tool server is broken: start mcpserver")
}

// TestStateIsNotRecorded loads a pack with a recorded answer of a server with state, which is an
// error.
func TestStateIsNotRecorded(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	for _, name := range []string{"pack.yaml", "cart.yaml"} {
		text, err := os.ReadFile(filepath.Join(cartPack, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	files["cart.yaml"] = strings.Replace(files["cart.yaml"], "  oracle:\n",
		"  recordings: [{url: \"tools://cart/show_cart\", params: {arguments: {}}, response: {value: {lines: [], items: 0}}}]\n  oracle:\n", 1)
	mustContain(t, "validate", refused(t, "pack", "validate", writeServedPack(t, files, "")),
		"cart.yaml:1:1: cups_and_tea.recordings: cart keeps a state, so that its answers depend on earlier calls; leave out the answer of tools://cart/show_cart")
}

// TestLongServerStateKilled kills the tool host repeatedly during requests to servers that keep
// state for each session.
func TestLongServerStateKilled(t *testing.T) {
	t.Parallel()
	cfg := cluster.Config{ToolHostArgs: []string{"--toolhost-tool-server", "cart=stdio:mcpserver cart"}}
	runWithKills(t, cfg, []string{"run", "--agent", "oracle", "--pack", cartPack, "--trials", "50"}, killToolHost)
}
