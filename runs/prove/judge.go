package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	orchestratorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/orchestrator/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	"github.com/toolsandbox/toolsandbox/runs/explain"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// checkTools checks that a variant has the oracle's tools and none of without_tools.
func (s *candidate) checkTools(variant *scenariov1.Scenario, visible map[string]bool) {
	missing := make(map[string]bool)
	for call := range scenario.Calls(s.scenario.GetSetup().GetOracleScript()...) {
		if name := call.GetTool(); !visible[name] && !missing[name] {
			missing[name] = true
			s.fail(ruleTool, "the oracle calls %s, but the agent of %s does not have it", name, variant.GetSetup().GetName())
		}
	}
	for _, name := range s.scenario.GetSetup().GetTools().GetDeny() {
		if visible[name] {
			s.fail(ruleTool, "without_tools lists %s, but the agent of %s has it", name, variant.GetSetup().GetName())
		}
	}
}

// checkStart checks that the start reaches no milestone and scores at most max_idle_score.
func (s *candidate) checkStart(ctx context.Context, p *player) error {
	nodes := s.scenario.GetEvaluation().GetMilestones().GetNodes()
	if len(nodes) == 0 {
		return nil
	}
	maxIdleScore := s.scenario.GetProof().GetMaxIdleScore()
	if maxIdleScore >= perfectScore {
		s.fail(ruleIdle, "max_idle_score is 1, so an idle agent would pass: expected less")
	}
	start, err := p.start(ctx, s.scenario)
	if err != nil {
		return err
	}
	if start.GetSimilarity() > maxIdleScore {
		score := start.GetSimilarity()
		s.report.Failures = append(s.report.Failures, &Failure{
			Rule: ruleIdle, Reason: "it scores before the first message", Experiment: "the start", Score: &score,
			Expected: (&experiment{kind: idle, limit: maxIdleScore}).expectation(),
		})
	}
	for _, match := range start.GetMilestones() {
		if match.GetSimilarity() >= perfectScore {
			s.fail(ruleMilestone, "%s holds before the agent acts", nodeText(nodes[match.GetNode()], int(match.GetNode())))
		}
	}
	return nil
}

// checkOracle checks that the oracle solves the scenario in every order and variant, and reports
// the first failure with the calls that fail in it.
func (s *candidate) checkOracle(ctx context.Context, p *player) (bool, error) {
	var wrong []*experiment
	for _, e := range s.experiments {
		if e.kind == solves && !e.solved() {
			wrong = append(wrong, e)
		}
	}
	if len(wrong) == 0 {
		return true, nil
	}
	trajectory, err := p.trajectory(ctx, wrong[0])
	if err != nil {
		return false, err
	}
	reason := "the oracle does not solve it"
	if len(wrong) > 1 {
		reason = fmt.Sprintf("the oracle does not solve it, here and in %d other rollouts", len(wrong)-1)
	}
	var causes []string
	for _, failing := range s.failingCalls(trajectory) {
		causes = append(causes, failing.String())
	}
	s.failBy(wrong[0], "%s: %s", reason, strings.Join(append(causes, s.marks(wrong[0])), ", "))
	return false, nil
}

// marks lists the outcome of each milestone, and the matching minefields.
func (s *candidate) marks(e *experiment) string {
	var parts []string
	for _, match := range e.result.GetMilestones() {
		node := s.scenario.GetEvaluation().GetMilestones().GetNodes()[match.GetNode()]
		parts = append(parts, nodeText(node, int(match.GetNode()))+" "+number(match.GetSimilarity()))
	}
	for _, match := range e.result.GetMinefields() {
		if match.GetSimilarity() > 0 {
			node := s.scenario.GetEvaluation().GetMinefields().GetNodes()[match.GetNode()]
			parts = append(parts, "minefield "+nodeText(node, int(match.GetNode()))+" "+number(match.GetSimilarity()))
		}
	}
	if detail := e.result.GetEnd().GetDetail(); detail != "" {
		parts = append(parts, detail)
	}
	return strings.Join(parts, ", ")
}

// check compares every outcome with its claim, and the scenario's claims with the rollouts.
func (s *candidate) check(ctx context.Context, p *player) error {
	triggered := make(map[int]bool)
	var uncounted []*experiment
	for _, e := range s.experiments {
		switch e.kind {
		case idle:
			if len(s.scenario.GetEvaluation().GetMilestones().GetNodes()) > 0 && e.result.GetSimilarity() > e.limit+(1-perfectScore) {
				s.failBy(e, "an idle agent scores too much, raise max_idle_score or change the milestones: %s", s.marks(e))
			}
		case lower:
			counts, err := s.counts(ctx, p, e)
			if err != nil {
				return err
			}
			if !counts {
				uncounted = append(uncounted, e)
			}
		case triggers:
			triggered[e.minefield] = triggered[e.minefield] || e.triggered()
		case solves, observed:
		}
	}
	s.failMutants(uncounted)
	s.checkTolerated()
	if err := s.checkTriggers(ctx, p, triggered); err != nil {
		return err
	}
	if s.oracle == nil {
		return nil
	}
	return s.checkCategories(ctx, p)
}

