package cli

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files and the pages that commands print")

// TestToolsPage compares docs/tools.md with the command's output.
func TestToolsPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "..", "..", "docs", "tools.md")
	var stdout, stderr strings.Builder
	if code := Main([]string{"tools", "--markdown"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("tools --markdown: got exit code %d and %q on standard error, want 0 and nothing", code, stderr.String())
	}
	if *update {
		if err := os.WriteFile(page, []byte(stdout.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), stdout.String()); diff != "" {
		t.Errorf("%s is not what tools --markdown prints: run go test ./cmd/toolsandbox/internal/cli -update (-page +printed):\n%s", page, diff)
	}
}
