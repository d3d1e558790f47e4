// Package view shows finished runs as web pages: scores, rollouts, each transcript beside the
// milestones that score it, and the world at any message. A server and a directory of files have
// the same pages with the same relative links.
//
// Nothing here computes a score or a reason for one: analysis, explain and describe do.
package view

import (
	"context"
	"fmt"
	"sync"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/analysis"
	"github.com/toolsandbox/toolsandbox/runs/describe"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/runs/prove"
	"github.com/toolsandbox/toolsandbox/runs/rescore"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// passAt is the least score of a passed rollout.
const passAt = 1

// Viewer makes the pages of runs as they are at one moment. It is safe for concurrent use.
type Viewer struct {
	runs      []*run
	scenarios map[string]*scenariov1.Scenario
	evaluator evaluatorv1.EvaluatorServiceClient
	traceUI   string
	forkToken string         // admits forms that fork, empty if there are none
	pack      *describe.Pack // instead of runs
	// proofOf returns the proof of a scenario, not ready while it is being played. Nil without proofs.
	proofOf func(*scenariov1.Scenario) (report *prove.Report, ready bool, err error)
	// version counts the states of a site, from 1. changing: there may be another one.
	version  int
	changing bool

	report     func(context.Context) (*analysis.Report, error)
	comparison func() (*analysis.Comparison, error)
	choices    func() choices
}

// run is a run with its rollouts.
type run struct {
	*analysis.Run
	Letter string
	// Progress is what a run that is being played does, nil for others.
	Progress *progress

	read func(context.Context, string, *world.Schema) (*Trajectory, error)
	// isSweep: it is a sweep of an installation, without files.
	isSweep  bool
	rollouts []analysis.Rollout
	index    map[string]int // by name
}

// New returns a Viewer of runs, of which there is at least one. scenarios are those that score
// them, by name; a rollout of another scenario has no explanation. evaluator explains scores.
func New(runs []*analysis.Run, scenarios map[string]*scenariov1.Scenario, evaluator evaluatorv1.EvaluatorServiceClient) *Viewer {
	v := &Viewer{scenarios: scenarios, evaluator: evaluator}
	for i, loaded := range runs {
		r := &run{Run: loaded, Letter: analysis.Letter(i), rollouts: loaded.Rollouts()}
		r.read = func(_ context.Context, rollout string, schema *world.Schema) (*Trajectory, error) {
			return readTrajectory(loaded.Reader(), rollout, schema)
		}
		r.index = make(map[string]int, len(r.rollouts))
		for at, rollout := range r.rollouts {
			r.index[rollout.Name] = at
		}
		v.runs = append(v.runs, r)
	}
	var computing sync.Mutex
	var report *analysis.Report
	v.report = func(ctx context.Context) (*analysis.Report, error) {
		computing.Lock()
		defer computing.Unlock()
		var err error
		if report == nil { // who asks next begins anew after an error
			report, err = analysis.NewReport(ctx, runs, passAt)
		}
		return report, err
	}
	v.comparison = sync.OnceValues(func() (*analysis.Comparison, error) {
		return analysis.Compare(context.Background(), runs) // all pages share it, so it ends with none of them
	})
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

// explainedRollout returns a rollout by the names in its path: its run, and its index in it. The
// error is errNoPage if there is none.
func (v *Viewer) explainedRollout(ctx context.Context, letter, name string) (r *run, i int, told explained, err error) {
	if r = v.run(letter); r == nil {
		return nil, 0, explained{}, errNoPage
	}
	i, ok := r.index[name]
	if !ok {
		return nil, 0, explained{}, errNoPage
	}
	told, err = v.explain(ctx, r, r.rollouts[i])
	return r, i, told, err
}

// explained is a rollout with its explanation. Without one Problem says why.
type explained struct {
	*explain.Report
	Scenario *scenariov1.Scenario
	Turns    map[int]results.Turn
	Problem  string
}

// explain reads and explains a rollout. What cannot be read or explained is a problem that the page
// tells.
func (v *Viewer) explain(ctx context.Context, r *run, rollout analysis.Rollout) (explained, error) {
	scenario := v.scenarios[rescore.ScenarioName(rollout.Name, v.scenarios)]
	if !r.HasWorld() {
		scenario = nil
	}
	var causes []results.Cause
	if rollout.Outcome != nil {
		causes = rollout.Outcome.Causes
	}
	var schema *world.Schema
	if scenario != nil {
		schema = world.SchemaOrBuiltin(scenario.GetEvaluation().GetSchema())
	}
	trajectory, err := r.read(ctx, rollout.Name, schema)
	if ctx.Err() != nil {
		return explained{}, ctx.Err()
	}
	if err != nil {
		trajectory = &Trajectory{Trajectory: new(resultfile.Trajectory)}
	}
	read := explain.New(r.Record(), rollout.Entry, causes, scenario, trajectory.Trajectory)
	told := explained{read, scenario, trajectory.Turns, trajectory.Problem}
	if err != nil {
		told.Problem = explainMissing(r.Directory, err)
		return told, nil
	}
	if !r.HasWorld() {
		told.Problem = "This is a rollout of another tool: its file has the conversation and the score, but no world and no milestones."
		return told, nil
	}
	if scenario == nil {
		told.Problem = fmt.Sprintf("The catalogue has no scenario %q: give the run's --pack to see why this score.", rollout.Scenario)
		return told, nil
	}
	if err := read.Explain(ctx, v.evaluator); err != nil {
		if ctx.Err() != nil {
			return explained{}, ctx.Err()
		}
		told.Problem = err.Error()
	}
	return told, nil
}