// counts classifies a fault: whether it counts or makes no difference, as each should.
func (s *candidate) counts(ctx context.Context, p *player, e *experiment) (bool, error) {
	if e.result.GetSimilarity() < perfectScore {
		return true, nil
	}
	if e.equivalence != neverEquivalent {
		t, err := p.trajectory(ctx, e)
		if err != nil {
			return false, err
		}
		if e.equivalent = s.equivalent(e, t); e.equivalent {
			return true, nil
		}
	}
	return s.isTolerated(ctx, p, e)
}

// failMutants reports the faults that do not count. Where a step may be missing, it may be wrong as
// well, so its other faults follow.
func (s *candidate) failMutants(uncounted []*experiment) {
	causes := make(map[*step]*Failure)
	for _, e := range uncounted {
		if e.missing && causes[e.step] == nil {
			causes[e.step] = s.failBy(e, "%s: %s", e.fault, e.remedy)
			if e.step.call != nil {
				s.uncalled = causes[e.step]
			}
		}
	}
	for _, e := range uncounted {
		cause := causes[e.step]
		switch {
		case cause == nil:
			s.failBy(e, "%s: %s", e.fault, e.remedy)
		case cause.Experiment != e.name:
			cause.Follow++
		}
	}
}

// equivalent returns whether a fault made no difference.
func (s *candidate) equivalent(e *experiment, t *orchestratorv1.GetTrajectoryResponse) bool {
	return s.oracle.sameWorldAs(t) && (e.equivalence != sameAnswers || s.oracle.sameAnswersAs(t, e.dropped))
}

// checkTriggers reports minefields that no experiment triggered.
func (s *candidate) checkTriggers(ctx context.Context, p *player, triggered map[int]bool) error {
	for i, node := range s.scenario.GetEvaluation().GetMinefields().GetNodes() {
		if disabling := scenario.DisablingGuardrails(s.scenario, i); len(disabling) > 0 {
			s.report.Notes = append(s.report.Notes, fmt.Sprintf("minefield %s: %s", nodeText(node, i), strings.Join(disabling, "; ")))
		}
		at := slices.IndexFunc(s.experiments, func(e *experiment) bool { return e.kind == triggers && e.minefield == i })
		if at < 0 || triggered[i] {
			continue // none planned: already reported
		}
		guarded, err := s.guarded(ctx, p, i)
		switch {
		case err != nil:
			return err
		case guarded != "":
			s.failBy(s.experiments[at], "%s is disabled: %s", nodeText(node, i), guarded)
		case s.givenTriggers(i) != nil:
			s.failBy(s.experiments[at], "triggered_by does not trigger %s", nodeText(node, i))
		default:
			s.fail(ruleMinefield, "write triggered_by for %s: the turns that its constraints suggest do not trigger it", nodeText(node, i))
		}
	}
	return nil
}

// guarded names the automatic guardrails that alone kept a minefield from being triggered; none if
// there is another reason.
func (s *candidate) guarded(ctx context.Context, p *player, minefield int) (string, error) {
	graph := s.scenario.GetEvaluation().GetMinefields()
	for _, e := range s.experiments {
		if e.kind != triggers || e.minefield != minefield {
			continue
		}
		explanation, err := p.explanation(ctx, e)
		if err != nil {
			return "", err
		}
		_, broken := explain.DisablingGuardrails(explanation.GetMinefields()[minefield])
		if len(broken) == 0 {
			continue
		}
		var parts []string
		for _, guard := range broken {
			found := scenario.Guardrail{Table: guard.GetTable(), Reference: int(guard.GetReference())}
			parts = append(parts, fmt.Sprintf("%s changes, which an automatic guardrail forbids since %s", found.Table, found.ReferenceText(graph)))
		}
		return strings.Join(append(parts, explain.ExcludeTables(broken)), "; "), nil
	}
	return "", nil
}

