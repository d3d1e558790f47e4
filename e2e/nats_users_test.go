package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestLongNATSUsers plays sweeps over processes whose users of NATS may do only what their roles
// need: two gateways, two orchestrators and two shards, a model whose turns are recorded, a replay,
// and a second round. NATS denies nothing that a process does.
func TestLongNATSUsers(t *testing.T) {
	t.Parallel()
	base := startSlowModel(t)
	services := startCluster(t, cluster.Config{
		Users: true, TwoPlayers: true, MoreToolHosts: []string{cluster.SecondToolHost}, Env: []string{"TOOLSANDBOX_AGENTGW_MODEL_BASE_URLS=" + base},
	})
	dir := t.TempDir()
	together, apart := filepath.Join(dir, "together"), filepath.Join(dir, "apart")
	toolsandbox(t, "run", "--agent", "random", "--scenarios", "wifi_*", "--out", together)
	toolsandbox(t, append([]string{"run", "--agent", "random", "--scenarios", "wifi_*", "--out", apart}, services.ClientArgs()...)...)
	equalRuns(t, together, apart)
	model := filepath.Join(dir, "model")
	play := []string{"run", "--agent", "openai:slow", "--base-url", base, "--scenarios", "wifi_*", "--spend-tokens", "10000000", "--sweep-id", "model", "--out", model}
	toolsandbox(t, append(play, services.ClientArgs()...)...)
	toolsandbox(t, append([]string{"run", "--replay", model, "--out", filepath.Join(dir, "again")}, services.ClientArgs()...)...)
	toolsandbox(t, append(append(play, "--resume"), services.ClientArgs()...)...)
	if list := toolsandbox(t, append([]string{"sweep", "list"}, services.ClientArgs()...)...); !strings.Contains(list, "model") {
		t.Errorf("sweep list: got %s, want the sweep", list)
	}
	for _, name := range []string{cluster.ToolHost, cluster.SecondToolHost, cluster.AgentGateway, cluster.SecondAgentGateway, cluster.Evaluator, cluster.Orchestrator, cluster.SecondOrchestrator} {
		log, err := os.ReadFile(services.Log(name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			if strings.Contains(strings.ToLower(line), "permissions violation") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
