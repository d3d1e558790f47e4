package program

import (
	"encoding/json"
	"runtime/debug"
	"slices"
	"testing"
)

// TestBillOfMaterials lists the modules of this test.
func TestBillOfMaterials(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Path: "example.com/house/cmd/hello", Main: debug.Module{Path: "example.com/house", Version: "v1.2.3"}, Deps: []*debug.Module{
		{Path: "example.com/a", Version: "v0.1.0+incompatible"},
		{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
	}}
	text, err := billOfMaterials(info, "hello", "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		BOMFormat  string
		Metadata   struct{ Component component }
		Components []component
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range append([]component{document.Metadata.Component}, document.Components...) {
		got = append(got, c.PURL)
	}
	want := []string{
		"pkg:golang/example.com/house/cmd/hello@v1.2.3", "pkg:golang/std@1.26.8",
		"pkg:golang/example.com/a@v0.1.0%2Bincompatible", "pkg:golang/example.com/c@v2.0.0",
	}
	if !slices.Equal(got, want) || document.BOMFormat != "CycloneDX" {
		t.Errorf("got %s %q, want %q", document.BOMFormat, got, want)
	}
}
