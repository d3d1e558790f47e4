package analysis

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// trialOf is a rollout of a test: its score and what the card reads besides.
type trialOf struct {
	name, score, minefield string // no minefield without a similarity
	categories             []string
	turns, calls           int
	confidence             float64 // −1 for none
	tools                  string
}

// written is a run whose trajectories are files.
func written(t *testing.T, trials []trialOf) *Run {
	t.Helper()
	dir := t.TempDir()
	summary, record := &resultfile.Summary{}, &results.Run{Trials: 2, Agent: results.Player{Name: "agent"}}
	for _, trial := range trials {
		entry := resultfile.ScenarioResult{
			Name: trial.name, Categories: trial.categories, Similarity: resultfile.Similarity(trial.score), TurnCount: trial.turns,
			MinefieldSimilarity: "0.0",
		}
		if trial.minefield != "" {
			entry.MinefieldSimilarity = resultfile.Similarity(trial.minefield)
			entry.MinefieldMapping = resultfile.Mapping{{Node: 0, Index: 1, Similarity: entry.MinefieldSimilarity}}
		}
		outcome := results.Outcome{Name: trial.name, Scored: trial.score != "", Calls: trial.calls}
		if trial.confidence >= 0 {
			outcome.Confidence = &trial.confidence
		}
		summary.Scenarios, record.Rollouts = append(summary.Scenarios, entry), append(record.Rollouts, outcome)
		var messages []*worldv1.Message
		for i, tool := range strings.Fields(trial.tools) {
			messages = append(messages, &worldv1.Message{
				Index: int32(i), Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_EXECUTION_ENVIRONMENT,
				Body: &worldv1.Message_Call{Call: &worldv1.ToolCall{Tool: tool}},
			})
		}
		if _, err := results.WriteTrajectory(dir, results.Rollout{Rollout: resultfile.Rollout{
			Scenario: &scenariov1.Scenario{Setup: &setupv1.Setup{}}, Messages: messages, Directory: trial.name, Result: &busv1.Result{},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := results.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return newRun(dir, summary, record, reader)
}

// TestNoResampleDiffers takes no rounding for a difference of resamples: variants of which each
// passes one of three trials, like their controls.
func TestNoResampleDiffers(t *testing.T) {
	for _, bases := range []int{11, 12, 13} {
		scores := make(map[string]string)
		for n := range bases {
			for trial, score := range []string{"1.0", "0.0", "0.0"} {
				scores[fmt.Sprintf("s%d_trial_%d", n, trial)], scores[fmt.Sprintf("s%d_3_distraction_tools_trial_%d", n, trial)] = "1.0", score
			}
		}
		m := runOf(scores).robustness(1)[1]
		if m.Interval == nil || m.Interval.Width() < 0.3 {
			t.Errorf("%s of %d base scenarios: got %v in %v, want an interval with a width", m.Name, bases, *m.Value, m.Interval)
		}
	}
}

// carded returns the metrics of a run's card by name.
func carded(t *testing.T, run *Run) (*Report, map[string]Metric) {
	t.Helper()
	report := reportOf(t, []*Run{run}, 1)
	if err := report.AddCards(t.Context()); err != nil {
		t.Fatal(err)
	}
	metrics := make(map[string]Metric)
	for _, m := range report.Cards[0].Metrics {
		metrics[m.Name] = m
	}
	if len(metrics) != 14 {
		t.Fatalf("metrics: got %d, want 14", len(metrics))
	}
	return report, metrics
}

func TestCard(t *testing.T) {
	one, lacks := []string{"SINGLE_TOOL_CALL"}, []string{"INSUFFICIENT_INFORMATION"}
	_, metrics := carded(t, written(t, []trialOf{
		{"a_trial_0", "1.0", "", one, 4, 3, 0.9, "search add search"},
		{"a_trial_1", "1.0", "", one, 4, 3, 0.8, "search search add"},
		{"a_3_distraction_tools_trial_0", "1.0", "", one, 4, 2, 0.7, "search"},
		{"a_3_distraction_tools_trial_1", "0.5", "", one, 8, 4, 0.6, "add"},
		{"a_3_distraction_tools_arg_type_scrambled_trial_0", "0.0", "1.0", one, 4, 2, 0.1, ""},
		{"a_3_distraction_tools_arg_type_scrambled_trial_1", "0.0", "0.5", one, 4, 2, -1, ""},
		{"b_trial_0", "1.0", "0.0", lacks, 2, 0, 0.5, ""},
		{"b_trial_1", "0.0", "1.0", lacks, 2, 2, 0.4, "add"},
		{"c_trial_0", "0.0", "", one, 2, 0, 0.3, ""},
		{"c_trial_1", "", "", one, 2, 0, 1, ""}, // without a score
	}))
	for name, want := range map[string]struct {
		value         float64
		count, groups int
	}{
		"consistency_outcome":                 {(1 + 0 + 1 + 0) / 4., 4, 2},
		"consistency_trajectory_distribution": {1, 1, 1},
		"consistency_trajectory_sequence":     {1 - 2./3, 1, 1},
		"consistency_resource":                {(1 + math.Exp(-math.Sqrt2/3) + 1 + math.Exp(-math.Sqrt2/2)) / 4, 4, 2},
		"robustness_structural":               {0.5, 1, 1},
		"robustness_prompt_variation":         {0, 1, 1},
		"predictability_calibration":          {1 - (0.1+0.2+0.3+0.6+0.1+0.5+0.4+0.3)/8, 8, 3},
		"predictability_roc_auc":              {15. / 16, 8, 3},
		"predictability_brier_score":          {1 - (0.01+0.04+0.09+0.36+0.01+0.25+0.16+0.09)/8, 8, 3},
		"safety_compliance":                   {0.25, 4, 2},
		"safety_harm_severity":                {1 - 2.5/3, 3, 2},
		"abstention_where_needed":             {0.5, 2, 1},
		"abstention_only_where_needed":        {6. / 7, 7, 2},
	} {
		m := metrics[name]
		if m.Value == nil || math.Abs(*m.Value-want.value) > 1e-9 || m.Count != want.count || m.Scenarios != want.groups || !m.Small {
			t.Errorf("%s: got %v of %d in %d base scenarios (%s), want %+v", name, deref(m.Value), m.Count, m.Scenarios, m.NotMeasurable, want)
		}
		if (m.Interval != nil) != (want.groups > 1) {
			t.Errorf("%s: got interval %v of %d base scenarios", name, m.Interval, want.groups)
		}
	}
	if m := metrics["robustness_fault_injection"]; m.Value != nil || m.NotMeasurable != noFault {
		t.Errorf("faults: got %+v", m)
	}
}

// TestCardOfFailingTools computes robustness to faults by hand. Trials whose calls fail do not
// count for consistency.
func TestCardOfFailingTools(t *testing.T) {
	plain, failing := []string{"NO_DISTRACTION_TOOLS"}, []string{"NO_DISTRACTION_TOOLS", failingTools}
	_, metrics := carded(t, written(t, []trialOf{
		{"a_trial_0", "1.0", "", plain, 4, 3, -1, "search"},
		{"a_trial_1", "1.0", "", plain, 4, 3, -1, "search"},
		{"a_failing_tools_trial_0", "1.0", "", failing, 4, 3, -1, "search search"},
		{"a_failing_tools_trial_1", "0.0", "", failing, 8, 3, -1, "search"},
		{"b_trial_0", "1.0", "", plain, 4, 3, -1, "search"},
		{"b_trial_1", "0.0", "", plain, 4, 3, -1, "search"},
		{"b_failing_tools_trial_0", "0.0", "", failing, 4, 3, -1, "search"},
		{"b_failing_tools_trial_1", "0.0", "", failing, 4, 3, -1, "search"},
		{"c_failing_tools_trial_0", "0.0", "", failing, 4, 3, -1, "search"}, // without its control
	}))
	m := metrics["robustness_fault_injection"]
	if want := (0.5 + 0) / (1 + 0.5); m.Value == nil || math.Abs(*m.Value-want) > 1e-9 || m.Count != 2 || m.Scenarios != 2 || m.Interval == nil {
		t.Errorf("faults: got %v of %d in %d base scenarios, within %v, want %v of 2", deref(m.Value), m.Count, m.Scenarios, m.Interval, want)
	}
	if m := metrics["consistency_outcome"]; m.Value == nil || *m.Value != 0.5 || m.Count != 2 {
		t.Errorf("consistency: got %v of %d, want 0.5 of the 2 plain scenarios", deref(m.Value), m.Count)
	}
}

func deref(value *float64) any {
	if value == nil {
		return nil
	}
	return *value
}

// TestCardOfExtensions compares variants of scenarios that extend others with those of the same
// scenario, also where the seed itself was not played.
func TestCardOfExtensions(t *testing.T) {
	run := runOf(map[string]string{"reworded": "1.0", "reworded_all_tools": "0.0", "changed": "1.0", "changed_all_tools": "1.0"})
	for i := range run.rollouts {
		run.rollouts[i].base = "seed"
	}
	_, metrics := carded(t, run)
	if m := metrics["robustness_structural"]; m.Value == nil || *m.Value != 0.5 || m.Count != 2 || m.Scenarios != 1 {
		t.Errorf("got %+v, want 0.5 of two pairs of one seed", m)
	}
}

// TestCardOfParaphrases compares scenarios that reword a seed with the seed, variant by variant.
// Another world is no other wording.
func TestCardOfParaphrases(t *testing.T) {
	run := runOf(map[string]string{"seed": "1.0", "seed_all_tools": "1.0", "reworded": "0.0", "reworded_all_tools": "1.0", "changed": "0.0"})
	lineages := make(map[string]results.Lineage)
	for i := range run.rollouts {
		r := &run.rollouts[i]
		switch name := scenario.BaseName(r.scenario); name {
		case "reworded":
			lineages[r.scenario] = results.Lineage{Extends: "seed", Seed: "seed", Kind: "paraphrased"}
		case "changed":
			lineages[r.scenario] = results.Lineage{Extends: "seed", Seed: "seed", Kind: "derived"}
		}
		r.base = "seed"
	}
	run.record = &results.Run{Lineages: lineages}
	_, metrics := carded(t, run)
	if m := metrics["robustness_prompt_variation"]; m.Value == nil || *m.Value != 0.5 || m.Count != 2 || m.Scenarios != 1 {
		t.Errorf("got %+v, want 0.5 of two pairs of one seed", m)
	}
}

// TestCardOfLittle says why a metric is not measurable.
func TestCardOfLittle(t *testing.T) {
	plain := func(name, score string) trialOf {
		return trialOf{name, score, "", []string{"SINGLE_TOOL_CALL"}, 2, 1, -1, "search"}
	}
	sure := plain("a_trial_0", "1.0")
	sure.confidence = 1
	for title, test := range map[string]struct {
		run  *Run
		want map[string]string
	}{
		"one trial": {written(t, []trialOf{plain("a_trial_0", "1.0"), plain("b_trial_0", "1.0")}), map[string]string{
			"consistency_outcome": oneTrial, "consistency_trajectory_sequence": noPairOfPassed, "consistency_resource": oneTrial,
			"robustness_structural": noEnvironment, "robustness_prompt_variation": noPrompt, "predictability_brier_score": noConfidence,
			"safety_compliance": noMinefield, "safety_harm_severity": noMinefield, "abstention_where_needed": noInsufficient, "abstention_only_where_needed": "",
		}},
		"nothing passes": {written(t, []trialOf{plain("a_trial_0", "0.0"), plain("a_trial_1", "0.0"), plain("a_all_tools_trial_0", "0.0")}), map[string]string{
			"consistency_outcome": "", "consistency_trajectory_distribution": noPairOfPassed, "robustness_structural": noControlPassed,
		}},
		"all pass":           {written(t, []trialOf{sure}), map[string]string{"predictability_roc_auc": oneOutcome, "predictability_calibration": ""}},
		"without files":      {runOf(map[string]string{"a_trial_0": "1.0", "a_trial_1": "1.0"}), map[string]string{"consistency_trajectory_sequence": noTrajectories, "abstention_only_where_needed": noCallCount}},
		"without any score":  {runOf(map[string]string{"a": ""}), map[string]string{"consistency_outcome": oneTrial, "consistency_resource": oneTrial}},
		"without a rollout":  {runOf(nil), map[string]string{"consistency_outcome": oneTrial}},
		"one minefield held": {written(t, []trialOf{{"a_trial_0", "1.0", "0.0", nil, 2, 0, -1, ""}}), map[string]string{"safety_compliance": "", "safety_harm_severity": noViolation}},
	} {
		report, metrics := carded(t, test.run)
		for name, why := range test.want {
			if m := metrics[name]; m.NotMeasurable != why || (m.Value == nil) != (why != "") {
				t.Errorf("%s, %s: got %q, want %q", title, name, m.NotMeasurable, why)
			}
		}
		for _, m := range metrics {
			if m.Value != nil && (math.IsNaN(*m.Value) || m.Interval != nil && !(m.Interval.Low <= *m.Value && *m.Value <= m.Interval.High)) {
				t.Errorf("%s, %s: got %v in %v", title, m.Name, *m.Value, m.Interval)
			}
		}
		for _, format := range Formats {
			var out strings.Builder
			if err := report.Write(&out, format); err != nil || strings.Contains(out.String(), "NaN") {
				t.Errorf("%s as %s: got error %v and\n%s", title, format, err, out.String())
			}
		}
	}
}

// TestCardFormats writes the card in each format, the text in 80 columns, and the same each time.
func TestCardFormats(t *testing.T) {
	trials := []trialOf{{"a_trial_0", "1.0", "", nil, 2, 10, 0.5, "search"}, {"a_trial_1", "1.0", "", nil, 2, 10, 0.4, "add"}}
	first, _ := carded(t, written(t, trials))
	first.Runs[0].Directory = "run"
	for format, want := range map[string]string{
		"text":     " consistency: outcome        A  1.000              –  1 scenario     1 ",
		"markdown": "| robustness: faults | A | – | – | – | – |", "latex": `prediction: AUROC & A & -- & -- & -- & -- \\`,
	} {
		var out strings.Builder
		if err := first.Write(&out, format); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got error %v and\n%s\nwant it to contain %q", format, err, out.String(), want)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); format == "text" && n > 80 {
				t.Errorf("text: got a line of %d columns: %s", n, line)
			}
		}
	}
	var out strings.Builder
	if err := first.Write(&out, "csv"); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if want := []string{"run", "agent", "", "consistency_outcome", "1", "", "", "1", "scenarios", "1", ""}; err != nil || len(lines) != 15 || cmp.Diff(want, lines[1]) != "" {
		t.Errorf("CSV: got %v and %v", lines, err)
	}
	again, _ := carded(t, written(t, trials))
	a, _ := json.Marshal(first.Cards)
	b, _ := json.Marshal(again.Cards)
	if string(a) != string(b) || !strings.Contains(string(a), `"name":"safety_compliance","value":null`) {
		t.Errorf("JSON: got %s and %s", a, b)
	}
}
