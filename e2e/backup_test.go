package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestLongBackup copies the directory of NATS in the middle of a run, while all is stopped, and
// lets the run continue. Then it loses that directory and the tool host's, restores the copy, and
// resumes: the first time names what was played after the backup, the second plays it again. Every
// file equals that of an undisturbed run.
func TestLongBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := []string{"run", "--agent", "oracle", "--trials", "2", "--parallel", "4", "--out"}
	baseline, out, backup := filepath.Join(dir, "baseline"), filepath.Join(dir, "out"), filepath.Join(dir, "backup")
	toolsandbox(t, append(flags, baseline)...)
	services := start(t)

	first := startRemote(t, services, append(flags, out)...)
	advance(t, first, 3)
	stopAll(t, services)
	if err := os.CopyFS(backup, os.DirFS(services.Streams())); err != nil {
		t.Fatal(err)
	}
	startAll(t, services)
	advance(t, first, 13) // beyond the backup; the command line has waited for the services
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.wait() // killed
	for _, name := range processes() {
		if err := services.Kill(name); err != nil {
			t.Fatal(err)
		}
	}

	if err := errors.Join(os.RemoveAll(services.Streams()), os.RemoveAll(services.Sessions(cluster.ToolHost)), os.CopyFS(services.Streams(), os.DirFS(backup))); err != nil {
		t.Fatal(err)
	}
	startAll(t, services)
	lost := startRemote(t, services, append(flags, out, "--resume")...)
	// The backup has the jobs of the rollouts that it lacks: the services may have played them by now.
	if err := lost.wait(); err != nil && !strings.Contains(lost.printed.String(), "--resume plays these rollouts again") {
		t.Fatalf("resume after the restore: got %v, want an error that names what the backup lacks\n%s", err, lost.printed.String())
	}
	startRemote(t, services, append(flags, out, "--resume")...).succeed(t)
	equalRuns(t, baseline, out)
}

// advance lets a run print a number of lines of progress, each after a twentieth of its rollouts.
func advance(t *testing.T, run *remote, lines int) {
	t.Helper()
	for range lines {
		if !run.progress() {
			t.Fatalf("the run ended too early\n%s", run.printed.String())
		}
	}
}

// processes lists those of a cluster in the order of their start.
func processes() []string { return append([]string{cluster.NATS}, cluster.Services()...) }

// stopAll terminates the services and then NATS.
func stopAll(t *testing.T, services *cluster.Cluster) {
	t.Helper()
	for _, name := range slices.Backward(processes()) {
		if err := errors.Join(services.Signal(name, syscall.SIGTERM), services.Wait(name)); err != nil {
			t.Fatal(err)
		}
	}
}

func startAll(t *testing.T, services *cluster.Cluster) {
	t.Helper()
	for _, name := range processes() {
		if err := services.Start(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}
