package analysis

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// runOf returns a run of several trials with the similarities of each rollout, "" for none.
func runOf(similarities map[string]string) *Run {
	summary := &resultfile.Summary{}
	for _, rollout := range slices.Sorted(maps.Keys(similarities)) {
		summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{
			Name: rollout, Categories: []string{"SHORT"}, Similarity: resultfile.Similarity(similarities[rollout]),
		})
	}
	return NewRun("run", summary, nil)
}

// compared compares two runs.
func compared(t *testing.T, first, second *Run) Change {
	t.Helper()
	c, err := Compare(t.Context(), []*Run{first, second})
	if err != nil {
		t.Fatal(err)
	}
	return c.Others[0]
}

var near = cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-4 })

// TestCompare compares means over trials, and excludes what has no score in both runs.
func TestCompare(t *testing.T) {
	first := runOf(map[string]string{"up_trial_0": "0.0", "up_trial_1": "0.5", "down_trial_0": "0.75", "same_trial_0": "0.5", "lost_trial_0": "1.0", "gone_trial_0": "0.1"})
	second := runOf(map[string]string{"up_trial_0": "0.75", "up_trial_1": "", "down_trial_0": "0.5", "same_trial_0": "0.5", "lost_trial_0": "", "new_trial_0": "0.2"})
	got := compared(t, first, second)
	// The changes 0.5, -0.25 and 0 have a standard error of 0.2205. All of 8 signs reach their sum.
	all := CategoryChange{Name: resultfile.AllCategories, Scenarios: 3, Clusters: 3, First: 1.5 / 3, Second: 1.75 / 3, Change: 0.25 / 3, Interval: nil, P: 1, Adjusted: 1, Detectable: new(1.1824)}
	short := all
	short.Name = "SHORT"
	want := Change{
		Run: second, Better: 1, Equal: 1, Worse: 1, Categories: []CategoryChange{short, all},
		Changed: []ScenarioChange{
			{Name: "down", First: 0.75, Second: 0.5, Change: -0.25, Milestones: []MilestoneChange{}},
			{Name: "up", First: 0.25, Second: 0.75, Change: 0.5, Milestones: []MilestoneChange{}},
		},
		OnlyFirst: []string{"gone", "lost"}, OnlySecond: []string{"new"},
	}
	if diff := cmp.Diff(want, got, near, cmpopts.IgnoreFields(Change{}, "Run")); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}

// TestCompareNothing compares runs without a common scenario.
func TestCompareNothing(t *testing.T) {
	if _, err := Compare(t.Context(), []*Run{runOf(map[string]string{"a": "1.0"}), runOf(map[string]string{"a": ""})}); err == nil || !strings.Contains(err.Error(), "no scenario with a score in common") {
		t.Errorf("Compare: got error %v, want that nothing is in common", err)
	}
}

// TestCompareSomeApart compares runs of which one has no scenario in common with the first.
func TestCompareSomeApart(t *testing.T) {
	first, apart, other := runOf(map[string]string{"a": "1.0"}), runOf(map[string]string{"b": "1.0"}), runOf(map[string]string{"a": "0.5", "b": "1.0"})
	c, err := Compare(t.Context(), []*Run{first, apart, other})
	if !errors.Is(err, process.ErrUsage) || strings.Count(err.Error(), "no scenario with a score in common") != 1 {
		t.Errorf("got error %v, want one that names the run apart", err)
	}
	if c == nil || len(c.Others) != 1 || c.Others[0].Run != other || c.Others[0].Worse != 1 {
		t.Errorf("got %+v, want the change to the other run", c)
	}
}

// TestCompareVariants counts the variants of a scenario as one in the interval, and takes no
// rounding for a change.
func TestCompareVariants(t *testing.T) {
	first := runOf(map[string]string{"a_trial_0": "0.1", "a_all_tools_trial_0": "0.1", "b_trial_0": "0.7"})
	second := runOf(map[string]string{"a_trial_0": "0.11", "a_all_tools_trial_0": "0.11", "b_trial_0": "0.7", "b_trial_1": "0.7", "b_trial_2": "0.7"})
	got := compared(t, first, second)
	all := got.Categories[1]
	if all.Scenarios != 3 || all.Clusters != 2 || all.Interval == nil || got.Equal != 1 || got.Better != 2 {
		t.Errorf("comparison: got %+v of %+v, want an interval of two base scenarios, and one that is equal", all, got)
	}
}

