package e2e_test

import (
	"flag"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
	"github.com/toolsandbox/toolsandbox/e2e/internal/record"
)

// earlier is the directory with the program of an earlier version.
var earlier = flag.String("earlier", "", "directory with the toolsandbox of an earlier version, for TestLongUpgrade")

// TestUnknownFields plays a remote run in which every gRPC message, in both directions, has a field
// that its receiver does not know, as those of a newer version have. Every file equals that of an
// undisturbed run.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := []string{"run", "--agent", "random:7", "--trials", "2", "turn_off_*", "--out"}
	baseline, mixed := filepath.Join(dir, "baseline"), filepath.Join(dir, "mixed")
	toolsandbox(t, append(flags, baseline)...)
	r := record.New()
	r.Append(protowire.AppendString(protowire.AppendTag(nil, 4000, protowire.BytesType), "of a newer version"))
	services := startCluster(t, cluster.Config{Route: func(from, to, address string) (string, error) {
		if to == cluster.NATS {
			return address, nil
		}
		return r.GRPC(wire(from, to), address)
	}})
	startRemote(t, services, append(flags, mixed)...).succeed(t)
	equalRuns(t, baseline, mixed)
	if err := services.Stop(); err != nil {
		t.Error(err)
	}
	for name, bytes := range r.Bytes() {
		t.Logf("%s: %d bytes", name, bytes)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestLongUpgrade plays a sweep over two of each service with playing roles while half of the
// processes are of an earlier version, and replaces the others by this version one by one. Every
// file equals that of an undisturbed run of this version. Without -earlier both are this version.
func TestLongUpgrade(t *testing.T) {
	t.Parallel()
	flags := []string{"run", "--agent", "oracle", "--trials", "2", "--parallel", "4", "--out"}
	baseline, upgraded := filepath.Join(t.TempDir(), "baseline"), filepath.Join(t.TempDir(), "upgraded")
	toolsandbox(t, append(flags, baseline)...)
	services := startCluster(t, cluster.Config{TwoPlayers: true, MoreToolHosts: []string{cluster.SecondToolHost}, Earlier: *earlier})
	run := startRemote(t, services, append(flags, upgraded)...)
	for _, name := range []string{cluster.NATS, cluster.ToolHost, cluster.AgentGateway, cluster.Evaluator, cluster.Orchestrator} {
		if !run.progress() {
			t.Fatalf("the run ended before %s was replaced\n%s", name, run.printed.String())
		}
		if err := services.Upgrade(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	run.succeed(t)
	equalRuns(t, baseline, upgraded)
}
