package prove

import (
	"errors"
	"flag"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/toolsandbox/toolsandbox/internal/rpc"
	"github.com/toolsandbox/toolsandbox/internal/world"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/standalone"
	"github.com/toolsandbox/toolsandbox/scenario"
	"github.com/toolsandbox/toolsandbox/scenario/document"
	"github.com/toolsandbox/toolsandbox/scenario/pack"
	"github.com/toolsandbox/toolsandbox/services/toolhost"
)

var update = flag.Bool("update", false, "write the golden file")

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// services starts all services in the process.
func services(t *testing.T) Services {
	t.Helper()
	cfg := standalone.DefaultConfig()
	cfg.Dir, cfg.Network.Grace = t.TempDir(), 100*time.Millisecond
	running, err := standalone.Start(t.Context(), cfg, rpc.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Errorf("Close: got %v, want nil", err)
		}
	})
	return Services{
		Orchestrator: running.Node().Conn(rpc.Orchestrator),
		Evaluator:    running.Node().Conn(rpc.Evaluator),
		ToolHost:     running.Node().ToolHost,
		Parallel:     32,
	}
}

// load loads the scenarios of a directory by name.
func load(t *testing.T, dir string) []*scenariov1.Scenario {
	t.Helper()
	loaded, err := pack.Load(os.DirFS(dir), pack.Options{Options: scenario.Options{ConsentTools: toolhost.ConsentTools()}})
	var mistakes document.Errors
	if errors.As(err, &mistakes) {
		t.Fatalf("%s: got mistakes, want none:\n%v", dir, mistakes)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out []*scenariov1.Scenario
	for _, l := range loaded.Scenarios {
		out = append(out, l.Scenario)
	}
	return out
}

// TestSoundScenarios checks that proofs of sound scenarios succeed.
func TestSoundScenarios(t *testing.T) {
	reports, err := Prove(t.Context(), services(t), load(t, "testdata/right"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if !r.Proven() {
			t.Errorf("%s: got failures, want none:\n%s", r.Name, writeReport(t, r, false))
		}
		if r.Killed == 0 || r.Killed+r.Equivalent != r.Mutants || r.Rollouts != len(r.Experiments) {
			t.Errorf("%s: got %d killed and %d equivalent of %d mutants, %d rollouts and %d outcomes", r.Name, r.Killed, r.Equivalent,
				r.Mutants, r.Rollouts, len(r.Experiments))
		}
	}
	if len(reports) != 3 {
		t.Errorf("reports: got %d, want 3", len(reports))
	}
}

// TestExtensions proves a scenario in other words, and finds that another world makes its
// milestones impossible.
func TestExtensions(t *testing.T) {
	reports, err := Prove(t.Context(), services(t), load(t, "testdata/extended"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		text := writeReport(t, r, false)
		if impossible := r.Name == "emil_is_not_there"; r.Proven() == impossible || impossible && !strings.Contains(text, "oracle: the oracle does not solve it") {
			t.Errorf("%s: got %s", r.Name, text)
		}
	}
	if len(reports) != 3 {
		t.Errorf("got %d reports, want 3", len(reports))
	}
}

// TestGuardrails compares the automatic guardrails in reports with the evaluator's, for every node
// of the built-in catalogue.
func TestGuardrails(t *testing.T) {
	client := evaluatorv1.NewEvaluatorServiceClient(services(t).Evaluator)
	compared := 0
	for _, s := range load(t, "../../packs/phone") {
		explained, err := client.ExplainTrajectory(t.Context(), &evaluatorv1.ExplainTrajectoryRequest{
			Evaluation: s.GetEvaluation(), Messages: s.GetSetup().GetMessages(), Tables: s.GetSetup().GetTables(),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, graph := range []struct {
			graph *evaluationv1.Graph
			nodes []*evaluatorv1.NodeExplanation
		}{
			{s.GetEvaluation().GetMilestones(), explained.GetMilestones()}, {s.GetEvaluation().GetMinefields(), explained.GetMinefields()},
		} {
			for i, node := range graph.nodes {
				if node.GetMatch() == nil {
					continue
				}
				var want []scenario.Guardrail
				for _, guard := range node.GetMatch().GetGuardrails() {
					want = append(want, scenario.Guardrail{Table: guard.GetTable(), Reference: int(guard.GetReference())})
				}
				if diff := cmp.Diff(want, scenario.Guardrails(world.Builtin(), graph.graph, i)); diff != "" {
					t.Errorf("%s: node %d (-evaluator +scenario):\n%s", s.GetSetup().GetName(), i, diff)
				}
				compared += len(want)
			}
		}
	}
	if compared < 100 {
		t.Errorf("got %d guardrails, want 100 at least", compared)
	}
}

// TestTools removes a tool that the oracle calls. The loader rejects such scenarios, so the test
// changes a loaded one.
func TestTools(t *testing.T) {
	scenarios := load(t, "testdata/right")[1:2]
	scenarios[0].Setup.Tools.Deny = []string{"add_reminder"}
	reports, err := Prove(t.Context(), services(t), scenarios)
	if err != nil {
		t.Fatal(err)
	}
	want := "FAIL  reminder_for_tomorrow: tool: the oracle calls add_reminder, but the agent of reminder_for_tomorrow_all_tools does not have it\n"
	if got := writeReport(t, reports[0], false); !strings.Contains(got, want) {
		t.Errorf("got\n%swant a line\n%s", got, want)
	}
}

// writeReport returns the text of a report.
func writeReport(t *testing.T, r *Report, verbose bool) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b, verbose); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWriteText checks a verbose report.
func TestWriteText(t *testing.T) {
	score := 0.25
	r := &Report{
		Name: "fern", Position: "mine/fern.yaml:3", Rollouts: 2,
		Failures: []*Failure{
			{Rule: ruleIdle, Reason: "too much", Experiment: "unhelpful agent", Score: &score, Expected: "at most 0.2"},
			{Rule: ruleCategory, Reason: "not true"},
		},
		Experiments: []Outcome{
			{Name: "oracle", Rule: ruleOracle, Expected: "1", Score: 1},
			{Name: "without it", Rule: ruleMutant, Expected: "below 1", Score: 1, Equivalent: true},
		},
	}
	want := `FAIL  mine/fern.yaml:3: fern: idle: too much (unhelpful agent: score 0.25, expected at most 0.2)
FAIL  mine/fern.yaml:3: fern: category: not true
      oracle    oracle: 1, expected 1
      mutant    without it: 1, expected below 1; equivalent
`
	if diff := cmp.Diff(want, writeReport(t, r, true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	proven := &Report{Name: "fern", Rollouts: 30, Mutants: 12, Killed: 11, Equivalent: 1}
	if got, want := writeReport(t, proven, false), "ok    fern: 30 rollouts, 11 mutants killed, 1 equivalent\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
