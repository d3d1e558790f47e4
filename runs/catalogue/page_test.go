package catalogue

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentedTools loads the example pack with tools of docs/scenarios.md.
func TestDocumentedTools(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, block := range regexp.MustCompile("(?s)```[a-z]+\n# pack: ([^\n]+)\n(.*?)```").FindAllSubmatch(page, -1) {
		file := filepath.Join(dir, string(block[1]))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, block[2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	selection := &Selection{PackPaths: []string{dir}}
	packs, err := selection.Packs(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(packs) != 1 || len(packs[0].Scenarios) != 1 {
		t.Fatalf("got %d packs, want one with one scenario", len(packs))
	}
	setup := packs[0].Scenarios[0].Scenario.GetSetup()
	if diff := cmp.Diff([]string{"search_rides", "cancel_ride", "end_conversation"}, setup.GetTools().GetAllow()); diff != "" {
		t.Errorf("the scenario's tools (-want +got):\n%s", diff)
	}
	if len(setup.GetToolModules()) != 1 || setup.GetToolModules()[0].GetName() != "ride" {
		t.Errorf("the setup's files of tools: got %v, want ride", setup.GetToolModules())
	}
}
