package e2e_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestLongForkKilled plays forks of a rollout between two models over remote services, and kills
// the command line, or the orchestrator, in the middle of one. Each run has the files of the
// embedded and undisturbed one: given turns are played again, paid replies are used, and nothing is
// missing or doubled.
func TestLongForkKilled(t *testing.T) {
	t.Parallel()
	server, services := startUnreliableModel(t), start(t)
	dir := t.TempDir()
	models := []string{"--agent", "openai:m", "--user", "openai:n", "--base-url", server.URL + "/v1"}
	origin := filepath.Join(dir, "origin")
	play := func(args ...string) (answers int64) {
		t.Helper()
		server.answered.Store(0)
		toolsandbox(t, append(args, "--probe=false", "--floors=false")...)
		return server.answered.Load()
	}
	played := play(slices.Concat([]string{"run", "--out", origin, "turn_off_wifi"}, models)...)
	fork := slices.Concat([]string{"run", "--fork", filepath.Join(origin, "turn_off_wifi@6"), "--trials", "3", "--parallel", "1"}, models)
	calm := filepath.Join(dir, "calm")
	paid := play(append(fork, "--out", calm)...)
	if paid == 0 || paid >= 3*played {
		t.Fatalf("answers of three forks: got %d, want fewer than three times the %d of their origin", paid, played)
	}

	into := func(name string) (out string, args []string) {
		out = filepath.Join(dir, name)
		return out, append(slices.Clone(fork), "--out", out, "--probe=false", "--floors=false")
	}
	check := func(out string) {
		t.Helper()
		equalRuns(t, calm, out)
		if got := server.answered.Load(); got != paid {
			t.Errorf("answers of %s: got %d, want %d as undisturbed", filepath.Base(out), got, paid)
		}
	}
	out, args := into("remote")
	play(append(args, services.ClientArgs()...)...)
	check(out)

	out, args = into("killed")
	server.answered.Store(0)
	killWhenHanging(t, server, paid/2, true, args...)
	toolsandbox(t, append(args, "--resume")...)
	check(out)

	out, args = into("orchestrator")
	server.answered.Store(0)
	hang := server.hang(paid / 2)
	background := startRemote(t, services, args...)
	background.await(t, hang.reached)
	if err := errors.Join(services.Kill(cluster.Orchestrator), services.Start(t.Context(), cluster.Orchestrator)); err != nil {
		t.Fatal(err)
	}
	server.end(hang)
	background.succeed(t)
	check(out)
}
