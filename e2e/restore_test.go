package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestToolHostsLost removes the tool hosts' disks repeatedly during a remote run, with one shard
// and with two. The sessions are rebuilt from the log, and every file equals that of an undisturbed
// run.
func TestToolHostsLost(t *testing.T) {
	t.Parallel()
	flags := []string{"run", "--agent", "oracle", "--parallel", "8", "a*", "b*", "c*", "--out"}
	baseline := filepath.Join(t.TempDir(), "calm")
	toolsandbox(t, append(flags, baseline)...)
	for name, victims := range map[string][]string{
		"one shard": {cluster.ToolHost}, "two shards": {cluster.SecondToolHost, cluster.ToolHost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := startCluster(t, cluster.Config{TwoShards: len(victims) == 2})
			disturbed := filepath.Join(t.TempDir(), "shaken")
			run := startRemote(t, services, append(flags, disturbed)...)
			for n := range 4 {
				if !run.progress() {
					t.Fatalf("the run ended before a tool host was lost\n%s", run.printed.String())
				}
				victim := victims[n%len(victims)]
				if err := errors.Join(services.Kill(victim), os.RemoveAll(services.Sessions(victim)), services.Start(t.Context(), victim)); err != nil {
					t.Fatal(err)
				}
			}
			run.succeed(t)
			equalRuns(t, baseline, disturbed)
		})
	}
}
