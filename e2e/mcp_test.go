package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// registryPack writes a pack with the tools of two MCP servers from PyPI, with a directory of
// programs.
func registryPack(t *testing.T, programs string) string {
	t.Helper()
	dir := t.TempDir()
	manifest := fmt.Sprintf(`name: registry
standalone: true
tools:
  - {mcp: clock, command: [%q, --local-timezone=Europe/Berlin]}
  - {mcp: calculator, command: [%q]}
`, filepath.Join(programs, "mcp-server-time"), filepath.Join(programs, "mcp-server-calculator"))
	const scenario = `train_to_catch:
  clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
  user:
    goal: Learn what 16:30 in Tokyo is in UTC, and what 6 tickets of 7 euros cost.
    says: What's half past four in Tokyo in UTC? And 6 tickets at 7 euros each?
  oracle:
    - convert_time: {source_timezone: Asia/Tokyo, time: "16:30", target_timezone: UTC}
    - calculate: {expression: 6*7}
    - say: 16:30 in Tokyo is 07:30 in UTC, and six tickets cost 42 euros.
  milestones:
    converted: {call: {convert_time: {time: "16:30"}}}
    calculated: {call: {calculate: {expression: 6*7}}}
`
	for name, content := range map[string]string{"pack.yaml": manifest, "train.yaml": scenario} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLongRegistryServers calls tools of MCP servers from a package registry, and replays the run
// without them.
func TestLongRegistryServers(t *testing.T) {
	t.Parallel()
	programs, err := filepath.Abs(filepath.Join("..", ".bin", "mcp", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	pack := registryPack(t, programs)
	out, again := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "again")
	toolsandbox(t, "run", "--agent", "oracle", "--pack", pack, "--out", out)
	context := func(dir string) []byte {
		t.Helper()
		read, err := os.ReadFile(filepath.Join(dir, "trajectories", "train_to_catch", "execution_context.json"))
		if err != nil {
			t.Fatal(err)
		}
		return read
	}
	played := context(out)
	for _, want := range []string{"T07:30:00+00:00", "42"} {
		if !bytes.Contains(played, []byte(want)) {
			t.Errorf("trajectory: got\n%s\nwant %s in it", played, want)
		}
	}
	if err := os.RemoveAll(pack); err != nil {
		t.Fatal(err)
	}
	toolsandbox(t, "run", "--replay", out, "--out", again)
	if !bytes.Equal(played, context(again)) {
		t.Errorf("replay: got\n%s\nwant\n%s", context(again), played)
	}
}
