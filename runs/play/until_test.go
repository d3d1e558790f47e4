package play

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sequential"
)

// TestDecisionNamesResults names what the runs have written.
func TestDecisionNamesResults(t *testing.T) {
	t.Parallel()
	var runs []*opened
	for _, name := range []string{"files", "tables"} {
		run := &opened{Options: &Options{agent: name}, directory: &directory{path: "out/" + name}, collector: &collector{record: &results.Run{}}}
		runs = append(runs, run)
	}
	runs[1].collector.record.Results = []string{results.FormatParquet}
	var text bytes.Buffer
	decision := newDecision(sequential.Result{Means: make([]sequential.Estimate, 2)}, runs)
	if err := decision.write(&text); err != nil {
		t.Fatal(err)
	}
	const want = "results: out/files/result_summary.json\nresults: out/tables/tables\n"
	if !strings.HasSuffix(text.String(), want) {
		t.Errorf("got\n%s\nwant the end\n%s", &text, want)
	}
}
