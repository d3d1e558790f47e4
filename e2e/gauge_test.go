package e2e_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestLongGauges plays a sweep on two orchestrators, of which one exports the numbers to scale by.
// Then it kills one after the other.
func TestLongGauges(t *testing.T) {
	const pending, running = "toolsandbox.jobs.pending", "toolsandbox.jobs.running"
	t.Parallel()
	r, endpoint := receive(t)
	services := startCluster(t, cluster.Config{
		TwoPlayers: true, Env: []string{"OPENAI_API_KEY=" + serviceKey}, Args: []string{"--otlp-endpoint", endpoint, "--otlp-metrics-interval", "500ms"},
	})
	flags := append([]string{
		"run", "--probe=false", "--agent", "openai:m", "--user", "openai:n", "--base-url", startCountingServer(t).URL + "/v1", "--trials", "8000", "--parallel", "4",
		"--sweep-id", "night", "--out", filepath.Join(t.TempDir(), "out"), "turn_off_wifi",
	}, services.ClientArgs()...)
	run := make(chan int, 1)
	go func() { run <- exitCodeOf(t, flags...) }()
	plays := func(name string) func() bool {
		return func() bool {
			return slices.ContainsFunc(r.gauges.of(name), func(g gauge) bool { return g.value > 0 })
		}
	}
	eventually(t, "rollouts are pending", plays(pending))
	eventually(t, "rollouts are running", plays(running))
	// The first orchestrator exports until the second has joined it.
	eventually(t, "four exports in a row of one orchestrator", func() bool {
		exported := r.gauges.of(pending)
		last := exported[max(0, len(exported)-4):]
		return len(last) == 4 && !slices.ContainsFunc(last, func(g gauge) bool { return g.from != last[0].from })
	})
	// exporter returns who exports after an orchestrator has been killed. Its own last export may
	// arrive afterwards.
	exporter := func(killed string) string {
		if err := services.Kill(killed); err != nil {
			t.Fatal(err)
		}
		r.gauges.forget()
		eventually(t, "an export after the death of "+killed, func() bool { return len(r.gauges.of(pending)) > 1 })
		return r.gauges.of(pending)[1].from
	}
	second := exporter(cluster.Orchestrator)
	if err := services.Start(t.Context(), cluster.Orchestrator); err != nil {
		t.Fatal(err)
	}
	if first := exporter(cluster.SecondOrchestrator); first == second {
		t.Errorf("exporter after the death of the second orchestrator: got %s, want the first one", first)
	}
	toolsandbox(t, append([]string{"sweep", "cancel", "night"}, sweepFlags(services)...)...)
	if got := <-run; got != 3 {
		t.Errorf("exit code of the run: got %d, want 3", got)
	}
}
