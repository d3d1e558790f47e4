package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/compare"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// toolsandbox runs the command line and returns its standard output.
func toolsandbox(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("toolsandbox %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String()
}

// equalRuns fails the test unless both runs have the same files.
func equalRuns(t *testing.T, want, got string) {
	t.Helper()
	differences, err := compare.Runs(want, got)
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range differences {
		t.Error(difference)
	}
}

func TestLongFourProcessesEqualOne(t *testing.T) {
	t.Parallel()
	services := start(t)
	for _, agent := range []string{"oracle", "random", "unhelpful"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			together, apart := filepath.Join(t.TempDir(), "together"), filepath.Join(t.TempDir(), "apart")
			toolsandbox(t, "run", "--agent", agent, "--out", together)
			toolsandbox(t, append([]string{"run", "--agent", agent, "--out", apart}, services.ClientArgs()...)...)
			equalRuns(t, together, apart)
		})
	}
}

// TestLongKilledServices kills every service while rollouts run. After its restart each rollout
// finishes once, with the scores and messages of an undisturbed run.
func TestLongKilledServices(t *testing.T) {
	t.Parallel()
	const trials = 2
	flags := []string{"run", "--agent", "random", "--trials", fmt.Sprint(trials), "--parallel", "4"}
	baseline, disturbed := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, "--out", baseline)...)

	services := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "toolsandbox"), append(append(flags, "--out", disturbed), services.ClientArgs()...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	victims := []string{cluster.ToolHost, cluster.Orchestrator, cluster.AgentGateway, cluster.Evaluator, cluster.NATS, cluster.Orchestrator, cluster.ToolHost}
	killed := 0
	var printed []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		printed = append(printed, lines.Text())
		if !strings.Contains(lines.Text(), "rollouts, mean score") || killed == len(victims) {
			continue
		}
		// A progress line means that rollouts are running: kill the next service immediately.
		if err := services.Kill(victims[killed]); err != nil {
			t.Fatal(err)
		}
		if err := services.Start(t.Context(), victims[killed]); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the shaken run: %v\n%s", err, strings.Join(printed, "\n"))
	}
	if killed != len(victims) {
		t.Fatalf("services killed: got %d, want %d", killed, len(victims))
	}
	equalRuns(t, baseline, disturbed)
	summary, err := results.ReadSummary(disturbed)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, scenario := range summary.Scenarios {
		if names[scenario.Name] {
			t.Errorf("%s has two results", scenario.Name)
		}
		names[scenario.Name] = true
	}
	if len(names)%trials != 0 || len(names) == 0 {
		t.Errorf("results: got %d, want a multiple of %d", len(names), trials)
	}
}
