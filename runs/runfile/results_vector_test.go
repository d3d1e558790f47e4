package runfile

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// TestVectors reads the files of scripted rollouts, writes them again and compares all bytes. The
// original's order of guardrails in conversation.json depends on hashing, so the test sorts them.
func TestVectors(t *testing.T) {
	scenarios := vectorScenarios(t)
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
			if err := WriteSummary(out, Summarize([]Rollout{r})); err != nil {
				t.Fatal(err)
			}
			trajectory := filepath.Join(out, TrajectoriesDirectory, r.directory())
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
	if err := WriteSummary(out, Summarize(ordered)); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(withoutTraceback(t, dir), withoutTraceback(t, out)); diff != "" {
		t.Errorf("combined (-want +got):\n%s", diff)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
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
	text, err := encode(summary, "    ")
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

// TestGuardrailVectors compares the guardrails of every node of every base scenario.
func TestGuardrailVectors(t *testing.T) {
	type guardrail struct {
		Table     string
		Reference int32
	}
	type graph struct {
		Nodes []struct{ Guardrails []guardrail }
	}
	var file struct {
		Scenarios []struct {
			Name                   string
			Milestones, Minefields graph
		}
	}
	readJSON(t, vectortest.Dir(t, "scenarios.json"), &file)
	scenarios, count := vectorScenarios(t), 0
	for _, s := range file.Scenarios {
		scenario, err := scenarios.Scenario(s.Name, "")
		if err != nil {
			t.Fatal(err)
		}
		evaluation := scenario.GetEvaluation()
		for g, text := range map[*graph]*graphWriter{
			&s.Milestones: newGraphText(world.Builtin(), evaluation.GetMilestones()), &s.Minefields: newGraphText(world.Builtin(), evaluation.GetMinefields()),
		} {
			for i, node := range g.Nodes {
				var got []guardrail
				for _, c := range text.guardrails(i) {
					got = append(got, guardrail{c.GetTable(), c.GetReference()})
				}
				order := func(a, b guardrail) int {
					return cmp.Or(cmp.Compare(a.Reference, b.Reference), cmp.Compare(a.Table, b.Table))
				}
				slices.SortFunc(node.Guardrails, order)
				slices.SortFunc(got, order)
				if diff := gocmp.Diff(node.Guardrails, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s node %d (-want +got):\n%s", s.Name, i, diff)
				}
				count += len(node.Guardrails)
			}
		}
	}
	t.Logf("%d guardrails", count)
	if count == 0 {
		t.Error("no guardrail compared")
	}
}

// TestLiteralVectors parses call messages and compares the arguments with the original ones.
func TestLiteralVectors(t *testing.T) {
	vectortest.Lines(t, vectortest.Dir(t, "tools/dict_literal.jsonl"), func(line int, raw []byte) {
		var c struct {
			Arguments     string
			Content       *string
			ExceptionType *string `json:"exception_type"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		var want, got any
		if c.Content == nil || json.Unmarshal([]byte(c.Arguments), &want) != nil {
			return // not a call, or a number outside JSON
		}
		if text := callArguments(rowtest.Message(worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_EXECUTION_ENVIRONMENT, *c.Content)); json.Unmarshal([]byte(text), &got) != nil {
			t.Errorf("line %d: %s gives %s, want %s", line, *c.Content, text, c.Arguments)
		} else if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("line %d (-want +got):\n%s", line, diff)
		}
	})
}
