package translate_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/importer"
	"github.com/toolsandbox/toolsandbox/internal/testkit/vectortest"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/translate"
)

// labels are the files of the trajectory vectors.
var labels = []string{
	"follow", "parallel", "shuffled", "dropped", "corrupted", "noisy", "repeated", "mine", "unknown",
}

// recorded is a trajectory with its graphs and what the original printed of them.
type recorded struct {
	name       string
	graphs     *translate.Evaluation
	trajectory *score.Trajectory
	want       result
}

// result is the printed score. A rollout with an exception is not scored. Mappings are from nodes
// to message and similarity.
type result struct {
	ExceptionType string                `json:"exception_type"`
	Milestone     float64               `json:"milestone_similarity"`
	Minefield     float64               `json:"minefield_similarity"`
	Similarity    float64               `json:"similarity"`
	TurnCount     int                   `json:"turn_count"`
	Milestones    map[string][2]float64 `json:"milestone_mapping"`
	Minefields    map[string][2]float64 `json:"minefield_mapping"`
}

// guardrails are those that the original derived, per node.
type guardrails [][]score.AutomaticGuardrail

// UnmarshalJSON implements json.Unmarshaler: it reads a graph.
func (g *guardrails) UnmarshalJSON(raw []byte) error {
	var graph struct {
		Nodes []struct{ Guardrails []score.AutomaticGuardrail }
	}
	err := json.Unmarshal(raw, &graph)
	for _, node := range graph.Nodes {
		slices.SortFunc(node.Guardrails, func(a, b score.AutomaticGuardrail) int {
			return cmp.Or(cmp.Compare(a.Reference, b.Reference), cmp.Compare(world.Builtin().Place(a.Table), world.Builtin().Place(b.Table)))
		})
		*g = append(*g, node.Guardrails)
	}
	return err
}

func (g guardrails) check(tb testing.TB, name string, graph *score.Graph) {
	tb.Helper()
	for node := range g {
		if got := graph.Guardrails(node); !slices.Equal(got, g[node]) {
			tb.Errorf("%s: guardrails of node %d: got %v, want %v", name, node, got, g[node])
		}
	}
}

// compile compiles the graphs of a case.
func compile(tb testing.TB, name string, evaluation *evaluationv1.Evaluation, messages []*worldv1.Message, tables []*worldv1.Table, want result) recorded {
	tb.Helper()
	graphs, err := translate.Compile(evaluation)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	slices.SortStableFunc(tables, func(a, b *worldv1.Table) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetIndex(), b.GetIndex()))
	})
	trajectory, err := graphs.Trajectory(messages, tables)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return recorded{name, graphs, trajectory, want}
}

// evaluations reads the evaluation vectors, and checks their guardrails.
func evaluations(tb testing.TB) []recorded {
	tb.Helper()
	var cases []recorded
	vectortest.Lines(tb, vectortest.Dir(tb, "evaluation/random.jsonl"), func(line int, raw []byte) {
		var source struct {
			Messages, Tables       json.RawMessage
			Milestones, Minefields json.RawMessage
			Result                 result
		}
		var derived struct{ Milestones, Minefields guardrails }
		err := cmp.Or(json.Unmarshal(raw, &source), json.Unmarshal(raw, &derived))
		var messages []*worldv1.Message
		if err == nil {
			messages, err = importer.Messages(source.Messages, 0)
		}
		var tables []*worldv1.Table
		if err == nil {
			tables, err = importer.Tables(source.Tables)
		}
		var evaluation *evaluationv1.Evaluation
		if err == nil {
			evaluation, err = importer.Evaluation(source.Milestones, source.Minefields)
		}
		if err != nil {
			tb.Fatalf("line %d: %v", line, err)
		}
		c := compile(tb, "line "+strconv.Itoa(line), evaluation, messages, tables, source.Result)
		derived.Milestones.check(tb, c.name, c.graphs.Milestones)
		derived.Minefields.check(tb, c.name, c.graphs.Minefields)
		cases = append(cases, c)
	})
	return cases
}

