package analysis

import (
	"cmp"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
)

// Variance is the shares of the variance of scores, which sum up to 1. A share is null for a factor
// that does not vary.
type Variance struct {
	// Deviation is the standard deviation of all parts together.
	Deviation float64 `json:"deviation"`
	// Scenario is between scenarios, Agent between agents, User between users.
	Scenario *float64 `json:"scenario"`
	Agent    *float64 `json:"agent"`
	User     *float64 `json:"user"`
	// Interaction is between combinations of them, beyond each alone. It is null where no combination
	// has two trials: Trial then includes it.
	Interaction *float64 `json:"interaction"`
	// Trial is between the trials of one combination.
	Trial *float64 `json:"trial"`
}

// varianceOf returns the shares of the variance of the scores of all runs, nil if the runs do not
// tell them apart. Runs of one agent and user count as trials.
func varianceOf(runs []*Run) *Variance {
	var scores []statistics.Crossed
	for _, run := range runs {
		agent := cmp.Or(run.Agent, run.Directory)
		for _, r := range run.rollouts {
			if r.score != nil {
				scores = append(scores, statistics.Crossed{Levels: []string{r.scenario, agent, run.User}, Value: *r.score})
			}
		}
	}
	c, ok := statistics.ComponentsOf(scores)
	if !ok {
		return nil
	}
	all := []float64{c.Factors[0], c.Factors[1], c.Factors[2], c.Together, c.Within}
	sum := 0.0
	for _, part := range all {
		if !math.IsNaN(part) {
			sum += part
		}
	}
	if sum <= 0 {
		return nil
	}
	v := &Variance{Deviation: math.Sqrt(sum)}
	for i, share := range []**float64{&v.Scenario, &v.Agent, &v.User, &v.Interaction, &v.Trial} {
		if !math.IsNaN(all[i]) {
			*share = new(all[i] / sum)
		}
	}
	return v
}

// section returns the shares for people.
func (v *Variance) section() section {
	t := output.NewNumbers(table.Row{"deviation", "scenario", "agent", "user", "interaction", "trial"})
	t.Append(table.Row{rounded(&v.Deviation), share(v.Scenario), share(v.Agent), share(v.User), share(v.Interaction), share(v.Trial)})
	note := "interaction: between their combinations, beyond each alone; trial: the rest"
	if v.Interaction == nil {
		note = "trial: between the trials of one scenario, agent and user"
		if v.Agent != nil || v.User != nil {
			note = "trial: the rest, with what combinations have in common if they vary"
		}
	}
	return section{title: "Shares of the variance of scores", table: t, notes: []string{note}}
}
