package results

import (
	"google.golang.org/protobuf/proto"

	agentgwv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/agentgw/v1"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	scenariov1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/scenario/v1"
	setupv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/setup/v1"
)

// Shared keeps one copy of what the results of many rollouts have in common, so that a run of
// 100,000 rollouts fits into memory. It is not safe for concurrent use. The zero value is not
// valid: use NewShared.
type Shared struct {
	scenarios map[string]*scenariov1.Scenario
	players   map[string]*agentgwv1.Player // by name
	texts     map[string]string
	ends      map[string]*busv1.End // by their encoding, as the next two
	matches   map[string]*busv1.Match
	causes    map[string]*busv1.Cause
	encoded   []byte
}

// NewShared returns a Shared that knows nothing.
func NewShared() *Shared {
	return &Shared{
		scenarios: make(map[string]*scenariov1.Scenario), players: make(map[string]*agentgwv1.Player), texts: make(map[string]string),
		ends: make(map[string]*busv1.End), matches: make(map[string]*busv1.Match), causes: make(map[string]*busv1.Cause),
	}
}

func (s *Shared) text(text string) string {
	if known, ok := s.texts[text]; ok {
		return known
	}
	s.texts[text] = text
	return text
}

// player returns an equal player that was seen before, or the given one.
func (s *Shared) player(p *agentgwv1.Player) *agentgwv1.Player {
	known := s.players[p.GetName()]
	if known == nil {
		known, s.players[p.GetName()] = p, p
	}
	if proto.Equal(known, p) {
		return known
	}
	return p
}

// Result replaces the parts of a result by equal ones of earlier results. Nobody may change them
// afterwards.
func (s *Shared) Result(result *busv1.Result) {
	if r := result.GetRollout(); r != nil {
		r.Agent, r.User = s.player(r.GetAgent()), s.player(r.GetUser())
		for _, text := range []*string{&r.SweepId, &r.Scenario, &r.SetupDigest, &r.EvaluationDigest, &r.Team} {
			*text = s.text(*text)
		}
	}
	if result.GetEnd() != nil {
		result.End = equal(s, s.ends, result.GetEnd())
	}
	for _, all := range [][]*busv1.Match{result.GetMilestones(), result.GetMinefields()} {
		for i := range all {
			all[i] = equal(s, s.matches, all[i])
		}
	}
	for i := range result.GetCauses() {
		result.Causes[i] = equal(s, s.causes, result.Causes[i])
	}
}

// equal returns an equal message that was seen before, or the given one.
func equal[M proto.Message](s *Shared, seen map[string]M, m M) M {
	encoded, err := proto.MarshalOptions{}.MarshalAppend(s.encoded[:0], m)
	if err != nil {
		return m
	}
	s.encoded = encoded
	if known, ok := seen[string(encoded)]; ok {
		return known
	}
	seen[string(encoded)] = m
	return m
}

// scenario returns what rows of rollouts know of a scenario: name, categories and the sizes of
// graphs.
func (s *Shared) scenario(r rolloutRow) *scenariov1.Scenario {
	if s.scenarios[r.Scenario] == nil {
		graph := func(nodes int32) *evaluationv1.Graph {
			return &evaluationv1.Graph{Nodes: make([]*evaluationv1.Node, max(nodes, 0))}
		}
		s.scenarios[r.Scenario] = &scenariov1.Scenario{
			Setup:      &setupv1.Setup{Name: r.Scenario, Categories: r.Categories},
			Evaluation: &evaluationv1.Evaluation{Milestones: graph(r.Milestones), Minefields: graph(r.Minefields)},
		}
	}
	return s.scenarios[r.Scenario]
}
