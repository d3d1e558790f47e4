package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/process"
)

// TestViewUsage gives view and explain --html what they cannot do.
func TestViewUsage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Main([]string{"run", "--agent", "oracle", "--out", out, "turn_off_wifi"}, &stdout, &stderr); code != 0 {
		t.Fatalf("run: got %d and %s", code, &stderr)
	}
	for args, want := range map[string]string{
		"view":                                     "RUN: missing",
		"view missing":                             "holds no finished run",
		"view " + out + " --listen 0.0.0.0:0":      "not an address of this machine alone",
		"view " + out + " --listen nonsense":       "--listen",
		"view " + out + " --export " + full:        "is not empty",
		"view " + out + " --allow-fork --export x": "--allow-fork: given with --export",
		"explain " + out + " --html x --json":      "--html: given with --json or --node",
		"explain " + out + " --html x --node 0":    "--html: given with --json or --node",
		"view" + strings.Repeat(" "+out, 9):        "expected at most 8",
		"explain " + out + " nothing --html page":  "did not play",
	} {
		stderr.Reset()
		if code := Main(strings.Fields(args), &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: got %d and %s, want 2 and %q", args, code, &stderr, want)
		}
	}
}

// TestProductionView gives view the settings of the production overlay, which lack nothing but the
// certificates of a cluster.
func TestProductionView(t *testing.T) {
	const overlay = "../../../../deploy/k8s/overlays/prod/"
	code, _, stderr := command("view", "--remote", "--listen=:0", "--config", overlay+"settings.yaml", "--access-file", overlay+"access.yaml")
	if want := "toolsandbox: --tls-cert /etc/toolsandbox-tls/tls.crt, "; code == process.ExitOK || !strings.HasPrefix(stderr, want) {
		t.Errorf("view: got code %d and %q, want an error with %q", code, stderr, want)
	}
}
