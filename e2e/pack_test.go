package e2e_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// examplePacks are the directories of the packs that authors may copy.
var examplePacks = []string{filepath.Join("..", "packs", "ride"), filepath.Join("..", "packs", "shop")}

// TestLongExamplePacks proves packs and runs them in all variants.
func TestLongExamplePacks(t *testing.T) {
	t.Parallel()
	for _, pack := range examplePacks {
		t.Run(filepath.Base(pack), func(t *testing.T) {
			t.Parallel()
			if printed := toolsandbox(t, "pack", "prove", pack); !strings.Contains(printed, " proven, 0 failed ") {
				t.Errorf("prove: got\n%s\nwant all scenarios proven", printed)
			}
			out := filepath.Join(t.TempDir(), "out")
			toolsandbox(t, "run", "--agent", "oracle", "--variants", "all", "--pack", pack, "--out", out)
			summary, err := results.ReadSummary(out)
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

// TestLongTimerPack proves the built-in pack of timers. Its tools schedule events.
func TestLongTimerPack(t *testing.T) {
	t.Parallel()
	if printed := toolsandbox(t, "scenario", "prove", "--pack", "timer"); !strings.Contains(printed, "6 proven, 0 failed ") {
		t.Errorf("prove: got\n%s\nwant all scenarios proven", printed)
	}
}

// runWithKills runs flags undisturbed, then with services of which kill selects one at a time to
// kill. If lose is set, it also removes the tool host's disk. Every file must equal that of the
// undisturbed run.
func runWithKills(t *testing.T, cfg cluster.Config, flags []string, kill func(n int) (service string, lose bool)) {
	t.Helper()
	flags = append(slices.Clone(flags), "--parallel", "8", "--out")
	baseline, disturbed := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, baseline)...)
	services := startCluster(t, cfg)
	run := startRemote(t, services, append(flags, disturbed)...)
	for n := range 6 {
		if !run.progress() {
			t.Fatalf("the run ended before a service was killed\n%s", run.printed.String())
		}
		service, lose := kill(n)
		err := services.Kill(service)
		if lose {
			err = errors.Join(err, os.RemoveAll(services.Sessions(service)))
		}
		if err := errors.Join(err, services.Start(t.Context(), service)); err != nil {
			t.Fatal(err)
		}
	}
	run.succeed(t)
	equalRuns(t, baseline, disturbed)
}

// killToolHost selects the tool host, and its disk every other time.
func killToolHost(n int) (service string, lose bool) { return cluster.ToolHost, n%2 == 1 }

// TestLongTimersKilled kills the tool host and the orchestrator alternately while events interrupt
// conversations.
func TestLongTimersKilled(t *testing.T) {
	t.Parallel()
	runWithKills(t, cluster.Config{}, []string{"run", "--agent", "oracle", "--pack", "timer", "--trials", "25"}, func(n int) (string, bool) {
		if n%2 == 1 {
			return cluster.Orchestrator, false
		}
		return cluster.ToolHost, n > 0
	})
}

// slowPack is a pack with a slow tool that changes the world at its start and end, and draws ids
// and numbers.
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

// TestLongPackToolsKilled kills the tool host repeatedly while a pack's tools run.
func TestLongPackToolsKilled(t *testing.T) {
	t.Parallel()
	pack := writeServedPack(t, slowPack, "")
	runWithKills(t, cluster.Config{}, []string{"run", "--agent", "oracle", "--pack", pack, "--trials", "100"}, killToolHost)
}

// TestLongToolServerKilled kills the tool host repeatedly during its requests to a tool server.
func TestLongToolServerKilled(t *testing.T) {
	t.Parallel()
	server := serveTools(t, "127.0.0.1:0")
	pack := writeServedPack(t, deskPack, server.address)
	cfg := cluster.Config{ToolHostArgs: []string{"--toolhost-tool-server", "desk=grpc://" + server.address}}
	runWithKills(t, cfg, []string{"run", "--agent", "oracle", "--pack", pack, "--trials", "150"}, killToolHost)
}

// TestLongPackMeasuresKilled kills the evaluator again and again while it scores by the measures of
// a pack's own, which docs/measures.md shows.
func TestLongPackMeasuresKilled(t *testing.T) {
	t.Parallel()
	files := make(map[string]string)
	for _, c := range documented(t) {
		if name, of := strings.CutPrefix(c.file, "shop/"); of && strings.HasSuffix(c.document, "measures.md") {
			files[name] = c.content
		}
	}
	if files["measures/price.py"] == "" {
		t.Fatalf("got the files %v, want those of the pack", slices.Sorted(maps.Keys(files)))
	}
	pack := writeServedPack(t, files, "")
	runWithKills(t, cluster.Config{}, []string{"run", "--agent", "random", "--pack", pack, "--trials", "80"}, func(int) (string, bool) { return cluster.Evaluator, false })
}
