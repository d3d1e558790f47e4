package analysis

import (
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/results"
)

// Rollout is one rollout of a run.
type Rollout struct {
	// Name is its name, Scenario that of its scenario, Base that of the base scenario.
	Name, Scenario, Base, Variant string
	// Categories are those that count, ALL_CATEGORIES last.
	Categories []string
	// Score is nil without a score. Failure is the class of the failure of a rollout without one.
	Score   *float64
	Failure string
	Turns   int
	// Calls is nil if it is unknown, as without trajectories, and so is Seconds.
	Calls   *int
	Seconds *float64
	// Entry is its entry in the summary. Outcome is nil for a run of the original.
	Entry   *resultfile.ScenarioResult
	Outcome *results.Outcome
}

// Rollouts returns the rollouts in their order. What they point to must not be changed.
func (r *Run) Rollouts() []Rollout {
	all := make([]Rollout, len(r.rollouts))
	for i, played := range r.rollouts {
		all[i] = Rollout{
			Name: played.name, Scenario: played.scenario, Base: played.base, Variant: played.variant, Categories: played.categories,
			Score: played.score, Turns: played.turns, Calls: played.calls, Seconds: played.seconds,
			Entry: played.entry, Outcome: played.outcome,
		}
		if played.score == nil {
			all[i].Failure = played.failure()
		}
	}
	return all
}

// Reader reads the trajectories of a loaded run.
func (r *Run) Reader() *results.Reader { return r.reader }

// HasWorld reports whether its trajectories have tables, which those of other tools lack.
func (r *Run) HasWorld() bool { return r.reader == nil || r.reader.HasWorld() }

// Record is the record of the run, nil for a run of the original.
func (r *Run) Record() *results.Run { return r.record }

// PartingAt returns the index of the first message in which trajectories differ, the length of the
// longest one if they are equal.
func PartingAt(trajectories [][]*worldv1.Message) int {
	longest := 0
	for _, messages := range trajectories {
		longest = max(longest, len(messages))
	}
	for i := range longest {
		for _, messages := range trajectories[1:] {
			if speech(messages, i) != speech(trajectories[0], i) {
				return i
			}
		}
	}
	return longest
}
