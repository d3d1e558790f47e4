package results

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/importer"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
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

// loadVector builds a rollout from its result files and its scenario.
func loadVector(t *testing.T, dir string, scenarios *importer.Scenarios) Rollout {
	t.Helper()
	summary, err := ReadSummary(dir)
	if err != nil {
		t.Fatal(err)
	}
	entry := summary.Scenarios[0]
	base, suffix := entry.Name, ""
	played, err := scenarios.Scenario(base, suffix)
	for err != nil {
		cut := strings.LastIndex(base, "_")
		if cut < 0 {
			t.Fatalf("no scenario for %q: %v", entry.Name, err)
		}
		base, suffix = base[:cut], base[cut:]+suffix
		played, err = scenarios.Scenario(base, suffix)
	}
	run := t.TempDir()
	writeContext(t, run, entry.Name, read(t, dir, contextFile))
	trajectory, err := (&Reader{dir: run}).Trajectory(entry.Name, world.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return Rollout{Rollout: resultfile.Rollout{Scenario: played, Result: vectorResult(t, entry), Messages: trajectory.Messages, Tables: trajectory.Tables}}
}

func vectorResult(t *testing.T, entry resultfile.ScenarioResult) *busv1.Result {
	t.Helper()
	number := func(s resultfile.Similarity) float64 {
		f, ok := s.Number()
		if !ok {
			t.Fatalf("%q is no similarity", s)
		}
		return f
	}
	matches := func(m resultfile.Mapping) []*busv1.Match {
		var out []*busv1.Match
		for _, match := range m {
			out = append(out, &busv1.Match{Node: int32(match.Node), Index: int32(match.Index), Similarity: number(match.Similarity)})
		}
		return out
	}
	result := &busv1.Result{
		End:                 &busv1.End{Reason: busv1.EndReason_END_REASON_FINISHED},
		MilestoneSimilarity: number(entry.MilestoneSimilarity), MinefieldSimilarity: number(entry.MinefieldSimilarity),
		Similarity: number(entry.Similarity), TurnCount: int32(entry.TurnCount),
		Milestones: matches(entry.MilestoneMapping), Minefields: matches(entry.MinefieldMapping),
	}
	if entry.ExceptionType != nil {
		result.End = &busv1.End{Reason: busv1.EndReason_END_REASON_MODEL_FAILURE, ExceptionType: *entry.ExceptionType}
	}
	return result
}
