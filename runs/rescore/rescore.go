// Package rescore scores the trajectories of a finished run with the current milestones.
package rescore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"google.golang.org/grpc/status"

	"github.com/toolsandbox/toolsandbox/internal/process"
	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/original/resultfile"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
	"github.com/toolsandbox/toolsandbox/runs/report"
	"github.com/toolsandbox/toolsandbox/runs/results"
	"github.com/toolsandbox/toolsandbox/runs/storage"
)

// Rescore is the scoring of one run. It is not safe for concurrent use.
type Rescore struct {
	// TextIsNoCall is set if the run's agent was a plug-in, whose texts are no calls.
	TextIsNoCall bool
	// Outcome is what changed.
	Outcome *report.Rescore

	dir       string
	summary   *resultfile.Summary
	scenarios map[string]*scenariov1.Scenario
	reader    *results.Reader // its Run gets the flags of checked users
	// entries are those of the summary; scoring replaces them.
	entries []resultfile.ScenarioResult
	// causes are those that the run recorded, by rollout; scoring updates them.
	causes map[string][]results.Cause
	// ends are how the conversations ended whose scoring failed in the run. scored are those that have
	// got a score. Both are by rollout.
	ends   map[string]string
	scored map[string]bool
}

// New prepares the scoring of the run in dir. scenarios are by name.
func New(dir string, reader *results.Reader, summary *resultfile.Summary, scenarios map[string]*scenariov1.Scenario) *Rescore {
	return &Rescore{
		Outcome: report.NewRescore(), dir: dir, summary: summary, scenarios: scenarios, reader: reader,
		entries: slices.Clone(summary.Scenarios), causes: reader.Run().Causes(), ends: reader.Run().ConversationEnds(), scored: make(map[string]bool),
	}
}

// Changed returns whether any entry of the summary differs.
func (r *Rescore) Changed() bool { return !reflect.DeepEqual(r.summary.Scenarios, r.entries) }

// Count sets the counts and means of the outcome. The causes are those of the selected rollouts.
func (r *Rescore) Count(selected []int) {
	r.Outcome.CauseCounts = r.countCauses(selected)
	r.Outcome.NotPlayed = r.reader.Run().NotPlayed()
	r.Outcome.Before, r.Outcome.After = r.summary.Mean(), r.summary.With(r.entries).Mean()
	if r.reader.Run().UserChecked() {
		r.Outcome.UserFlagCounts = r.reader.Run().Totals.UserFlagCounts
	}
}

