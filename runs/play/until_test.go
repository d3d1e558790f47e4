package play

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/process"
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

// TestUntilFlags rejects what does not go with an early end, whatever gives it, and names that.
func TestUntilFlags(t *testing.T) {
	t.Parallel()
	until := []string{"--agent", "oracle", "--until-width", "0.1"}
	for name, value := range map[string]string{
		"replay": "r", "fork": "r/s@1", "sweep-id": "s", "data-dir": "d", "floors": "true", "attach-listen": "localhost:9",
	} {
		for source, options := range map[string]*Options{
			"--" + name: givenOptions(t, append(until, "--"+name, value), nil, ""),
			"environment variable " + process.FlagVariable(name) + ": --" + name: givenOptions(t, until, map[string]string{process.FlagVariable(name): value}, ""),
			"mine.yaml:1:1: --" + name: givenOptions(t, until, nil, fmt.Sprintf("%s: %s\n", name, value)),
		} {
			want := source + ": given, but it does not go with --until-decided, --until-width and --against"
			err := process.ErrorSource(options.flags, options.checkUntil())
			if got := fmt.Sprint(err); !errors.Is(err, process.ErrUsage) || !hasEnd(got, want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}