// scenarios reads the original's scenarios.
func scenarios(tb testing.TB) (imported *importer.Scenarios, raw []byte) {
	tb.Helper()
	path := vectortest.Dir(tb, "scenarios.json")
	raw, err := os.ReadFile(path)
	if err == nil {
		imported, err = importer.Read(path, raw)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return imported, raw
}

// trajectories reads the trajectory vectors with a label.
func trajectories(tb testing.TB, imported *importer.Scenarios, label string) []recorded {
	tb.Helper()
	var cases []recorded
	vectortest.Lines(tb, vectortest.Dir(tb, filepath.Join("trajectories", label+".jsonl")), func(line int, raw []byte) {
		var source struct {
			Scenario, Variant  string
			Messages, Versions json.RawMessage
			Result             result
		}
		err := json.Unmarshal(raw, &source)
		if err != nil {
			tb.Fatalf("%s, line %d: %v", label, line, err)
		}
		scenario, err := imported.Scenario(source.Scenario, source.Variant)
		if err != nil {
			tb.Fatalf("%s, line %d: %v", label, line, err)
		}
		setup := scenario.GetSetup()
		messages, err := importer.Messages(source.Messages, len(setup.GetMessages()))
		if err != nil {
			tb.Fatalf("%s, line %d: %v", label, line, err)
		}
		tables, err := importer.Tables(source.Versions)
		if err != nil {
			tb.Fatalf("%s, line %d: %v", label, line, err)
		}
		cases = append(cases, compile(tb, fmt.Sprintf("%s, line %d", label, line), scenario.GetEvaluation(),
			slices.Concat(setup.GetMessages(), messages), slices.Concat(setup.GetTables(), tables), source.Result))
	})
	return cases
}

// tolerance is how far similarities may lie apart.
const tolerance = 1e-6

// differences returns one line per difference between a result and what is wanted.
func (want *result) differences(got *score.Result) []string {
	var found []string
	number := func(name string, got, want float64) {
		if math.IsNaN(got) || math.Abs(got-want) > tolerance {
			found = append(found, fmt.Sprintf("%s: got %v, want %v", name, got, want))
		}
	}
	number("milestone_similarity", got.Milestones.Similarity, want.Milestone)
	number("minefield_similarity", got.Minefields.Similarity, want.Minefield)
	number("similarity", got.Similarity, want.Similarity)
	number("turn_count", float64(got.TurnCount), float64(want.TurnCount))
	mapping := func(name string, got []score.Match, want map[string][2]float64) {
		matched := 0
		for node, match := range got {
			wanted, ok := want[strconv.Itoa(node)]
			if place := fmt.Sprintf("%s[%d]", name, node); match.Matched != ok {
				found = append(found, fmt.Sprintf("%s: got matched %v, want %v", place, match.Matched, ok))
			} else if ok {
				matched++
				number(place+" message", float64(match.Index), wanted[0])
				number(place, match.Similarity, wanted[1])
			}
		}
		number(name+" nodes", float64(matched), float64(len(want)))
	}
	mapping("milestone_mapping", got.Milestones.Matches, want.Milestones)
	mapping("minefield_mapping", got.Minefields.Matches, want.Minefields)
	return found
}

// check scores all cases.
func check(t *testing.T, cases []recorded) {
	t.Helper()
	scored := 0
	for _, c := range cases {
		if c.want.ExceptionType != "" {
			continue
		}
		scored++
		got := score.Score(c.trajectory, c.graphs.Milestones, c.graphs.Minefields)
		for _, difference := range c.want.differences(&got) {
			t.Errorf("%s: %s", c.name, difference)
		}
	}
	if scored == 0 {
		t.Error("no case was scored")
	}
}

func TestEvaluations(t *testing.T) { check(t, evaluations(t)) }

func TestTrajectories(t *testing.T) {
	imported, _ := scenarios(t)
	for _, label := range labels {
		t.Run(label, func(t *testing.T) { check(t, trajectories(t, imported, label)) })
	}
}

// TestGuardrails derives the guardrails of the original's scenarios: they are those that the
// original derived.
func TestGuardrails(t *testing.T) {
	imported, raw := scenarios(t)
	var source struct {
		Scenarios []struct {
			Name                   string
			Milestones, Minefields guardrails
		}
	}
	if err := json.Unmarshal(raw, &source); err != nil {
		t.Fatal(err)
	}
	for _, s := range source.Scenarios {
		scenario, err := imported.Scenario(s.Name, "")
		if err != nil {
			t.Fatal(err)
		}
		graphs, err := translate.Compile(scenario.GetEvaluation())
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		s.Milestones.check(t, s.Name, graphs.Milestones)
		s.Minefields.check(t, s.Name, graphs.Minefields)
	}
}

// benchmark scores the cases in turn and reports mean, median, 99th percentile and maximum over the
// cases of each case's best of several runs.
func benchmark(b *testing.B, cases []recorded) {
	cases = slices.DeleteFunc(cases, func(c recorded) bool { return c.want.ExceptionType != "" })
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
	imported, _ := scenarios(b)
	var cases []recorded
	for _, label := range labels {
		cases = append(cases, trajectories(b, imported, label)...)
	}
	benchmark(b, cases)
}