// TestWriteComparisonOfMany shows the ends of a long list, and says so.
func TestWriteComparisonOfMany(t *testing.T) {
	first, second := make(map[string]string), make(map[string]string)
	for n := range 100 {
		first[fmt.Sprintf("scenario%02d", n)], second[fmt.Sprintf("scenario%02d", n)] = "0.5", fmt.Sprint(float64(n)/100)
		second[fmt.Sprintf("other%02d", n)] = "1.0"
	}
	c, err := Compare(t.Context(), []*Run{runOf(first), runOf(second)})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := c.Write(&out, "text"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"100 scenarios: 49 better, 1 equal, 50 worse; the interval of the mean change rests on 100 base scenarios": true,
		"the first and the last 20 of 99 changes are shown":                                                        true,
		"scenario00 ": true, "scenario19 ": true, "scenario20 ": false, "scenario99 ": true,
		"100 not compared, with a score in the second run only: other00, other01, other02, other03, other04, …\n": true,
	} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("%q in the text: got %v, want %v:\n%s", text, !want, want, out.String())
		}
	}
}

// TestCompareMilestones names the milestones and minefields through which a scenario moved.
func TestCompareMilestones(t *testing.T) {
	run := func(score, milestone, minefield string) *Run {
		return NewRun("run", &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{
			Name: "a", Categories: []string{"SHORT"}, Similarity: resultfile.Similarity(score), MinefieldSimilarity: resultfile.Similarity(minefield),
			MilestoneMapping: resultfile.Mapping{{Node: 0, Similarity: "1.0"}, {Node: 1, Similarity: resultfile.Similarity(milestone)}},
		}}}, nil)
	}
	got := compared(t, run("0.8", "0.6", "0.0"), run("0.0", "1.0", "1.0")).Changed[0].why()
	if want := "minefields: 0.00 → 1.00; milestone 1: 0.60 → 1.00"; got != want {
		t.Errorf("why: got %q, want %q", got, want)
	}
}

// TestParting finds the first message that differs, also where one conversation is longer.
func TestParting(t *testing.T) {
	say := func(texts ...string) []*worldv1.Message {
		var messages []*worldv1.Message
		for _, text := range texts {
			messages = append(messages, &worldv1.Message{Sender: worldv1.Role_ROLE_AGENT, Recipient: worldv1.Role_ROLE_USER, Body: &worldv1.Message_Text{Text: text}})
		}
		return messages
	}
	for _, test := range []struct {
		first, second []*worldv1.Message
		want          *Parting
	}{
		{say("a", "b"), say("a", "b"), nil},
		{say("a", "b"), say("a", "c"), &Parting{1, "AGENT to USER: b", "AGENT to USER: c"}},
		{say("a"), say("a", "b"), &Parting{1, "", "AGENT to USER: b"}},
		{nil, nil, nil},
	} {
		if diff := cmp.Diff(test.want, parting(test.first, test.second)); diff != "" {
			t.Errorf("parting (-want +got):\n%s", diff)
		}
	}
}

// reported is a run of two scenarios with two trials each, and one that failed.
func reported() *Run {
	summary := &resultfile.Summary{}
	record := &results.Run{Trials: 2, Agent: results.Player{Name: "agent"}, User: results.Player{Name: "user"}}
	tokens, dollars := int64(100), 0.5
	for i, r := range []struct{ name, score string }{{"a_trial_0", "1.0"}, {"a_trial_1", "0.5"}, {"b_all_tools_trial_0", "0.25"}, {"b_all_tools_trial_1", "0.25"}, {"c_trial_0", ""}} {
		summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{Name: r.name, Categories: []string{"X_Y"}, Similarity: resultfile.Similarity(r.score), TurnCount: 2 * (i + 1)})
		outcome := results.Outcome{Name: r.name, Calls: i, Seconds: 2, Usage: &results.Usage{Agent: &results.RoleUsage{InputTokens: &tokens, OutputTokens: &tokens, CostUSD: &dollars}}}
		if outcome.Scored = r.score != ""; !outcome.Scored {
			outcome.FailureClass = "provider"
		}
		outcome.Causes = []results.Cause{{Kind: "tool_error", Count: 3}, {Kind: "tool_error", Count: 1}}
		outcome.UserFlags = []results.UserFlag{{Rule: "early_end"}, {Rule: "early_end"}}
		record.Rollouts = append(record.Rollouts, outcome)
	}
	return OpenRun("dir", summary, results.NewReader("dir", record, summary, nil))
}

