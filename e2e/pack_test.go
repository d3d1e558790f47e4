package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/internal/runfiles"
)

// examplePacks returns the packs of examples/.
func examplePacks(t *testing.T) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join("..", "examples", "packs", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs: got %v and %v, want some", packs, err)
	}
	return packs
}

// TestLongExamplePacks proves the packs of examples/ and plays them in all variants.
func TestLongExamplePacks(t *testing.T) {
	for _, pack := range examplePacks(t) {
		t.Run(filepath.Base(pack), func(t *testing.T) {
			if printed := toolsandbox(t, "pack", "prove", pack); !strings.Contains(printed, " proven, 0 failed ") {
				t.Errorf("prove: got\n%s\nwant all scenarios proven", printed)
			}
			out := filepath.Join(t.TempDir(), "out")
			toolsandbox(t, "run", "--agent", "oracle", "--variants", "all", "--pack", pack, "--out", out)
			summary, err := runfiles.ReadSummary(out)
			if err != nil {
				t.Fatal(err)
			}
			for _, scenario := range summary.Scenarios {
				if scenario.Similarity != "1.0" {
					t.Errorf("%s: got a similarity of %s, want 1.0", scenario.Name, scenario.Similarity)
				}
			}
			if len(summary.Scenarios) < 8 {
				t.Errorf("got %d rollouts, want all variants of some scenarios", len(summary.Scenarios))
			}
		})
	}
}

// TestLongTimerPack proves the built-in pack of timers, whose tools schedule events.
func TestLongTimerPack(t *testing.T) {
	if printed := toolsandbox(t, "scenario", "prove", "--pack", "timer"); !strings.Contains(printed, "6 proven, 0 failed ") {
		t.Errorf("prove: got\n%s\nwant all scenarios proven", printed)
	}
}

// TestLongTimersKilled kills the tool host and the orchestrator in turns while events interrupt
// conversations, and takes the tool host's disk away: every file is that of a calm run.
func TestLongTimersKilled(t *testing.T) {
	flags := []string{"run", "--agent", "oracle", "--pack", "timer", "--trials", "80", "--parallel", "8", "--out"}
	calm, shaken := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, calm)...)
	services := startCluster(t, cluster.Config{})
	run := startRemote(t, services, append(flags, shaken)...)
	for n := range 6 {
		if !run.progress() {
			t.Fatalf("the run ended before a service was killed\n%s", run.printed.String())
		}
		name := []string{cluster.ToolHost, cluster.Orchestrator}[n%2]
		err := services.Kill(name)
		if name == cluster.ToolHost && n > 0 {
			err = errors.Join(err, os.RemoveAll(services.Sessions(name)))
		}
		if err := errors.Join(err, services.Start(t.Context(), name)); err != nil {
			t.Fatal(err)
		}
	}
	run.succeed(t)
	equalRuns(t, calm, shaken)
}

// slowPack is a pack with a slow tool that changes the world from its beginning to its end, and
// draws ids and numbers.
var slowPack = map[string]string{
	"schema.yaml": `tables:
  - name: step
    columns:
      - {name: step_id, type: text}
      - {name: name, type: text}
      - {name: drawn, type: number}
`,
	"tools/slow.py": `"""A slow machine."""


def take_steps(name: str, count: int) -> float:
    """Takes steps, one after the other.

    Args:
        name: What they are called.
        count: How many.
    """
    total = 0.0
    for n in range(count):
        drawn = world.random()
        world.add("step", {"step_id": world.new_id(), "name": name, "drawn": drawn})
        for _ in range(1500):
            total = total + drawn
    return total
`,
	"slow.yaml": `walk:
  clock: {now: 2025-01-02T09:00:00, time_zone: Europe/Berlin}
  tables:
    setting: [{cellular: true, wifi: true, location_service: true, low_battery_mode: false}]
  user: {goal: Take some steps., says: Walk!}
  oracle:
    - take_steps: {name: a, count: 5}
    - calls: [{take_steps: {name: b, count: 3}}, {take_steps: {name: c, count: 3}}]
    - take_steps: {name: d, count: 5}
    - say: Sixteen steps are taken.
  milestones:
    walked: {addition: {step: [{name: a}, {name: d}]}, guardrails: {only: []}}
`,
}

// TestLongPackToolsKilled kills the tool host repeatedly while a pack's tools run, and removes its
// disk every other time. Every file equals that of an undisturbed run.
func TestLongPackToolsKilled(t *testing.T) {
	pack := t.TempDir()
	for name, content := range slowPack {
		file := filepath.Join(pack, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"run", "--agent", "oracle", "--pack", pack, "--trials", "100", "--parallel", "8", "--out"}
	calm, shaken := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, calm)...)
	services := startCluster(t, cluster.Config{})
	run := startRemote(t, services, append(flags, shaken)...)
	for n := range 6 {
		if !run.progress() {
			t.Fatalf("the run ended before the tool host was killed\n%s", run.printed.String())
		}
		err := services.Kill(cluster.ToolHost)
		if n%2 == 1 {
			err = errors.Join(err, os.RemoveAll(services.Sessions(cluster.ToolHost)))
		}
		if err := errors.Join(err, services.Start(t.Context(), cluster.ToolHost)); err != nil {
			t.Fatal(err)
		}
	}
	run.succeed(t)
	equalRuns(t, calm, shaken)
}
