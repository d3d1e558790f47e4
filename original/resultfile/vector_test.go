package resultfile

import (
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/importer/importertest"
	"github.com/toolsandbox/toolsandbox/original/row/rowtest"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

func readJSON(t *testing.T, path string, into any) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return raw
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
	scenarios, count := importertest.Scenarios(t), 0
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