// TestUnknownEffort takes no missing call or second for 0: a file of another tool has the calls but
// may lack times, a sweep that is still being played has neither.
func TestUnknownEffort(t *testing.T) {
	summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{
		{Name: "a", Similarity: "1.0"}, {Name: "b", Similarity: "1.0"}, {Name: "damaged", Similarity: "1.0"},
	}}
	record := &results.Run{Trials: 1, Rollouts: []results.Outcome{{Name: "a", Calls: 2}, {Name: "b"}, {Name: "damaged", Damage: "no trajectory"}}}
	played := OpenRun("file", summary, results.NewReader("file", record, summary, nil))
	whole, _ := reportOf(t, []*Run{played}, 1).Whole(0)
	if e := whole.Effort; e.Calls == nil || *e.Calls != 1 || e.Seconds != nil {
		t.Errorf("effort of a file: got %+v, want 1 call and no seconds", e)
	}
	whole, _ = reportOf(t, []*Run{NewRun("sweep", summary, record)}, 1).Whole(0)
	if e := whole.Effort; e.Calls != nil || e.Seconds != nil {
		t.Errorf("effort of a sweep: got %+v, want neither calls nor seconds", e)
	}
}

// TestPartlyReportedUsage has no mean of tokens or costs that leaves some of them out: a server
// that reports the tokens of some answers reports all of short rollouts alone.
func TestPartlyReportedUsage(t *testing.T) {
	tokens, fewer, dollars := int64(100), int64(50), 0.5
	half := results.RoleUsage{InputTokens: &fewer, OutputTokens: &fewer}
	known := results.RoleUsage{InputTokens: &tokens, OutputTokens: &tokens, CostUSD: &dollars}
	unpriced := results.RoleUsage{InputTokens: &tokens, OutputTokens: &tokens}
	partly := results.RoleUsage{InputTokens: &tokens, OutputTokens: &tokens, RequestsWithoutUsage: 1}
	for name, test := range map[string]struct {
		other        results.RoleUsage
		tokens, cost bool
	}{
		"known": {known, true, true}, "unpriced": {unpriced, true, false}, "partly reported": {partly, false, false}, "not reported": {results.RoleUsage{RequestsWithoutUsage: 1}, false, false},
	} {
		summary := &resultfile.Summary{Scenarios: []resultfile.ScenarioResult{{Name: "a", Similarity: "1.0"}, {Name: "b", Similarity: "1.0"}}}
		record := &results.Run{Trials: 1, Rollouts: []results.Outcome{
			{Name: "a", Usage: &results.Usage{Agent: &known}}, {Name: "b", Usage: &results.Usage{Agent: &test.other}},
		}}
		whole, _ := reportOf(t, []*Run{NewRun("run", summary, record)}, 1).Whole(0)
		e := whole.Effort
		if (e.InputTokens != nil) != test.tokens || (e.OutputTokens != nil) != test.tokens || (e.CostUSD != nil) != test.cost {
			t.Errorf("%s: got %+v, want tokens %v and cost %v", name, e, test.tokens, test.cost)
		}
		first, other := results.Outcome{Usage: &results.Usage{Agent: &half}}, results.Outcome{Usage: &results.Usage{Agent: &test.other}}
		if got, _ := steadiness([]rollout{{turns: 2, outcome: &first}, {turns: 2, outcome: &other}}); (got < 1) != test.tokens {
			t.Errorf("%s: got a steadiness of %v, want one below 1: %v", name, got, test.tokens)
		}
	}
}

