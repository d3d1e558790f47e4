package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// played returns a run of two trials of each scenario by an agent.
func played(agent, user string, score func(scenario, trial int) float64) *Run {
	summary, record := &resultfile.Summary{}, &results.Run{Trials: 2, Agent: results.Player{Name: agent}, User: results.Player{Name: user}}
	for s := range 6 {
		for trial := range 2 {
			name := fmt.Sprintf("s%d_trial_%d", s, trial)
			summary.Scenarios = append(summary.Scenarios, resultfile.ScenarioResult{Name: name, Categories: []string{"X"}, Similarity: resultfile.Similarity(fmt.Sprint(score(s, trial)))})
			record.Rollouts = append(record.Rollouts, results.Outcome{Name: name, Scored: true})
		}
	}
	return NewRun(agent, summary, record)
}

// TestVariance finds where scores vary.
func TestVariance(t *testing.T) {
	byScenario := func(s, _ int) float64 { return float64(s) / 6 }
	byTrial := func(_, trial int) float64 { return float64(trial) }
	at := func(level float64) func(int, int) float64 { return func(int, int) float64 { return level } }
	for name, test := range map[string]struct {
		runs []*Run
		want string // scenario, agent, user, interaction, trial
	}{
		"scenarios":             {[]*Run{played("a", "u", byScenario)}, "1.00 – – – 0.00"},
		"trials":                {[]*Run{played("a", "u", byTrial)}, "0.00 – – – 1.00"},
		"agents":                {[]*Run{played("a", "u", at(0)), played("b", "u", at(1))}, "0.00 1.00 – 0.00 0.00"},
		"users":                 {[]*Run{played("a", "u", at(0)), played("a", "v", at(1))}, "0.00 – 1.00 0.00 0.00"},
		"agents and users":      {[]*Run{played("a", "u", at(0)), played("b", "u", at(1)), played("a", "v", at(0)), played("b", "v", at(1))}, "0.00 1.00 0.00 0.00 0.00"},
		"each agent has a user": {[]*Run{played("a", "u", at(0)), played("b", "v", at(1))}, ""},
		"nothing varies":        {[]*Run{played("a", "u", at(1))}, ""},
		"nothing":               {[]*Run{runOf(nil)}, ""},
	} {
		report := reportOf(t, test.runs, 1)
		got := ""
		if v := report.Variance; v != nil {
			for _, share := range []*float64{v.Scenario, v.Agent, v.User, v.Interaction, v.Trial} {
				got += " " + digits(share, 2)
			}
		}
		if strings.TrimSpace(got) != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		var out strings.Builder
		if err := report.Write(&out, "text"); err != nil || strings.Contains(out.String(), "Shares of the variance") != (test.want != "") {
			t.Errorf("%s: got error %v and\n%s", name, err, out.String())
		}
	}
}

// TestFloorRows shows floors and oracle below the scores, in their categories for other programs.
func TestFloorRows(t *testing.T) {
	run := reported()
	run.Floors = &results.Floors{
		Idle: results.Floor{Mean: 0.2, Rollouts: 30}, Random: results.Floor{Mean: 0.3, Rollouts: 30}, Oracle: &results.Floor{Mean: 1, Rollouts: 30},
		Categories: map[string]*results.CategoryFloors{"X_Y": {Idle: results.Floor{Mean: 0.125, Rollouts: 30}}},
	}
	report := reportOf(t, []*Run{run, reported()}, 1)
	for format, wants := range map[string][]string{
		"text": {" idle agent        A      30     –  0.200 ", " oracle            A      30     –  1.000 "},
		"csv":  {",X_Y,all,5,4,2,0.5", ",0.125,0,,", ",0.2,0.3,1,"},
	} {
		var out strings.Builder
		if err := report.Write(&out, format); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: got\n%s\nwant it to contain %q", format, out.String(), want)
			}
		}
	}
	if g := report.Groups[0]; g.Floors == nil || g.Floors.Oracle != nil || report.Groups[6].Floors != nil {
		t.Errorf("floors: got %+v of %s", g.Floors, g.Category)
	}
}

// TestToolScores has the mean of the rollouts that call a tool, however often.
func TestToolScores(t *testing.T) {
	got, err := written(t, []trialOf{
		{"a_trial_0", "1.0", "", nil, 2, 2, -1, "add add search"}, {"a_trial_1", "0.5", "", nil, 2, 1, -1, "add"},
		{"a_all_tools_trial_0", "0.25", "", nil, 2, 1, -1, "add"}, {"b_trial_0", "", "", nil, 2, 1, -1, "add"},
	}).ToolScores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, s := range got {
		text += fmt.Sprintf("%s %s %d %.2f; ", s.Tool, s.Variant, s.Rollouts, math.Round(100*s.Mean)/100)
	}
	if want := "add all_tools 1 0.25; add plain 2 0.75; search plain 1 1.00; "; text != want {
		t.Errorf("tools: got %q, want %q", text, want)
	}
}
