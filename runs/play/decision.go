package play

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/toolsandbox/toolsandbox/runs/output"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/sequential"
	"github.com/toolsandbox/toolsandbox/runs/statistics"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// Decision is what the runs of agents show that were played until their comparison was decided.
// It is the content of results.DecisionFile.
type Decision struct {
	// Agents are the agents, --agent first.
	Agents []AgentMean `json:"agents"`
	// Comparisons are those of each other agent with the first, or of a single one with nothing.
	Comparisons []AgentChange `json:"comparisons"`
}

// AgentMean is the mean score of an agent.
type AgentMean struct {
	Agent string `json:"agent"`
	// Directory is that of its run. Planned is the number of rollouts that were planned for it
	// at most.
	Directory string `json:"directory"`
	Planned   int    `json:"planned"`
	results   string // the file or directory with its scores
	Estimate
}

// AgentChange compares an agent with the first one: its scores minus those.
type AgentChange struct {
	Agent string `json:"agent"`
	// Outcome is decided (the interval leaves out 0), precise (it is as narrow as asked for) or
	// exhausted (all rollouts are played).
	Outcome sequential.Outcome `json:"outcome"`
	Estimate
}

// Estimate is a mean over base scenarios, each of which counts once.
type Estimate struct {
	// Rollouts is the number of rollouts of an agent on which it rests, Clusters that of their base
	// scenarios.
	Rollouts int `json:"rollouts"`
	Clusters int `json:"base_scenarios"`
	// Mean is null without a score.
	Mean *float64 `json:"mean"`
	// Interval is the 95 % interval. It allows for the looks at the scores.
	Interval statistics.Interval `json:"interval"`
}

func newEstimate(e sequential.Estimate) Estimate {
	estimate := Estimate{Rollouts: e.Rollouts, Clusters: e.Clusters, Interval: e.Interval}
	if !math.IsNaN(e.Mean) {
		estimate.Mean = &e.Mean
	}
	return estimate
}

func newDecision(found sequential.Result, runs []*opened) *Decision {
	d := &Decision{}
	for agent, mean := range found.Means {
		run, dir := runs[agent], runs[agent].directory.path
		d.Agents = append(d.Agents, AgentMean{run.agent, dir, run.spec.Rollouts(), storage.Join(dir, run.collector.record.Main()), newEstimate(mean)})
	}
	for _, c := range found.Comparisons {
		d.Comparisons = append(d.Comparisons, AgentChange{runs[c.Agent].agent, c.Outcome, newEstimate(c.Estimate)})
	}
	return d
}

// store writes the file of the decision.
func (d *Decision) store(dir string) error {
	data, err := json.MarshalIndent(d, "", "    ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", results.DecisionFile, err)
	}
	return results.WriteFile(storage.Join(dir, results.DecisionFile), append(data, '\n'))
}

// write writes the decision for a person.
func (d *Decision) write(w io.Writer) error {
	agents := output.NewNumbers(table.Row{"agent", "rollouts", "of", "base scenarios", "mean", "95 % interval"})
	for _, a := range d.Agents {
		agents.Append(table.Row{a.Agent, a.Rollouts, a.Planned, a.Clusters, a.meanText(), a.intervalText()})
	}
	text := agents.Fit(output.Width(w)) + "\n"
	if len(d.Agents) > 1 {
		changes := output.NewNumbers(table.Row{"against " + d.Agents[0].Agent, "pairs", "base scenarios", "change", "95 % interval", "outcome"})
		for _, c := range d.Comparisons {
			changes.Append(table.Row{c.Agent, c.Rollouts, c.Clusters, c.meanText(), c.intervalText(), c.Outcome})
		}
		text += "\n" + changes.Fit(output.Width(w)) + "\n"
	}
	for _, c := range d.Comparisons {
		text += c.sentence(len(d.Agents) == 1) + "\n"
	}
	for _, a := range d.Agents {
		text += "results: " + a.results + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// sentence says why the comparison ended.
func (c AgentChange) sentence(single bool) string {
	measured := "the difference of " + c.Agent
	if single {
		measured = "the mean of " + c.Agent
	}
	switch c.Outcome {
	case sequential.Decided:
		return measured + " is told from 0"
	case sequential.Precise:
		return measured + " is known as precisely as asked for"
	default:
		return measured + " is not decided by all rollouts: more base scenarios or --trials would tell more"
	}
}

func (e Estimate) meanText() string {
	if e.Mean == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *e.Mean)
}

func (e Estimate) intervalText() string {
	return fmt.Sprintf("%.3f to %.3f", e.Interval.Low, e.Interval.High)
}