// reportOf returns the report of runs.
func reportOf(t *testing.T, runs []*Run, passAt float64) *Report {
	t.Helper()
	r, err := NewReport(t.Context(), runs, passAt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestEndedReport returns no part of a report after the end of its context, and reads no
// trajectory.
func TestEndedReport(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := NewReport(ctx, []*Run{reported()}, 1); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("NewReport: got %v and error %v, want %v", r, err, context.Canceled)
	}
	run := written(t, []trialOf{{"a_trial_0", "1.0", "", nil, 2, 1, -1, "add"}, {"a_trial_1", "1.0", "", nil, 2, 1, -1, "add"}})
	other := written(t, []trialOf{{"a_trial_0", "0.0", "", nil, 2, 1, -1, "add"}, {"a_trial_1", "0.0", "", nil, 2, 1, -1, "add"}})
	for name, read := range map[string]func() error{
		"AddCards":   func() error { return reportOf(t, []*Run{run}, 1).AddCards(ctx) },
		"ToolScores": func() error { _, err := run.ToolScores(ctx); return err },
		"Compare":    func() error { _, err := Compare(ctx, []*Run{run, other}); return err },
	} {
		if err := read(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v, want %v", name, err, context.Canceled)
		}
	}
}

func TestReport(t *testing.T) {
	r := reportOf(t, []*Run{reported()}, 1)
	whole, ok := r.Whole(0)
	if !ok {
		t.Fatal("no group of all rollouts")
	}
	if len(whole.Passes) != 2 {
		t.Fatalf("rates of passes: got %v, want those of 1 and 2 trials", whole.Passes)
	}
	for what, got := range map[string][2]float64{
		"mean": {*whole.Score.Mean, 0.5}, "turns": {*whole.Effort.Turns, 5}, "calls": {*whole.Effort.Calls, 1.5}, "tokens": {*whole.Effort.InputTokens, 100},
		"USD": {*whole.Effort.CostUSD, 0.5}, "deviation": {*whole.TrialDeviation, 0.25}, "pass@2": {*whole.Passes[1].Any.Mean, 0.5}, "pass^2": {*whole.Passes[1].All.Mean, 0}, "pass@1": {*whole.Passes[0].Any.Mean, 0.25},
	} {
		if math.Abs(got[0]-got[1]) > 1e-12 {
			t.Errorf("%s: got %v, want %v", what, got[0], got[1])
		}
	}
	if whole.Score.Interval != nil || whole.Score.StandardError == nil || !whole.Score.Small {
		t.Errorf("score: got %+v, want a standard error without an interval", whole.Score)
	}
	if all := whole.Passes[1].All; all.StandardError != nil || all.Interval == nil { // 0 of each scenario
		t.Errorf("pass^2: got %+v, want an interval without a standard error", all)
	}
	if whole.Rollouts != 5 || whole.Scored != 4 || whole.Scenarios != 2 || whole.Unscored["provider"] != 1 || whole.Causes["tool_error"] != 4 || whole.UserFaults["early_end"] != 4 {
		t.Errorf("group: got %+v", whole)
	}
	// 2 categories in all variants, plain and all_tools.
	if len(r.Groups) != 6 {
		t.Errorf("groups: got %d, want 6", len(r.Groups))
	}
	if data, err := json.Marshal(r); err != nil || !strings.Contains(string(data), `"variant":"all_tools"`) {
		t.Errorf("JSON: got %s and %v", data, err)
	}
}

// TestClustersOfExtensions clusters scenarios that extend one another by their seed: what was three
// clusters is one.
func TestClustersOfExtensions(t *testing.T) {
	summary, record := &resultfile.Summary{}, &results.Run{Trials: 1}
	for _, name := range []string{"a", "b_all_tools", "c"} {
		summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{Name: name, Similarity: "0.5"})
	}
	for want, lineages := range map[int]map[string]results.Lineage{3: nil, 1: {"b_all_tools": {Extends: "a", Seed: "a"}, "c": {Extends: "b", Seed: "a"}}} {
		record.Lineages = lineages
		whole, _ := reportOf(t, []*Run{NewRun("dir", summary, record)}, 1).Whole(0)
		if whole.Scenarios != want {
			t.Errorf("%v: got %d clusters, want %d", lineages, whole.Scenarios, want)
		}
		if whole.Score.StandardError != nil { // all scores are equal
			t.Errorf("%v: got a standard error of %v, want none", lineages, *whole.Score.StandardError)
		}
	}
}

