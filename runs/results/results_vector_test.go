package results

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/original/importer/importertest"
	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// TestVectors reads the files of scripted rollouts, writes them again and compares all bytes. The
// original's order of guardrails in conversation.json depends on hashing, so the test sorts them.
func TestVectors(t *testing.T) {
	scenarios := importertest.Scenarios(t)
	folders, err := os.ReadDir(vectortest.Dir(t, "results"))
	if err != nil {
		t.Fatal(err)
	}
	rollouts := map[string]Rollout{}
	for _, folder := range folders {
		if !folder.IsDir() || folder.Name() == "combined" {
			continue
		}
		t.Run(folder.Name(), func(t *testing.T) {
			dir := vectortest.Dir(t, filepath.Join("results", folder.Name()))
			r := loadVector(t, dir, scenarios)
			rollouts[folder.Name()] = r
			out := t.TempDir()
			if _, err := WriteTrajectory(out, r); err != nil {
				t.Fatal(err)
			}
			if err := storeSummary(out, Summarize([]Rollout{r})); err != nil {
				t.Fatal(err)
			}
			trajectory := filepath.Join(out, TrajectoriesDirectory, r.Name())
			if diff := gocmp.Diff(read(t, dir, contextFile), read(t, trajectory, contextFile)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", contextFile, diff)
			}
			if diff := gocmp.Diff(withoutTraceback(t, dir), withoutTraceback(t, out)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", SummaryFile, diff)
			}
			compareConversation(t, dir, trajectory)
		})
	}
	compareCombined(t, rollouts)
}

// compareConversation compares conversation.json, which may be missing in both.
func compareConversation(t *testing.T, dir, trajectory string) {
	t.Helper()
	want, wantErr := os.ReadFile(filepath.Join(dir, conversationFile))
	got, gotErr := os.ReadFile(filepath.Join(trajectory, conversationFile))
	if (wantErr == nil) != (gotErr == nil) {
		t.Fatalf("%s: want error %v, got %v", conversationFile, wantErr, gotErr)
	}
	if wantErr != nil || string(want) == string(got) {
		return
	}
	if diff := gocmp.Diff(sortGuardrails(t, want), sortGuardrails(t, got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", conversationFile, diff)
	} else {
		t.Logf("%s differs in the order of guardrails only", conversationFile)
	}
}

// compareCombined compares the summary of all rollouts as one run, in the original's order.
func compareCombined(t *testing.T, rollouts map[string]Rollout) {
	t.Helper()
	dir := vectortest.Dir(t, "results/combined")
	summary, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ordered []Rollout
	for _, entry := range summary.Scenarios {
		ordered = append(ordered, rollouts[entry.Name])
	}
	out := t.TempDir()
	if err := storeSummary(out, Summarize(ordered)); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(withoutTraceback(t, dir), withoutTraceback(t, out)); diff != "" {
		t.Errorf("combined (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := storage.ReadFile(storage.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// withoutTraceback returns a summary's text without tracebacks, because these name lines of the
// program.
func withoutTraceback(t *testing.T, dir string) string {
	t.Helper()
	summary, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for i := range summary.Scenarios {
		if summary.Scenarios[i].Traceback != nil {
			text := "…"
			summary.Scenarios[i].Traceback, found = &text, true
		}
	}
	if !found {
		return read(t, dir, SummaryFile)
	}
	text, err := output.JSON(summary, "    ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sortGuardrails decodes a conversation and sorts the guardrails of each node.
func sortGuardrails(t *testing.T, raw []byte) any {
	t.Helper()
	var doc []map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	key := func(v any) string {
		c := v.(map[string]any)
		if c["snapshot_constraint"] != "guardrail_similarity" {
			return ""
		}
		text, err := json.Marshal([]any{c["reference_milestone_node_index"], c["database_namespace"]})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, chat := range doc {
		for _, details := range chat {
			fields, ok := details.(map[string]any)
			if !ok || fields["milestone_matches"] == nil {
				continue
			}
			for _, match := range fields["milestone_matches"].([]any) {
				node := match.(map[string]any)["milestone"].(map[string]any)
				slices.SortStableFunc(node["snapshot_constraints"].([]any), func(a, b any) int { return cmp.Compare(key(a), key(b)) })
			}
		}
	}
	return doc
}
