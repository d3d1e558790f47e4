package e2e_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestKubernetesSettings plays the sweep of deploy/k8s/overlays/dev with its settings and its fake
// model, at other addresses. The Job's command starts the sweep; repeated, it resumes the sweep.
func TestKubernetesSettings(t *testing.T) {
	t.Parallel()
	dev := filepath.Join("..", "deploy", "k8s", "overlays", "dev")
	base := startSlowModel(t)
	services := startCluster(t, cluster.Config{
		Args: []string{"--config", filepath.Join(dev, "settings.yaml"), "--otlp-endpoint="}, Env: []string{"TOOLSANDBOX_AGENTGW_MODEL_BASE_URLS=" + base},
	})
	out := filepath.Join(t.TempDir(), "first")
	command := append([]string{"run", "--config", filepath.Join(dev, "sweep", "sweep.yaml"), "--out", out, "--base-url", base}, services.ClientArgs()...)
	for _, resumptions := range []int{0, 1} {
		toolsandbox(t, command...)
		summary, err := results.ReadSummary(out)
		if err != nil {
			t.Fatal(err)
		}
		run, err := results.ReadRun(out)
		if err != nil {
			t.Fatal(err)
		}
		if len(summary.Scenarios) < 3 || len(run.Resumptions) != resumptions {
			t.Errorf("got %d scenarios and %d resumptions, want 3 or more and %d", len(summary.Scenarios), len(run.Resumptions), resumptions)
		}
	}
}

// startSlowModel starts the fake model and returns its base URL.
func startSlowModel(t *testing.T) string {
	t.Helper()
	model := exec.CommandContext(t.Context(), filepath.Join(bin, "slowmodel"), "-delay=1ms", "-calls=2")
	stdout, err := model.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Wait() }) // the context of the test, which ends before, kills it
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}
