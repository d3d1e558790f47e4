//go:build !race

package prove

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBrokenScenarios proves scenarios that each break a rule, and compares the reports with the
// golden file.
func TestBrokenScenarios(t *testing.T) {
	scenarios := load(t, "testdata/wrong")
	reports, err := Prove(t.Context(), services(t), scenarios)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, r := range reports {
		if r.Proven() {
			t.Errorf("%s: got proven, want a failure", r.Name)
		}
		got.WriteString(writeReport(t, r, false))
	}
	const golden = "testdata/wrong.golden.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(scenarios) != len(reports) || len(reports) < 20 {
		t.Errorf("reports: got %d for %d scenarios, want as many and at least 20", len(reports), len(scenarios))
	}
}
