package results

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// modelRollout returns a rollout of models with an end and all fields that the original lacks.
func modelRollout(name string, reason busv1.EndReason, class agentgwv1.FailureClass) Rollout {
	r := sampleRollout()
	r.Directory = name
	r.Result.Rollout = &busv1.Rollout{Id: "sweep." + name, Seed: 7, User: &agentgwv1.Player{Kind: &agentgwv1.Player_Model{Model: &agentgwv1.Model{}}}}
	r.Result.End = &busv1.End{Reason: reason, FailureClass: class, Detail: "said"}
	r.Result.UserFlags = []*busv1.UserFlag{{Rule: "leak", Index: 3, Evidence: "words"}}
	for _, role := range []worldv1.Role{worldv1.Role_ROLE_AGENT, worldv1.Role_ROLE_USER} {
		r.Usage = append(r.Usage, &busv1.TurnUsage{Role: role, Usage: &agentgwv1.Usage{InputTokens: 10, OutputTokens: 2, CostMicros: proto.Int64(5)}})
	}
	return r
}

func modelRollouts() []Rollout {
	return []Rollout{
		modelRollout("finished", busv1.EndReason_END_REASON_FINISHED, 0),
		modelRollout("failed", busv1.EndReason_END_REASON_MODEL_FAILURE, 0),
		modelRollout("lost", busv1.EndReason_END_REASON_INFRASTRUCTURE, agentgwv1.FailureClass_FAILURE_CLASS_PROVIDER),
		modelRollout("cancelled", busv1.EndReason_END_REASON_CANCELLED, 0),
	}
}

// columns returns the keys of every row with the types of its values. As in polars, integers are
// floats, and null is any type.
func columns(t *testing.T, dir string) (top []string, rows []map[string]string, categories map[string]map[string]string) {
	t.Helper()
	var file map[string]json.RawMessage
	readJSON(t, filepath.Join(dir, SummaryFile), &file)
	types := func(row map[string]any) map[string]string {
		out := make(map[string]string)
		for key, value := range row {
			out[key] = fmt.Sprintf("%T", value)
		}
		return out
	}
	var list []map[string]any
	var means map[string]map[string]any
	for key, into := range map[string]any{"per_scenario_results": &list, "category_aggregated_results": &means} {
		if err := json.Unmarshal(file[key], into); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range list {
		rows = append(rows, types(row))
	}
	categories = make(map[string]map[string]string)
	for name, row := range means {
		categories[name] = types(row)
	}
	return slices.Sorted(maps.Keys(file)), rows, categories
}

// TestOriginalColumns checks that a run of models, and one without scores, has the keys and types
// of the original's file.
func TestOriginalColumns(t *testing.T) {
	wantTop, wantRows, wantCategories := columns(t, vectortest.Dir(t, "results/combined"))
	types := make(map[string]map[string]bool) // by column
	for _, row := range wantRows {
		for key, kind := range row {
			if types[key] == nil {
				types[key] = map[string]bool{"<nil>": true}
			}
			types[key][kind] = true
		}
	}
	rollouts := modelRollouts()
	for name, rollouts := range map[string][]Rollout{"models": rollouts, "nothing scored": rollouts[2:], "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := storeSummary(dir, Summarize(rollouts)); err != nil {
				t.Fatal(err)
			}
			top, rows, categories := columns(t, dir)
			if diff := gocmp.Diff(wantTop, top); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			for _, row := range rows {
				if diff := gocmp.Diff(slices.Sorted(maps.Keys(types)), slices.Sorted(maps.Keys(row))); diff != "" {
					t.Errorf("keys of a rollout (-want +got):\n%s", diff)
				}
				for key, kind := range row {
					if !types[key][kind] {
						t.Errorf("%s: got a %s, want one of %v", key, kind, slices.Sorted(maps.Keys(types[key])))
					}
				}
			}
			if categories[resultfile.AllCategories] == nil {
				t.Errorf("categories: got %v, want %s among them", categories, resultfile.AllCategories)
			}
			for category, means := range categories {
				want := wantCategories[resultfile.AllCategories]
				if name != "models" {
					want = map[string]string{"similarity": "<nil>", "turn_count": "<nil>"}
				}
				if diff := gocmp.Diff(want, means); diff != "" {
					t.Errorf("%s (-want +got):\n%s", category, diff)
				}
			}
		})
	}
}

// TestUnscoredIsNull checks that missing scores are null, also after reading and rescoring.
func TestUnscoredIsNull(t *testing.T) {
	rollouts := modelRollouts()
	broken := modelRollout("no number", busv1.EndReason_END_REASON_FINISHED, 0)
	broken.Result.Similarity = math.NaN()
	dir := t.TempDir()
	want := Summarize(append(rollouts[2:], broken))
	if err := storeSummary(dir, want); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"similarity", "milestone_similarity", "minefield_similarity"} {
		if got := strings.Count(read(t, dir, SummaryFile), fmt.Sprintf("%q: null", key)); got < 3 {
			t.Errorf("%s: got %d nulls, want one for each of 3 rollouts", key, got)
		}
	}
	got, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got, withoutCounts); diff != "" {
		t.Errorf("ReadSummary (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(want, got.With(got.Scenarios)); diff != "" || got.Mean() != nil {
		t.Errorf("With: mean %v, want none, (-want +got):\n%s", got.Mean(), diff)
	}
	for _, entry := range got.Scenarios {
		if !entry.Failed() || entry.Scored() {
			t.Errorf("%s: got failed %t, scored %t, want a failure without a score", entry.Name, entry.Failed(), entry.Scored())
		}
	}
}
