package interchange

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// TestInterruptedRun exports a run that lacks trials. The others keep their numbers, and the log of
// Inspect says that it is not complete.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	const name = "a_trial_1"
	run := &results.Run{Trials: 3, Ended: &time.Time{}, Totals: &results.Totals{Rollouts: 3, Done: 1}, Rollouts: []results.Outcome{{Name: name}}}
	summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: name, Similarity: "0.5"}}}
	messages := map[string][]*worldv1.Message{name: {said(fromUser, fromAgent, "Hello")}}
	e := &exporter{reader: results.NewReader("run", run, summary, messages), run: run, summary: summary}
	exported := 0
	if err := e.each(func(r rollout) error {
		if exported++; e.inspectSample(r).Epoch != 2 {
			t.Errorf("%s: got epoch %d, want 2", r.name.Rollout, e.inspectSample(r).Epoch)
		}
		return nil
	}); err != nil || exported != 1 {
		t.Errorf("exported: got %d and %v, want 1", exported, err)
	}
	if status := e.inspectHeader().Status; status != "cancelled" {
		t.Errorf("status: got %s, want cancelled", status)
	}
}

// TestLeftOut exports rollouts without a trajectory or a score: it names them, and fails if there
// is nothing else.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: "a", Similarity: "0.5"}, {Name: "b"}, {Name: "c", Similarity: "1.0"}}}
	run := &results.Run{SweepID: "s", Rollouts: []results.Outcome{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	hello := []*worldv1.Message{said(fromUser, fromAgent, "Hello")}
	reader := results.NewReader("run", run, summary, map[string][]*worldv1.Message{"a": hello, "b": hello})
	for format, want := range map[string][]string{ATIF: {"c (no trajectory)"}, Inspect: {"c (no trajectory)"}, EEE: {"b (no score)", "c (no trajectory)"}} {
		paths, left, err := Write(format, filepath.Join(t.TempDir(), "new"), reader, summary)
		if diff := cmp.Diff(want, left); diff != "" || err != nil || len(paths) == 0 {
			t.Errorf("%s: got files %v and %v; left out (-want +got):\n%s", format, paths, err, diff)
		}
	}
	nothing := results.NewReader("run", run, summary, nil)
	for _, format := range Formats() {
		if paths, _, err := Write(format, filepath.Join(t.TempDir(), "new"), nothing, summary); err == nil {
			t.Errorf("%s of nothing: got files %v, want an error", format, paths)
		}
	}
}

// TestInspectUsage exports what models used and reads it again: a model that plays both roles has
// the sum, and the tokens of a cache are apart.
func TestInspectUsage(t *testing.T) {
	t.Parallel()
	used := func(input, cached, output int64, dollars float64) *results.RoleUsage {
		return &results.RoleUsage{InputTokens: &input, CachedTokens: &cached, OutputTokens: &output, CostUSD: &dollars}
	}
	usage := &results.Usage{Agent: used(100, 60, 20, 0.5), User: used(10, 0, 2, 0.25)}
	model := results.Player{Name: "m", Model: &results.Model{Provider: "openai", Model: "m"}}
	run := &results.Run{SweepID: "s", Agent: model, User: model, Totals: &results.Totals{Usage: usage}, Rollouts: []results.Outcome{{Name: "a", Usage: usage}}}
	summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: "a", Similarity: "0.5"}}}
	dir := filepath.Join(t.TempDir(), "logs")
	paths, _, err := Write(Inspect, dir, results.NewReader("run", run, summary, map[string][]*worldv1.Message{"a": {said(fromUser, fromAgent, "Hello")}}), summary)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	dollars := 0.75
	want := map[string]inspectUsage{"openai/m": {Input: 50, Output: 22, Total: 132, Cached: 60, Cost: &dollars}}
	for name, got := range map[string]map[string]inspectUsage{
		"header.json": read[inspectLog](t, archive, "header.json").Stats.Usage, "sample": read[inspectSample](t, archive, "samples/a_epoch_1.json").Usage,
		"summary": read[[]inspectSample](t, archive, "summaries.json")[0].Usage,
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	again, err := readInspect(paths[0], data)
	if err != nil {
		t.Fatal(err)
	}
	if u := again.rollouts[0].usage; u == nil || *u.InputTokens != 110 || *u.OutputTokens != 22 {
		t.Errorf("read again: got %+v, want 110 tokens in and 22 out", u)
	}
}

// TestUsageInPart exports no tokens of a model of which a request reported none, whichever role it
// played.
func TestUsageInPart(t *testing.T) {
	input, output := int64(9), int64(3)
	known, inPart := &results.RoleUsage{InputTokens: &input, OutputTokens: &output}, &results.RoleUsage{InputTokens: &input, OutputTokens: &output, RequestsWithoutUsage: 1}
	model := results.Player{Name: "m", Model: &results.Model{Provider: "openai", Model: "m"}}
	e := &exporter{run: &results.Run{Agent: model, User: model}}
	for i, usage := range []*results.Usage{{Agent: inPart}, {Agent: inPart, User: known}, {Agent: known, User: inPart}} {
		if got := e.inspectUsage(usage); len(got) != 0 {
			t.Errorf("usage %d: got %v, want none", i, got)
		}
	}
	if got := e.inspectUsage(&results.Usage{Agent: known}); got["openai/m"].Total != 12 {
		t.Errorf("usage that is known: got %v, want 12 tokens", got)
	}
}

// read reads a file of an archive.
func read[T any](t *testing.T, archive *zip.Reader, name string) (value T) {
	t.Helper()
	file, err := archive.Open(name)
	if err == nil {
		err = errors.Join(json.NewDecoder(file).Decode(&value), file.Close())
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}
