package describe

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/scenario"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestWrite describes the scenarios of a small pack that says something in every way.
func TestWrite(t *testing.T) {
	loaded, err := scenario.LoadDir(filepath.Join("testdata", "pack"), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != 2 {
		t.Fatalf("got %d scenarios, want 2", len(loaded))
	}
	for _, l := range loaded {
		name := l.Scenario.GetSetup().GetName()
		var got bytes.Buffer
		if err := Write(&got, Subject{Scenario: l.Scenario, Place: "a.yaml:1:1", World: l.World, Base: l.Base}); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
