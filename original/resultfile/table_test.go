package resultfile

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestTable reads the table of a summary, as e2e does with polars.
func TestTable(t *testing.T) {
	t.Parallel()
	trace := "ValueError: no"
	for name, summary := range map[string]*Summary{
		"no rollouts": {},
		"no nodes":    {Scenarios: []ScenarioResult{{Name: "a", Similarity: "null"}}},
		"nodes": {Scenarios: []ScenarioResult{
			{Name: "a", Categories: []string{"X", "Y"}, Similarity: "0.5", MilestoneMapping: Mapping{{1, 7, "0.5"}}, TurnCount: 3},
			{Name: "b", Traceback: &trace, MinefieldMapping: Mapping{{0, 2, "1.0"}}},
		}},
	} {
		data, err := summary.Table()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := file.NumRows(), int64(len(summary.Scenarios)); got != want {
			t.Errorf("%s: got %d rows, want %d", name, got, want)
		}
	}
}
