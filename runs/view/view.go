// Package view shows finished runs as web pages: scores, rollouts, each transcript beside the
// milestones that score it, and the world at any message. A server and a directory of files have
// the same pages with the same relative links.
//
// Nothing here computes a score or a reason for one: analysis, explain and describe do.
package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/rescore"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// passAt is the least score of a passed rollout.
const passAt = 1

// Viewer makes the pages of runs. It is safe for concurrent use.
type Viewer struct {
	runs      []*run
	scenarios map[string]*scenariov1.Scenario
	evaluator evaluatorv1.EvaluatorServiceClient

	report     func() *analysis.Report
	comparison func() (*analysis.Comparison, error)
	choices    func() choices
}

// run is a run with its rollouts.
type run struct {
	*analysis.Run
	Letter   string
	rollouts []analysis.Rollout
	index    map[string]int // by name
}

// New returns a Viewer of runs, of which there is at least one. scenarios are those that score
// them, by name; a rollout of another scenario has no explanation. evaluator explains scores.
func New(runs []*analysis.Run, scenarios map[string]*scenariov1.Scenario, evaluator evaluatorv1.EvaluatorServiceClient) *Viewer {
	v := &Viewer{scenarios: scenarios, evaluator: evaluator}
	for i, loaded := range runs {
		r := &run{Run: loaded, Letter: analysis.Letter(i), rollouts: loaded.Rollouts()}
		r.index = make(map[string]int, len(r.rollouts))
		for at, rollout := range r.rollouts {
			r.index[rollout.Name] = at
		}
		v.runs = append(v.runs, r)
	}
	v.report = sync.OnceValue(func() *analysis.Report { return analysis.NewReport(runs, passAt) })
	v.comparison = sync.OnceValues(func() (*analysis.Comparison, error) { return analysis.Compare(runs) })
	v.choices = sync.OnceValue(v.newChoices)
	return v
}

// run returns the run with a letter, nil without one.
func (v *Viewer) run(letter string) *run {
	for _, r := range v.runs {
		if r.Letter == letter {
			return r
		}
	}
	return nil
}

// explained is a rollout with its explanation. Without one Problem says why.
type explained struct {
	*explain.Report
	Scenario *scenariov1.Scenario
	Problem  string
}

// explain reads and explains a rollout. What cannot be read or explained is a problem that the page
// tells.
func (v *Viewer) explain(ctx context.Context, r *run, rollout analysis.Rollout) (explained, error) {
	scenario := v.scenarios[rescore.ScenarioName(rollout.Name, v.scenarios)]
	if !r.Reader().HasWorld() {
		scenario = nil
	}
	var causes []results.Cause
	if rollout.Outcome != nil {
		causes = rollout.Outcome.Causes
	}
	read, err := readRollout(r.Reader(), rollout.Entry, causes, scenario)
	if err != nil {
		problem := report.WithAdvice(r.Directory, err).Error()
		if errors.Is(err, fs.ErrNotExist) {
			problem = "The run has no trajectory of this rollout."
		}
		read = &explain.Report{Name: rollout.Name, Recorded: rollout.Score, Causes: causes}
		return explained{read, scenario, problem}, nil
	}
	if !r.Reader().HasWorld() {
		return explained{read, nil, "This is a rollout of another tool: its file has the conversation and the score, but no world and no milestones."}, nil
	}
	if scenario == nil {
		return explained{read, nil, fmt.Sprintf("The catalogue has no scenario %q: give the run's --pack to see why this score.", rollout.Scenario)}, nil
	}
	if err := read.Explain(ctx, v.evaluator); err != nil {
		if ctx.Err() != nil {
			return explained{}, ctx.Err()
		}
		return explained{read, scenario, err.Error()}, nil
	}
	return explained{read, scenario, ""}, nil
}

// readRollout reads a rollout, without its tables if its scenario is unknown.
func readRollout(reader *results.Reader, entry *resultfile.ScenarioResult, causes []results.Cause, scenario *scenariov1.Scenario) (*explain.Report, error) {
	if scenario != nil {
		return explain.Read(reader, entry, causes, scenario)
	}
	messages, err := reader.Messages(entry.Name)
	if err != nil {
		return nil, err
	}
	read := &explain.Report{Name: entry.Name, Causes: causes, Messages: messages}
	if score, ok := entry.Similarity.Number(); ok {
		read.Recorded = &score
	}
	return read, nil
}
