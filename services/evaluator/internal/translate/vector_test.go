package translate_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/conformance"
	"github.com/toolsandbox/toolsandbox/original/importer"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/translate"
)

// evaluationFile holds the evaluation vectors.
const evaluationFile = "evaluation/random.jsonl"

// labels are the labels of the trajectory vectors.
var labels = []string{
	"follow", "parallel", "shuffled", "dropped", "corrupted", "noisy", "repeated", "mine", "unknown",
}

// recorded is a recorded trajectory with compiled graphs.
type recorded struct {
	*conformance.ScoringCase
	name       string
	graphs     *translate.Evaluation
	trajectory *score.Trajectory
}

// guardrails are the guardrails that the original derived, per node.
type guardrails [][]scenario.Guardrail

// UnmarshalJSON implements json.Unmarshaler for a graph.
func (g *guardrails) UnmarshalJSON(raw []byte) error {
	var graph struct {
		Nodes []struct{ Guardrails []scenario.Guardrail }
	}
	err := json.Unmarshal(raw, &graph)
	for _, node := range graph.Nodes {
		slices.SortFunc(node.Guardrails, func(a, b scenario.Guardrail) int {
			return cmp.Or(cmp.Compare(a.Reference, b.Reference), cmp.Compare(world.Builtin().TableIndex(a.Table), world.Builtin().TableIndex(b.Table)))
		})
		*g = append(*g, node.Guardrails)
	}
	return err
}

func (g guardrails) check(tb testing.TB, name string, graph *evaluationv1.Graph) {
	tb.Helper()
	for node := range g {
		if got := scenario.Guardrails(world.Builtin(), graph, node); !slices.Equal(got, g[node]) {
			tb.Errorf("%s: guardrails of node %d: got %v, want %v", name, node, got, g[node])
		}
	}
}

// compile compiles the graphs of a file's cases.
func compile(tb testing.TB, file string, scorings []*conformance.ScoringCase, err error) []recorded {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	var cases []recorded
	for i, s := range scorings {
		name := fmt.Sprintf("%s, case %d", file, i)
		graphs, err := translate.Compile(s.Evaluation)
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		slices.SortStableFunc(s.Tables, func(a, b *worldv1.Table) int {
			return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetIndex(), b.GetIndex()))
		})
		trajectory, err := graphs.Trajectory(s.Messages, nil, s.Tables)
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		cases = append(cases, recorded{s, name, graphs, trajectory})
	}
	return cases
}

// evaluations reads the evaluation vectors.
func evaluations(tb testing.TB) []recorded {
	tb.Helper()
	scorings, err := conformance.Evaluations(vectortest.Dir(tb, evaluationFile))
	return compile(tb, evaluationFile, scorings, err)
}

// trajectories reads the trajectory vectors with a label.
func trajectories(tb testing.TB, label string) []recorded {
	tb.Helper()
	all, err := conformance.Trajectories(vectortest.Dir(tb, filepath.Join("trajectories", label+".jsonl")))
	scorings := make([]*conformance.ScoringCase, len(all))
	for i, t := range all {
		scorings[i] = t.ScoringCase()
	}
	return compile(tb, label, scorings, err)
}

// check scores and explains all cases.
func check(t *testing.T, cases []recorded) {
	t.Helper()
	scored := 0
	for _, c := range cases {
		got := score.Score(c.trajectory, c.graphs.Milestones, c.graphs.Minefields)
		explain(t, c, got)
		if !c.HasScore() {
			continue
		}
		scored++
		for _, difference := range c.Differences(translate.Result(got, len(c.Messages))) {
			t.Errorf("%s: %+v", c.name, difference)
		}
	}
	t.Logf("%d of %d cases scored", scored, len(cases))
	if scored == 0 {
		t.Error("no case was scored")
	}
}

func TestEvaluations(t *testing.T) { check(t, evaluations(t)) }

func TestTrajectories(t *testing.T) {
	for _, label := range labels {
		t.Run(label, func(t *testing.T) { check(t, trajectories(t, label)) })
	}
}

// TestGuardrails compares the guardrails of the original's scenarios and of the evaluation vectors
// with those that the original derived.
func TestGuardrails(t *testing.T) {
	type derived struct {
		Name                   string
		Milestones, Minefields guardrails
	}
	path := vectortest.Dir(t, "scenarios.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	imported, err := importer.Read(path, raw)
	if err != nil {
		t.Fatal(err)
	}
	var source struct{ Scenarios []derived }
	if err := json.Unmarshal(raw, &source); err != nil {
		t.Fatal(err)
	}
	for _, s := range source.Scenarios {
		read, err := imported.Scenario(s.Name, "")
		if err != nil {
			t.Fatal(err)
		}
		s.Milestones.check(t, s.Name, read.GetEvaluation().GetMilestones())
		s.Minefields.check(t, s.Name, read.GetEvaluation().GetMinefields())
	}
	cases := evaluations(t)
	vectortest.Lines(t, vectortest.Dir(t, evaluationFile), func(line int, raw []byte) {
		var want derived
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		c := cases[line-1]
		want.Milestones.check(t, c.name, c.Evaluation.GetMilestones())
		want.Minefields.check(t, c.name, c.Evaluation.GetMinefields())
	})
}

// benchmark scores the cases in turn and reports mean, median, 99th percentile and maximum over
// each case's best of several runs.
func benchmark(b *testing.B, cases []recorded) {
	cases = slices.DeleteFunc(cases, func(c recorded) bool { return !c.HasScore() })
	times := make([]time.Duration, len(cases))
	for i, c := range cases {
		times[i] = time.Hour
		for range 5 {
			start := time.Now()
			score.Score(c.trajectory, c.graphs.Milestones, c.graphs.Minefields)
			times[i] = min(times[i], time.Since(start))
		}
	}
	slices.Sort(times)
	b.ReportAllocs()
	next := 0
	for b.Loop() {
		c := cases[next%len(cases)]
		score.Score(c.trajectory, c.graphs.Milestones, c.graphs.Minefields)
		next++
	}
	sum := time.Duration(0)
	for _, t := range times {
		sum += t
	}
	b.ReportMetric(float64(sum.Nanoseconds())/float64(len(times)), "mean-ns")
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "median-ns")
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(times[len(times)-1].Nanoseconds()), "max-ns")
}

func BenchmarkEvaluations(b *testing.B) { benchmark(b, evaluations(b)) }

func BenchmarkTrajectories(b *testing.B) {
	var cases []recorded
	for _, label := range labels {
		cases = append(cases, trajectories(b, label)...)
	}
	benchmark(b, cases)
}