// TestFormats writes each format, and no other.
func TestFormats(t *testing.T) {
	r := reportOf(t, []*Run{reported(), reported()}, 0.5)
	for format, want := range map[string]string{
		"text": " X_Y               A  4 of 5", "markdown": "| X_Y | A | 4 of 5 | 2 | 0.500 | too few | 0.250 |", "latex": `X\_Y & A & 4 of 5 & 2 & 0.500 & too few & 0.250 \\`,
	} {
		var out strings.Builder
		if err := r.Write(&out, format); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got error %v and\n%s\nwant it to contain %q", format, err, out.String(), want)
		}
	}
	var out strings.Builder
	if err := r.Write(&out, "csv"); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(lines) != 13 || lines[1][0] != "dir" || lines[1][8] != "0.5" {
		t.Errorf("CSV: got %v and %v, want 13 lines", lines, err)
	}
	if err := r.Write(&out, "html"); err == nil || err.Error() != `--format: "html" given, expected one of text, markdown, latex, csv` {
		t.Errorf("html: got error %v", err)
	}
}

// TestDirectoryOfTwoLines reports a directory with a line break in its name: it ends no comment of
// LaTeX, and no item of Markdown.
func TestDirectoryOfTwoLines(t *testing.T) {
	run := reported()
	run.Directory = "a\nb"
	for format, want := range map[string]string{"latex": "% A: a; b, agent ", "markdown": "- A: a; b, agent "} {
		var out strings.Builder
		if err := reportOf(t, []*Run{run}, 1).Write(&out, format); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: got %v and\n%s\nwant it to begin with %q", format, err, out.String(), want)
		}
	}
}

// TestTrialsOfOneScenario has the deviation of trials where there is no second scenario.
func TestTrialsOfOneScenario(t *testing.T) {
	whole, _ := reportOf(t, []*Run{runOf(map[string]string{"a_trial_0": "0.5", "a_trial_1": "0.7", "a_trial_2": "0.9"})}, 1).Whole(0)
	if whole.TrialDeviation == nil || math.Abs(*whole.TrialDeviation-0.2) > 1e-12 || whole.ScenarioShare != nil {
		t.Errorf("got a deviation of %v and a share of scenarios of %v, want 0.2 and none", whole.TrialDeviation, whole.ScenarioShare)
	}
}

// TestFullScore has the interval of a rate where all scores are 1.
func TestFullScore(t *testing.T) {
	scores := make(map[string]string)
	for n := range 156 {
		scores[fmt.Sprint("scenario ", n)] = "1.0"
	}
	whole, _ := reportOf(t, []*Run{runOf(scores)}, 1).Whole(0)
	if i := whole.Score.Interval; i == nil || i.High != 1 || math.Abs(i.Low-0.9766) > 1e-3 {
		t.Errorf("interval: got %v, want 0.977 to 1", i)
	}
}

// TestEqualScores has runs whose scenarios all score and change alike: the interval has a width,
// and no change is detectable.
func TestEqualScores(t *testing.T) {
	first, second := make(map[string]string), make(map[string]string)
	for n := range 12 {
		for trial, score := range []string{"0.2", "0.8"} {
			first[fmt.Sprintf("s%d_trial_%d", n, trial)], second[fmt.Sprintf("s%d_trial_%d", n, trial)] = score, "0.7"
		}
	}
	whole, _ := reportOf(t, []*Run{runOf(first)}, 0.5).Whole(0)
	for what, e := range map[string]Estimate{"score": whole.Score, "pass@1": whole.Passes[0].Any} {
		if e.Interval == nil || *e.Mean != 0.5 || e.Interval.Low > 0.33 || e.Interval.High < 0.67 {
			t.Errorf("interval of %s: got %v and %v, want one around 0.5", what, *e.Mean, e.Interval)
		}
	}
	for change, run := range map[float64]*Run{0: runOf(first), 0.2: runOf(second)} {
		all := compared(t, runOf(first), run).Categories[1]
		if all.Detectable != nil || all.Interval == nil || all.Interval.Low > change || all.Interval.High < change || all.Interval.Width() < 0.5 {
			t.Errorf("a change of %v: got %v, detectable %v, want an interval around it", change, all.Interval, all.Detectable)
		}
	}
}

