package prove

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

const (
	// perfectScore is the score of a solution, up to rounding.
	perfectScore = 1 - 1e-9
	// extraMessages is the number of messages that a fault may add within the scenario's limit.
	extraMessages = 10
)

// kind is the claim of an experiment.
type kind int

const (
	// solves: the score is 1 and no minefield matches.
	solves kind = iota
	// idle: the score is at most a limit.
	idle
	// lower: the score is below 1.
	lower
	// triggers: a minefield is triggered; one of its experiments suffices.
	triggers
	// observed: no claim; the outcome serves another check.
	observed
)

// equivalence is how an equivalent fault's outcome must resemble the oracle's.
type equivalence int

const (
	// neverEquivalent: the fault is a text, and never equivalent.
	neverEquivalent equivalence = iota
	// sameWorld: the final tables are equal.
	sameWorld
	// sameAnswers: the final tables and the tools' answers are equal, except answers of dropped
	// calls.
	sameAnswers
)

// experiment is one rollout and its claim.
type experiment struct {
	name, rule  string
	of          string // the scenario's name
	kind        kind
	scenario    *scenariov1.Scenario
	unhelpful   bool    // the agent that never helps plays, not the script
	limit       float64 // for idle
	minefield   int     // for triggers
	equivalence equivalence
	dropped     string // the id of the dropped call, if any
	fault       string // its fault, for people
	remedy      string // advice for authors if the fault does not count
	step        *step  // the oracle's step that is wrong or missing, if any
	missing     bool   // the step is missing
	part        string // what of the solution is wrong, an argument or a text
	wrong       string // the wrong value as JSON, which a measure of the pack's own may accept

	result     *busv1.Result // nil until played
	equivalent bool          // a mutant without a difference
	tolerated  bool          // a measure of the pack's own accepts it
}

// solved returns whether the rollout counts as a solution.
func (e *experiment) solved() bool {
	return e.result.GetSimilarity() >= perfectScore && e.result.GetMinefieldSimilarity() == 0
}

// triggered returns whether the rollout triggered the experiment's minefield.
func (e *experiment) triggered() bool {
	for _, match := range e.result.GetMinefields() {
		if int(match.GetNode()) == e.minefield && match.GetSimilarity() > 0 {
			return e.result.GetSimilarity() == 0
		}
	}
	return false
}

// expectation describes the claim in words.
func (e *experiment) expectation() string {
	switch e.kind {
	case solves:
		return "1"
	case idle:
		return "at most " + strconv.FormatFloat(e.limit, 'f', -1, 64)
	case lower:
		return "below 1"
	case triggers:
		return "0 by the minefield"
	case observed:
		return "anything"
	default:
		return fmt.Sprintf("kind(%d)", int(e.kind))
	}
}

// add plans an experiment with its own scenario.
func (s *candidate) add(e *experiment, played *scenariov1.Scenario, script []*worldv1.ScriptTurn) *experiment {
	e.of = s.name()
	e.scenario = &scenariov1.Scenario{Setup: proto.CloneOf(played.GetSetup()), Evaluation: played.GetEvaluation()}
	setup := e.scenario.GetSetup()
	// Names identify rollouts. No player sees them.
	setup.Name = "proof-" + strconv.Itoa(len(s.experiments)) + "." + s.report.digest()
	setup.OracleScript = script
	s.experiments = append(s.experiments, e)
	return e
}

// addMutant plans an experiment whose script differs from the oracle's solution, unless there is an
// equal one.
func (s *candidate) addMutant(e *experiment, script []*worldv1.ScriptTurn) *experiment {
	key := strconv.Itoa(int(e.kind))
	for _, turn := range script {
		key += "|" + turn.GetSay()
		for _, call := range turn.GetCalls() {
			key += "|" + call.GetId() + " " + call.GetTool() + call.GetArgumentsJson()
		}
	}
	if s.known == nil {
		s.known = make(map[string]bool)
	}
	if s.known[key] {
		return nil
	}
	s.known[key] = true
	s.add(e, s.scenario, script)
	e.scenario.Setup.MaxMessages += extraMessages
	return e
}

// planOracle plans the experiments that precede all faults.
func (s *candidate) planOracle() {
	script := s.scenario.GetSetup().GetOracleScript()
	for _, variant := range s.variants {
		s.add(&experiment{name: "oracle" + variant.GetSetup().GetName()[len(s.name()):], rule: ruleOracle, kind: solves}, variant, script)
	}
	for i, order := range s.scenario.GetProof().GetOrders() {
		for _, variant := range s.variants {
			name := fmt.Sprintf("oracle in order %d%s", i+1, variant.GetSetup().GetName()[len(s.name()):])
			s.add(&experiment{name: name, rule: ruleOracle, kind: solves}, variant, permuted(script, order))
		}
	}
	limit := s.scenario.GetProof().GetMaxIdleScore()
	s.add(&experiment{name: "unhelpful agent", rule: ruleIdle, kind: idle, limit: limit, unhelpful: true}, s.scenario, nil)
	s.add(&experiment{name: "agent that does nothing", rule: ruleIdle, kind: idle, limit: limit}, s.scenario, nil)
	s.add(&experiment{name: "agent that says nothing", rule: ruleIdle, kind: idle, limit: limit}, s.scenario,
		[]*worldv1.ScriptTurn{{Say: "…"}})
}

// permuted returns a script in another order.
func permuted(script []*worldv1.ScriptTurn, order *scenariov1.Order) []*worldv1.ScriptTurn {
	var turns []*worldv1.ScriptTurn
	for _, turn := range order.GetTurns() {
		turns = append(turns, script[turn])
	}
	return turns
}
