// Package analysis says what the scores of runs show: means with intervals by agent, category and
// variant, rates of passes, and what changed between runs.
package analysis

import (
	"context"
	"io"
	"slices"

	"github.com/toolsandbox/toolsandbox/original/resultfile"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// Run is the rollouts of one run.
type Run struct {
	// Directory is its directory, Agent and User its players, empty for a run of the original.
	Directory string `json:"directory"`
	Agent     string `json:"agent"`
	User      string `json:"user"`
	// Floors are what agents without a model score on its scenarios, nil if they were not played.
	Floors *results.Floors `json:"floors,omitempty"`

	rollouts []rollout
	record   *results.Run // nil for a run of the original
	// reader reads the trajectories, nil without files.
	reader *results.Reader
}

// rollout is one rollout of a run.
type rollout struct {
	name string
	// scenario is the name of the scenario, base that of its base scenario.
	scenario, base, variant string
	categories              []string
	score                   *float64 // nil without a score
	milestones              resultfile.Mapping
	minefield               bool // whether one was triggered
	turns                   int
	calls                   *int     // nil if unknown, as without a trajectory
	seconds                 *float64 // nil if unknown
	entry                   *resultfile.ScenarioResult
	// outcome is nil for a run of the original. userChecked reports that its user was no script.
	outcome     *results.Outcome
	userChecked bool
}

// Load reads the run in a directory. Warnings name rollouts that were not played and, with
// acceptEdits, files that were changed after the run. The end of ctx ends it.
func Load(ctx context.Context, dir string, acceptEdits bool, warnings io.Writer) (*Run, error) {
	dir, _ = results.Locate(dir)
	summary, reader, err := report.OpenFinished(ctx, dir, acceptEdits, warnings)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return OpenRun(dir, summary, reader), nil
}

// OpenRun returns the rollouts of a summary whose reader is open.
func OpenRun(dir string, summary *resultfile.Summary, reader *results.Reader) *Run {
	return newRun(dir, summary, reader.Run(), reader)
}

// NewRun returns the rollouts of a summary without trajectories, whose calls are unknown. record is
// nil for a run of the original.
func NewRun(dir string, summary *resultfile.Summary, record *results.Run) *Run {
	return newRun(dir, summary, record, nil)
}

func newRun(dir string, summary *resultfile.Summary, record *results.Run, reader *results.Reader) *Run {
	run := &Run{Directory: dir, record: record, reader: reader}
	if record != nil {
		run.Agent, run.User = record.Agent.Name, record.User.Name
		if record.Totals != nil {
			run.Floors = record.Totals.Floors
		}
	}
	scenarioOf := scenarioNames(summary, record)
	for i, result := range summary.Scenarios {
		r := rollout{
			name: result.Name, scenario: scenarioOf(result.Name), categories: resultfile.CountedCategories(result.Categories),
			score: result.Similarity.Pointer(), milestones: result.MilestoneMapping, turns: result.TurnCount, entry: &summary.Scenarios[i],
		}
		if triggered, ok := result.MinefieldSimilarity.Number(); ok {
			r.minefield = triggered > 0
		}
		r.base, r.variant = record.Base(r.scenario), scenario.VariantName(r.scenario)
		if record != nil && i < len(record.Rollouts) {
			r.outcome, r.userChecked = &record.Rollouts[i], record.UserChecked()
			if reader != nil && r.outcome.Damage == "" {
				r.calls = &r.outcome.Calls
			}
			if r.outcome.Seconds > 0 {
				r.seconds = &r.outcome.Seconds
			}
		}
		run.rollouts = append(run.rollouts, r)
	}
	return run
}

// RolloutScore is the score of a rollout that has one.
type RolloutScore struct {
	// Rollout is its name.
	Rollout    string
	Categories []string
	Score      float64
}

// Scores returns the scores of the rollouts in their order.
func (r *Run) Scores() []RolloutScore {
	var scores []RolloutScore
	for _, played := range r.rollouts {
		if played.score != nil {
			scores = append(scores, RolloutScore{played.name, played.categories, *played.score})
		}
	}
	return scores
}

// RolloutName is a rollout with its scenario and base scenario.
type RolloutName struct{ Rollout, Scenario, Base string }

// Names returns the names of all rollouts in their order.
func (r *Run) Names() []RolloutName {
	names := make([]RolloutName, len(r.rollouts))
	for i, played := range r.rollouts {
		names[i] = RolloutName{played.name, played.scenario, played.base}
	}
	return names
}

// scenarioNames returns a function from the name of a rollout to that of its scenario. A run of
// several trials appends the trial. Without a record the names of all rollouts tell whether it did.
func scenarioNames(summary *resultfile.Summary, record *results.Run) func(string) string {
	trials := record != nil && record.Trials > 1
	if record == nil {
		trials = !slices.ContainsFunc(summary.Scenarios, func(r resultfile.ScenarioResult) bool {
			_, _, ok := results.CutTrial(r.Name)
			return !ok
		})
	}
	return func(rollout string) string {
		if !trials {
			return rollout
		}
		scenario, _, _ := results.CutTrial(rollout)
		return scenario
	}
}
