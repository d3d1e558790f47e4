package e2e_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/e2e/internal/cluster"
)

// TestToolHostsLost removes the tool hosts' disks repeatedly during a remote run, with one of them
// and with two. The sessions are rebuilt from the log, with the calls that failed by chance, and
// every file equals that of an undisturbed run.
func TestToolHostsLost(t *testing.T) {
	t.Parallel()
	flags := []string{"run", "--agent", "oracle", "--variants", "failing_tools", "--parallel", "8", "a*", "b*", "c*", "--out"}
	baseline := filepath.Join(t.TempDir(), "calm")
	toolsandbox(t, append(flags, baseline)...)
	for name, victims := range map[string][]string{
		"one": {cluster.ToolHost}, "two": {cluster.SecondToolHost, cluster.ToolHost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services := startCluster(t, cluster.Config{MoreToolHosts: victims[:len(victims)-1]})
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

// TestDamagedSessions damages the file of the sessions of a killed run. Resuming sets it aside with
// a line, and every file equals that of an undisturbed run.
func TestDamagedSessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	baseline, out := filepath.Join(dir, "calm"), filepath.Join(dir, "out")
	plug, turns := rationed(t)
	flags := []string{"run", "--agent", plug, "--trials", "4", "--parallel", "2", "turn_off_wifi", "is_cellular_on", "--out"}
	toolsandbox(t, append(flags, baseline)...)
	turns.set(10) // of 16
	killAt(t, 2, append(flags, out)...)
	turns.set(unlimited)
	sessions := storesOf(out).sessions
	damaged := bytes.Repeat([]byte("no store"), 4096)
	if err := rewrite(filepath.Join(sessions, "sessions.db"), func([]byte) []byte { return damaged }); err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "toolsandbox"), append(flags, out, "--resume")...)
	cmd.Stderr = &printed
	if err := cmd.Run(); err != nil {
		t.Fatalf("resume: got %v\n%s", err, printed.String())
	}
	if got := strings.Count(printed.String(), "sessions.db.damaged-"); got != 1 {
		t.Errorf("lines that name the file: got %d, want one\n%s", got, printed.String())
	}
	equalRuns(t, baseline, out)
	kept, err := filepath.Glob(filepath.Join(sessions, "sessions.db.damaged-*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("files set aside: got %v and %v, want one", kept, err)
	}
	if raw, err := os.ReadFile(kept[0]); err != nil || !bytes.Equal(raw, damaged) {
		t.Errorf("%s: got %d bytes and %v, want it as it was", kept[0], len(raw), err)
	}
}
