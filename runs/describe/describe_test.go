package describe

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestWrite describes scenarios of a small pack that uses every feature.
func TestWrite(t *testing.T) {
	loaded, err := pack.Load(os.DirFS(filepath.Join("testdata", "pack")), pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Scenarios) != 2 {
		t.Fatalf("got %d scenarios, want 2", len(loaded.Scenarios))
	}
	for _, l := range loaded.Scenarios {
		name := l.Scenario.GetSetup().GetName()
		var text bytes.Buffer
		if err := Write(&text, Subject{Scenario: l.Scenario, Position: "a.yaml:1:1", World: l.World, Base: l.Base}); err != nil {
			t.Fatal(err)
		}
		setup, milestones := l.Scenario.GetSetup(), l.Scenario.GetEvaluation().GetMilestones()
		for ending, got := range map[string]string{
			".txt": text.String(), ".mermaid": Mermaid(milestones, setup), ".dot": DOT(milestones, setup),
		} {
			golden := filepath.Join("testdata", name+ending)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		}
	}
}

// TestDiagramsEscape checks that texts of a scenario cannot end a label or insert markup.
func TestDiagramsEscape(t *testing.T) {
	graph := &evaluationv1.Graph{Nodes: []*evaluationv1.Node{{Name: `a "b" <c> & #d; \N`}}}
	if got, want := Mermaid(graph, nil), "flowchart TD\n    n0[\"0 a #quot;b#quot; #lt;c#gt; #amp; #35;d; \\N\"]\n"; got != want {
		t.Errorf("Mermaid: got %q, want %q", got, want)
	}
	if got, want := DOT(graph, nil), "digraph {\n    node [shape=box]\n    n0 [label=\"0 a \\\"b\\\" <c> & #d; \\\\N\\l\"]\n}\n"; got != want {
		t.Errorf("DOT: got %q, want %q", got, want)
	}
}
