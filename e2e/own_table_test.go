package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A pack declares a table in its schema.yaml, and one file with one line in the catalogue gives the
// program tools for it. Reading, playing, scoring, proving and looking back need nothing else.
func TestLongOwnTable(t *testing.T) {
	t.Parallel()
	data, err := filepath.Abs(filepath.Join("testdata", "own_table"))
	if err != nil {
		t.Fatal(err)
	}
	program := buildWithNotes(t, filepath.Join(data, "note.go.txt"))
	testscript.Run(t, testscript.Params{
		Files:               []string{filepath.Join(data, "script.txtar")},
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
			return nil
		},
	})
}

// buildWithNotes builds the program with the tools of a file, which the catalogue lists last.
func buildWithNotes(t *testing.T, file string) (program string) {
	t.Helper()
	tools, err := filepath.Abs(filepath.Join("..", "services", "toolhost", "internal", "tool"))
	if err != nil {
		t.Fatal(err)
	}
	catalogue := filepath.Join(tools, "catalogue.go")
	source, err := os.ReadFile(catalogue)
	if err != nil {
		t.Fatal(err)
	}
	const last = "\t\tuserTools(),\n"
	if strings.Count(string(source), last) != 1 {
		t.Fatalf("%s: got no line %q, want one behind which tools are added", catalogue, last)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "catalogue.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), last, last+"\t\tnoteTools(),\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{catalogue: changed, filepath.Join(tools, "note.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "toolsandbox")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", program, "./cmd/toolsandbox")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program with tools of notes: %v: %s", err, out)
	}
	return program
}