// TestEqualButForRounding finds no variance in scores and changes that only rounding tells apart.
func TestEqualButForRounding(t *testing.T) {
	first, second := make(map[string]string), make(map[string]string)
	for n := range 12 {
		for trial := range 2 {
			name := fmt.Sprintf("s%d_trial_%d", n, trial)
			first[name], second[name] = "0.6", "0.7"
		}
	}
	runs := []*Run{runOf(first), runOf(second)}
	if plan, err := NewPlan(0.05, power, runs); err == nil || !strings.Contains(err.Error(), "are all equal") {
		t.Errorf("NewPlan: got %+v and error %v, want that all changes are equal", plan, err)
	}
	report := reportOf(t, runs[1:], 1)
	whole, _ := report.Whole(0)
	if report.Variance != nil || *whole.ScenarioShare != 0 || *whole.TrialDeviation != 0 {
		t.Errorf("report: got shares %+v, share %v and deviation %v, want none", report.Variance, *whole.ScenarioShare, *whole.TrialDeviation)
	}
}

// TestPlanPairsTrials pairs the trials of two runs by their number, also if one has no score in the
// other: the trials of each scenario change alike, besides one.
func TestPlanPairsTrials(t *testing.T) {
	first, second := make(map[string]string), make(map[string]string)
	for n := range 12 {
		for trial := range 3 {
			name := fmt.Sprintf("s%d_trial_%d", n, trial)
			first[name], second[name] = fmt.Sprint(float64(trial*trial)/10), fmt.Sprint(float64(trial*trial)/10+float64(n%2)/4)
		}
		second[fmt.Sprintf("s%d_trial_0", n)] = ""
	}
	plan, err := NewPlan(0.05, power, []*Run{runOf(first), runOf(second)})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Within > 1e-9 || math.Abs(plan.Between-0.1306) > 1e-4 {
		t.Errorf("deviations: got %v between base scenarios and %v between trials, want 0.1306 and 0", plan.Between, plan.Within)
	}
}

// TestPlan plans from one run, from two, and from none.
func TestPlan(t *testing.T) {
	one, two := make(map[string]string), make(map[string]string)
	for n := range 40 {
		for trial := range 2 {
			name := fmt.Sprintf("s%d_trial_%d", n, trial)
			one[name], two[name] = fmt.Sprint(float64(n%5)/10+float64(trial)/10), fmt.Sprint(float64(n%7)/10)
		}
	}
	for _, test := range []struct {
		runs   []*Run
		detect float64
		want   string
	}{
		{nil, 0.05, "what is usual among small models"},
		{[]*Run{runOf(one)}, 0.05, "the scores of run"},
		{[]*Run{runOf(one), runOf(two)}, 0.05, "the changes from run to run"},
		{[]*Run{runOf(one), runOf(one)}, 0.05, "are all equal"},
		{[]*Run{runOf(map[string]string{"a": "1.0", "b": "0.5"})}, 0.05, "do not tell trials from scenarios"},
		{nil, 0, "--detect: 0 given"},
	} {
		plan, err := NewPlan(test.detect, 0.8, test.runs)
		if err != nil {
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("NewPlan: got error %v, want %q", err, test.want)
			}
			continue
		}
		var out strings.Builder
		if err := plan.Write(&out); err != nil || plan.From != test.want || !strings.Contains(out.String(), test.want) {
			t.Errorf("plan: got %+v, %v and %s, want one from %q", plan, err, out.String(), test.want)
		}
		for i, d := range plan.Designs[1:] {
			if before := plan.Designs[i]; d.Scenarios > before.Scenarios || d.Rollouts != 2*d.Trials*d.Scenarios {
				t.Errorf("designs from %s: got %+v after %+v", plan.From, d, before)
			}
		}
	}
}

// TestPlanOfNothing asks for a change that no number of scenarios shows.
func TestPlanOfNothing(t *testing.T) {
	plan, err := NewPlan(1e-9, 0.8, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := plan.Write(&out); err != nil || !strings.HasPrefix(out.String(), "a million base scenarios do not show a change of 1e-09 with a probability of 80 %\nby what is usual") {
		t.Errorf("plan: got %v and %s", err, out.String())
	}
}

// TestReportOfNothing reports a run without a score.
func TestReportOfNothing(t *testing.T) {
	r := reportOf(t, []*Run{runOf(map[string]string{"a": ""}), runOf(nil)}, 1)
	for _, format := range Formats {
		var out strings.Builder
		if err := r.Write(&out, format); err != nil || strings.Contains(out.String(), "NaN") {
			t.Errorf("%s: got error %v and\n%s", format, err, out.String())
		}
	}
}