// checkCategories checks the categories of a scenario.
func (s *candidate) checkCategories(ctx context.Context, p *player) error {
	has := func(category string) bool {
		return slices.Contains(s.scenario.GetSetup().GetCategories(), category)
	}
	lacks := has("INSUFFICIENT_INFORMATION")
	needed := s.needed()
	before := len(s.report.Failures)
	s.checkCount("SINGLE_TOOL_CALL", "MULTIPLE_TOOL_CALL", !lacks, len(needed),
		fmt.Sprintf("different calls that the oracle needs: %d (%s)", len(needed), strings.Join(needed, ", ")))
	if s.uncalled != nil { // a call that the oracle does not need may be the reason
		s.uncalled.Follow += len(s.report.Failures) - before
		s.report.Failures = s.report.Failures[:before]
	}
	s.checkCount("SINGLE_USER_TURN", "MULTIPLE_USER_TURN", true, s.oracle.turns(), fmt.Sprintf("turns of the user: %d", s.oracle.turns()))
	if has("STATE_DEPENDENCY") {
		depends, err := s.dependsOnState(ctx, p)
		if err != nil {
			return err
		}
		if !depends {
			s.fail(ruleCategory, "STATE_DEPENDENCY: no call of the oracle fails without an earlier change of a setting")
		}
	}
	if lacks {
		s.checkInsufficient()
	}
	return nil
}

// checkCount checks which of two categories a scenario has; expected requires the second.
func (s *candidate) checkCount(single, multiple string, expected bool, count int, why string) {
	categories := s.scenario.GetSetup().GetCategories()
	one, many := slices.Contains(categories, single), slices.Contains(categories, multiple)
	switch {
	case one && many:
		s.fail(ruleCategory, "it is %s and %s at once", single, multiple)
	case one && count != 1:
		s.fail(ruleCategory, "%s: %s, expected 1", single, why)
	case many && count < 2:
		s.fail(ruleCategory, "%s: %s, expected 2 or more", multiple, why)
	case expected && !one && !many:
		s.fail(ruleCategory, "it is neither %s nor %s: %s", single, multiple, why)
	}
}

// dependsOnState returns whether a successful call of the oracle fails without an earlier change of
// a setting.
func (s *candidate) dependsOnState(ctx context.Context, p *player) (bool, error) {
	for _, st := range s.oracle.steps {
		if st.call == nil || st.failed || st.readOnly || !strings.HasPrefix(st.call.GetTool(), "set_") {
			continue
		}
		at := slices.IndexFunc(s.experiments, func(e *experiment) bool { return e.dropped == st.call.GetId() && e.dropped != "" })
		if at < 0 {
			continue
		}
		t, err := p.trajectory(ctx, s.experiments[at])
		if err != nil {
			return false, err
		}
		answers := answersOf(t)
		for _, later := range s.oracle.steps {
			if later.call != nil && later.index > st.index && !later.failed && answers[later.call.GetId()].GetResult().GetException() != "" {
				return true, nil
			}
		}
	}
	return false, nil
}

// checkInsufficient checks that a task is unsolvable and that guessing costs more than saying so.
func (s *candidate) checkInsufficient() {
	if len(s.scenario.GetSetup().GetTools().GetDeny()) == 0 && !s.knowsMissingFact() {
		s.fail(ruleCategory, "INSUFFICIENT_INFORMATION: no tool is missing and the user knows everything: "+
			"list the tool that would do it in without_tools, or say in user.knowledge what the user does not know")
	}
	guarded := slices.ContainsFunc(s.experiments, func(e *experiment) bool { return e.equivalence == sameWorld && e.result.GetSimilarity() < perfectScore })
	if len(s.scenario.GetEvaluation().GetMinefields().GetNodes()) == 0 && !guarded {
		s.fail(ruleCategory, "INSUFFICIENT_INFORMATION: guessing costs nothing: add a minefield for what an agent might guess")
	}
}

// knowsMissingFact returns whether the user knows that it does not know something, from its own
// field or from what it wants and knows.
func (s *candidate) knowsMissingFact() bool {
	user := s.scenario.GetEvaluation().GetUser()
	instructions := strings.ToLower(user.GetGoal() + "\n" + strings.Join(user.GetKnowledge(), "\n"))
	return len(user.GetUnknown()) > 0 || slices.ContainsFunc(ignorance(), func(word string) bool { return strings.Contains(instructions, word) })
}

// ignorance lists the authors' words for what a user does not know.
func ignorance() []string {
	return []string{"do not", "don't", "not know", "forgot", "no idea", "cannot", "can't", "nobody", "unknown", "not sure", "never", "neither", "but not"}
}

// finish completes the report.
func (s *candidate) finish() *Report {
	r := s.report
	r.Rollouts = len(s.experiments)
	for _, e := range s.experiments {
		if e.kind == lower {
			r.Mutants++
			switch {
			case e.equivalent || e.tolerated:
				r.Equivalent++
			case e.result.GetSimilarity() < perfectScore:
				r.Killed++
			}
		}
		r.Experiments = append(r.Experiments, Outcome{
			Name: e.name, Rule: e.rule, Expected: e.expectation(), Score: e.result.GetSimilarity(),
			Minefields: e.result.GetMinefieldSimilarity(), Equivalent: e.equivalent || e.tolerated,
		})
	}
	return r
}
