// Package prove proves scenarios by playing them: their oracles solve them in every variant, only a
// solution does, each milestone and minefield counts, and their claims are true.
//
// A proof has two rounds. The first plays the oracle in all variants and orders. Its steps
// determine the possible faults; the second round plays those, one per rollout.
package prove

import (
	"context"
	"fmt"

	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// The rules, by their names in reports.
const (
	ruleOracle    = "oracle"
	ruleIdle      = "idle"
	ruleMilestone = "milestone"
	ruleMutant    = "mutant"
	ruleMinefield = "minefield"
	ruleTool      = "tool"
	ruleCategory  = "category"
	ruleConsent   = "consent"
	ruleTold      = "told"
)

// Prove proves scenarios on a running installation. They must have passed scenario.Validate. It
// returns one report for each, in order. The error means that a rollout could not be played; a
// report holds the faults of its scenario.
func Prove(ctx context.Context, services Services, scenarios []*scenariov1.Scenario) ([]*Report, error) {
	player := &player{services: services}
	candidates := make([]*candidate, len(scenarios))
	for i, s := range scenarios {
		tools, err := player.tools(ctx, s)
		if err != nil {
			return nil, err
		}
		candidates[i] = &candidate{scenario: s, variants: scenario.Variants(s), tools: tools, report: &Report{Name: s.GetSetup().GetName()}}
		candidates[i].planOracle()
	}
	if err := player.play(ctx, planned(candidates)); err != nil {
		return nil, err
	}
	for _, s := range candidates {
		if err := s.observeOracle(ctx, player); err != nil {
			return nil, fmt.Errorf("prove %s: %w", s.name(), err)
		}
	}
	if err := player.play(ctx, planned(candidates)); err != nil {
		return nil, err
	}
	reports := make([]*Report, len(candidates))
	for i, s := range candidates {
		if err := s.check(ctx, player); err != nil {
			return nil, fmt.Errorf("prove %s: %w", s.name(), err)
		}
		reports[i] = s.finish()
	}
	return reports, nil
}

// planned returns the unplayed experiments of all candidates.
func planned(candidates []*candidate) []*experiment {
	var open []*experiment
	for _, s := range candidates {
		for _, e := range s.experiments {
			if e.result == nil {
				open = append(open, e)
			}
		}
	}
	return open
}

// candidate is a scenario during its proof.
type candidate struct {
	scenario *scenariov1.Scenario
	variants []*scenariov1.Scenario
	tools    map[string]*toolInfo
	report   *Report

	experiments []*experiment
	known       map[string]bool // planned faults
	oracle      *run            // nil unless the oracle's solution counts in full
	uncalled    *Failure        // a call without which the oracle scores as much, if any
}

// name returns the scenario's name.
func (s *candidate) name() string { return s.scenario.GetSetup().GetName() }

// fail records a broken rule.
func (s *candidate) fail(rule, format string, args ...any) {
	s.report.Failures = append(s.report.Failures, &Failure{Rule: rule, Reason: fmt.Sprintf(format, args...)})
}

// failBy records an experiment that broke its rule.
func (s *candidate) failBy(e *experiment, format string, args ...any) *Failure {
	score := e.result.GetSimilarity()
	failure := &Failure{Rule: e.rule, Reason: fmt.Sprintf(format, args...), Experiment: e.name, Score: &score, Expected: e.expectation()}
	s.report.Failures = append(s.report.Failures, failure)
	return failure
}

// observeOracle judges the first round and plans the second if it succeeded.
func (s *candidate) observeOracle(ctx context.Context, p *player) error {
	if s.scenario.GetSetup().GetFunctionCalling() != nil {
		s.checkRecord()
		return nil
	}
	solved, err := s.checkOracle(ctx, p)
	if err != nil {
		return err
	}
	for i, variant := range s.variants {
		visible, err := p.visibleTools(ctx, s.experiments[i])
		if err != nil {
			return err
		}
		s.checkTools(variant, visible)
	}
	if err := s.checkStart(ctx, p); err != nil {
		return err
	}
	if len(s.scenario.GetEvaluation().GetMilestones().GetNodes()) == 0 {
		s.fail(ruleIdle, "there is no milestone, so an idle agent scores 1: state what the agent has to do or say")
		return nil
	}
	if !solved {
		return nil
	}
	trajectory, err := p.trajectory(ctx, s.experiments[0])
	if err != nil {
		return err
	}
	if s.oracle, err = newRun(s.scenario, trajectory, s.experiments[0].result, s.tools); err != nil {
		s.fail(ruleOracle, "%v", err)
		return nil
	}
	s.judgeFailing(trajectory)
	s.checkConstraints()
	s.checkTold()
	s.planMutants()
	s.planUnasked()
	s.planTriggers()
	return nil
}