// Score scores the selected rollouts, which are indices of the summary.
func (r *Rescore) Score(ctx context.Context, client evaluatorv1.EvaluatorServiceClient, selected []int) error {
	for _, i := range selected {
		if err := r.one(ctx, client, &r.entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rescore) one(ctx context.Context, client evaluatorv1.EvaluatorServiceClient, entry *resultfile.ScenarioResult) error {
	scenario := r.scenarios[ScenarioName(entry.Name, r.scenarios)]
	switch {
	case entry.Failed() && !entry.MeasureFailed():
		r.Outcome.Failed = append(r.Outcome.Failed, entry.Name)
		return nil
	case scenario == nil:
		r.Outcome.NoScenario = append(r.Outcome.NoScenario, entry.Name)
		return nil
	}
	trajectory, err := r.reader.Trajectory(entry.Name, world.SchemaOrBuiltin(scenario.GetEvaluation().GetSchema()))
	if errors.Is(err, fs.ErrNotExist) {
		r.Outcome.NoTrajectory = append(r.Outcome.NoTrajectory, entry.Name)
		return nil
	}
	if err != nil {
		return report.WithAdvice(r.dir, err)
	}
	recorded := append(results.CauseMessages(r.causes[entry.Name]), endCauses(r.ends[entry.Name], len(trajectory.Messages))...)
	response, err := client.ScoreTrajectory(ctx, &evaluatorv1.ScoreTrajectoryRequest{
		Evaluation: scenario.GetEvaluation(), Messages: trajectory.Messages, Tables: trajectory.Tables, TextIsNoCall: r.TextIsNoCall,
		Starting: int32(len(scenario.GetSetup().GetMessages())), CheckUser: r.reader.Run().UserChecked(), Causes: recorded,
		Categories: scenario.GetSetup().GetCategories(), TimeZone: scenario.GetSetup().GetClock().GetTimeZone(),
	})
	if err != nil {
		return fmt.Errorf("score %s: %s", entry.Name, status.Convert(err).Message())
	}
	before := *entry
	*entry = before.Rescored(scenario.GetEvaluation(), response.GetResult())
	r.causes[entry.Name] = results.Causes(response.GetResult().GetCauses())
	r.scored[entry.Name] = before.MeasureFailed()
	r.Outcome.Add(&before, entry, scenario.GetEvaluation())
	if r.reader.Run().UserChecked() && r.reader.Run().SetUserFlags(entry.Name, response.GetResult().GetUserFlags()) {
		r.Outcome.Flagged = append(r.Outcome.Flagged, entry.Name)
	}
	return nil
}

// endCauses returns what the end of a conversation whose scoring had failed says about the agent.
func endCauses(end string, messages int) []*busv1.Cause {
	for reason, kind := range map[busv1.EndReason]busv1.CauseKind{
		busv1.EndReason_END_REASON_REPEATED_TURN: busv1.CauseKind_CAUSE_KIND_REPEATED_TURN,
		busv1.EndReason_END_REASON_MESSAGE_LIMIT: busv1.CauseKind_CAUSE_KIND_MESSAGE_LIMIT,
	} {
		if end == results.EndName(reason) {
			return []*busv1.Cause{{Role: worldv1.Role_ROLE_AGENT, Kind: kind, Count: 1, Index: int32(messages)}}
		}
	}
	return nil
}

// countCauses counts the causes of the selected rollouts.
func (r *Rescore) countCauses(selected []int) *results.CauseCounts {
	var scores []results.CausedScore
	userUnscored := 0
	for _, i := range selected {
		if run := r.reader.Run(); run != nil && run.Rollouts[i].FailureClass == results.UserFailure {
			userUnscored++
		}
		if score, scored := r.entries[i].Similarity.Number(); scored {
			scores = append(scores, results.CausedScore{Score: score, Causes: r.causes[r.entries[i].Name]})
		}
	}
	return results.CountCauses(slices.Values(scores), len(selected), userUnscored)
}

// Write writes the changed files of the run. Scores beside EuroEval's figures are
// process.ErrUsage.
func (r *Rescore) Write() error {
	changed := r.Changed()
	figures := storage.Join(r.dir, results.EuroEvalFile)
	if found, err := storage.Exists(figures); err != nil {
		return err
	} else if found && changed {
		return process.UsageErrorf("--write: EuroEval's figures in %s would no longer match the scores: toolsandbox run --replay %s --out DIR grades the answers again",
			figures, report.ShellWord(r.dir))
	}
	if !changed && len(r.Outcome.Flagged) == 0 {
		return nil
	}
	r.Outcome.Written = true
	run := r.reader.Run()
	if run != nil {
		for i := range run.Rollouts {
			run.Rollouts[i].Causes = r.causes[run.Rollouts[i].Name]
		}
		run.AddScores(r.scored)
		if run.Totals != nil {
			all := make([]int, len(r.entries))
			for i := range all {
				all[i] = i
			}
			run.Totals.CauseCounts = r.countCauses(all)
			if slices.ContainsFunc(r.Outcome.Moved, func(m report.ScoreChange) bool { return m.Before != nil }) {
				run.Totals.Floors = nil // they are those of the milestones before
			}
		}
	}
	if changed {
		return results.ReplaceSummary(r.dir, run, r.summary.With(r.entries))
	}
	return results.WriteRun(r.dir, run)
}
