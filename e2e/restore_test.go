package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestToolHostsLost takes the tool hosts' disks away again and again while a remote run goes on, with one shard and with two: the sessions
// are rebuilt from the log, and every file is that of a calm run.
func TestToolHostsLost(t *testing.T) {
	flags := []string{"run", "--agent", "oracle", "--parallel", "8", "a*", "b*", "c*", "--out"}
	calm := filepath.Join(t.TempDir(), "calm")
	toolsandbox(t, append(flags, calm)...)
	for name, victims := range map[string][]string{
		"one shard": {cluster.ToolHost}, "two shards": {cluster.SecondToolHost, cluster.ToolHost},
	} {
		t.Run(name, func(t *testing.T) {
			services := startCluster(t, cluster.Config{TwoShards: len(victims) == 2})
			shaken := filepath.Join(t.TempDir(), "shaken")
			run := startRemote(t, services, append(flags, shaken)...)
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
			equalRuns(t, calm, shaken)
		})
	}
}

// TestStreamTailsLost kills NATS, cuts the tail of every stream, and starts NATS again, while the services live and a remote run of a plug-in
// agent goes on: what was lost is played again, or named and then played again by --resume.
func TestStreamTailsLost(t *testing.T) {
	plug := serveAgent(t, switchWifiOff)
	flags := []string{"run", "--agent", plug, "--trials", "20", "--parallel", "2", "turn_off_wifi", "is_cellular_on", "--out"}
	calm, shaken := filepath.Join(t.TempDir(), "calm"), filepath.Join(t.TempDir(), "shaken")
	toolsandbox(t, append(flags, calm)...)
	services := start(t)
	run := startRemote(t, services, append(flags, shaken)...)
	for range 3 {
		if !run.progress() {
			t.Fatalf("the run ended at once\n%s", run.printed.String())
		}
	}
	if err := services.Kill(cluster.NATS); err != nil {
		t.Fatal(err)
	}
	blocks, err := filepath.Glob(filepath.Join(services.Streams(), "jetstream", "*", "streams", "*", "msgs", "*.blk"))
	if err != nil || len(blocks) == 0 {
		t.Fatalf("blocks: got %v and %v, want some", blocks, err)
	}
	for _, block := range blocks {
		info, err := os.Stat(block)
		if err == nil {
			err = os.Truncate(block, info.Size()*3/4)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := services.Start(t.Context(), cluster.NATS); err != nil {
		t.Fatal(err)
	}
	if err := run.wait(); err != nil { // what could not be read is named
		if !strings.Contains(run.printed.String(), "--resume plays") {
			t.Fatalf("got %v, want what --resume plays again\n%s", err, run.printed.String())
		}
		resume(t, "tails of all streams lost", calm, shaken, append(append(flags, shaken, "--resume"), services.ClientArgs()...)...)
		return
	}
	equalRuns(t, calm, shaken)
}
