package vector

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/toolsandbox/toolsandbox/internal/vectortest"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

// labels are the files of the trajectory vectors.
var labels = []string{
	"follow", "parallel", "shuffled", "dropped", "corrupted", "noisy", "repeated", "mine", "unknown",
}

// scenarios reads the scenario vectors.
func scenarios(tb testing.TB) *Scenarios {
	tb.Helper()
	file, err := os.Open(vectortest.Dir(tb, "scenarios.json"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	s, err := ReadScenarios(file)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// evaluations reads the evaluation vectors.
func evaluations(tb testing.TB) []*Case {
	tb.Helper()
	var cases []*Case
	vectortest.Lines(tb, vectortest.Dir(tb, "evaluation/random.jsonl"), func(line int, raw []byte) {
		c, err := Evaluation(raw)
		if err != nil {
			tb.Fatalf("line %d: %v", line, err)
		}
		cases = append(cases, c)
	})
	return cases
}

// trajectories reads the trajectory vectors with a label.
func trajectories(tb testing.TB, s *Scenarios, label string) []*Case {
	tb.Helper()
	var cases []*Case
	vectortest.Lines(tb, vectortest.Dir(tb, filepath.Join("trajectories", label+".jsonl")), func(line int, raw []byte) {
		c, err := s.Trajectory(raw)
		if err != nil {
			tb.Fatalf("line %d: %v", line, err)
		}
		cases = append(cases, c)
	})
	return cases
}

// compiled returns both graphs and checks their guardrails.
func compiled(tb testing.TB, c *Case) (milestones, minefields *score.Graph) {
	tb.Helper()
	milestones, err := score.Compile(c.Milestones.Definition)
	if err != nil {
		tb.Fatalf("%s: Compile milestones: %v", c.Name, err)
	}
	minefields, err = score.Compile(c.Minefields.Definition)
	if err != nil {
		tb.Fatalf("%s: Compile minefields: %v", c.Name, err)
	}
	differences := append(CompareGuardrails(milestones, c.Milestones.Guardrails),
		CompareGuardrails(minefields, c.Minefields.Guardrails)...)
	for _, difference := range differences {
		tb.Errorf("%s: %s", c.Name, difference)
	}
	return milestones, minefields
}

// check scores all cases and reports how many differ.
func check(t *testing.T, cases []*Case) {
	t.Helper()
	differ, scored := 0, 0
	for number, c := range cases {
		milestones, minefields := compiled(t, c)
		if c.Want.Raised != "" {
			continue
		}
		scored++
		got := score.Score(c.Trajectory, milestones, minefields)
		differences := Compare(&got, &c.Want)
		for _, difference := range differences {
			t.Errorf("case %d %s: %s", number, c.Name, difference)
		}
		if len(differences) > 0 {
			differ++
		}
	}
	t.Logf("%d of %d scored cases differ, %d raised", differ, scored, len(cases)-scored)
}

func TestEvaluations(t *testing.T) { check(t, evaluations(t)) }

func TestTrajectories(t *testing.T) {
	s := scenarios(t)
	for _, label := range labels {
		t.Run(label, func(t *testing.T) { check(t, trajectories(t, s, label)) })
	}
}

func TestScenarioGuardrails(t *testing.T) {
	s := scenarios(t)
	for _, name := range s.Names() {
		milestones, minefields, err := s.Graphs(name)
		if err != nil {
			t.Fatal(err)
		}
		compiled(t, &Case{Name: name, Milestones: milestones, Minefields: minefields})
	}
}

// job is one prepared case of a benchmark.
type job struct {
	trajectory             *score.Trajectory
	milestones, minefields *score.Graph
}

// benchmark scores the cases in turn and reports mean, median, 99th percentile and maximum over the
// cases of each case's best of several runs.
func benchmark(b *testing.B, cases []*Case) {
	var jobs []job
	for _, c := range cases {
		if c.Want.Raised == "" {
			milestones, minefields := compiled(b, c)
			jobs = append(jobs, job{c.Trajectory, milestones, minefields})
		}
	}
	times := make([]time.Duration, len(jobs))
	for i, j := range jobs {
		times[i] = time.Hour
		for range 5 {
			start := time.Now()
			score.Score(j.trajectory, j.milestones, j.minefields)
			times[i] = min(times[i], time.Since(start))
		}
	}
	slices.Sort(times)
	b.ReportAllocs()
	next := 0
	for b.Loop() {
		j := jobs[next%len(jobs)]
		score.Score(j.trajectory, j.milestones, j.minefields)
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
	s := scenarios(b)
	var cases []*Case
	for _, label := range labels {
		cases = append(cases, trajectories(b, s, label)...)
	}
	benchmark(b, cases)
}
