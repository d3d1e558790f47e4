package version

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the version into the chart and the Python distribution")

// TestOneVersion compares the version with those of the chart and of the Python distribution, and
// looks for a released one in the changelog. -update writes them.
func TestOneVersion(t *testing.T) {
	if !regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-dev)?$`).MatchString(Version) {
		t.Fatalf("%q is neither MAJOR.MINOR.PATCH nor MAJOR.MINOR.PATCH-dev", Version)
	}
	for _, place := range []struct{ name, line, want string }{
		{"deploy/chart/Chart.yaml", `(?m)^version: .*$`, "version: " + Version},
		{"deploy/chart/Chart.yaml", `(?m)^appVersion: .*$`, "appVersion: " + Version},
		// PEP 440 writes a version before its release in this form.
		{"sdk/python/pyproject.toml", `(?m)^version = .*$`, `version = "` + strings.Replace(Version, "-dev", ".dev0", 1) + `"`},
	} {
		path, line := filepath.Join("..", "..", place.name), regexp.MustCompile(place.line)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := line.FindString(string(text))
		if got == place.want {
			continue
		}
		if !*update || got == "" {
			t.Errorf("%s: got %q, want %q: run go test ./internal/version -update", place.name, got, place.want)
			continue
		}
		if err := os.WriteFile(path, line.ReplaceAll(text, []byte(place.want)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	heading := "\n## " + Version + " - "
	if strings.HasSuffix(Version, "-dev") {
		heading = "\n## Unreleased\n"
	}
	if !strings.Contains(string(changes), heading) {
		t.Errorf("CHANGELOG.md has no heading %q", strings.TrimSpace(heading))
	}
}
