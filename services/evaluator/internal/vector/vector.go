// Package vector reads the conformance vectors of the evaluator, JSON texts with trajectories and
// graphs and what the original program scored, and compares scores with them.
package vector

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	"github.com/toolsandbox/toolsandbox/services/evaluator/internal/score"
)

// Graph is a graph as a vector gives it.
type Graph struct {
	// Definition is what the author wrote.
	Definition score.Definition
	// Guardrails are those that the original derived, per node, by reference and table.
	Guardrails [][]score.AutomaticGuardrail
}

// Want is the score that the original printed.
type Want struct {
	// Raised is the exception that aborted the rollout, "" if none did. Such a rollout is not
	// scored.
	Raised string
	// Milestone, Minefield and Similarity are similarities, 0 to 1.
	Milestone, Minefield, Similarity float64
	// TurnCount counts messages.
	TurnCount int
	// Milestones and Minefields map matched nodes to messages.
	Milestones, Minefields map[int]Match
}

// Match is where a node was matched.
type Match struct {
	// Index is the message.
	Index int
	// Similarity is the node's similarity there.
	Similarity float64
}

// Case is one trajectory with its graphs and its score.
type Case struct {
	// Name says which case it is.
	Name string
	// Trajectory is what happened.
	Trajectory *score.Trajectory
	// Milestones and Minefields are the graphs.
	Milestones, Minefields Graph
	// Want is the expected score.
	Want Want
}

// evaluation is one line of the evaluation vectors.
type evaluation struct {
	Messages               []message
	Tables                 map[string][]version
	Milestones, Minefields graph
	Result                 result
}

// Evaluation reads one line of the evaluation vectors.
func Evaluation(raw []byte) (*Case, error) {
	var source evaluation
	if err := json.Unmarshal(raw, &source); err != nil {
		return nil, fmt.Errorf("read evaluation: %w", err)
	}
	c := &Case{Trajectory: new(score.Trajectory)}
	if err := fill(c.Trajectory, source.Messages, source.Tables); err != nil {
		return nil, fmt.Errorf("read evaluation: %w", err)
	}
	var err error
	if c.Milestones, err = source.Milestones.decode("milestones"); err != nil {
		return nil, fmt.Errorf("read evaluation: %w", err)
	}
	if c.Minefields, err = source.Minefields.decode("minefields"); err != nil {
		return nil, fmt.Errorf("read evaluation: %w", err)
	}
	if c.Want, err = source.Result.decode(); err != nil {
		return nil, fmt.Errorf("read evaluation: %w", err)
	}
	return c, nil
}

// Scenarios are the scenarios that trajectory vectors refer to.
type Scenarios struct{ byName map[string]*scenario }

// scenario is one scenario as far as scoring needs it.
type scenario struct {
	Name                   string
	Messages               []message
	Tables                 map[string][]version
	Milestones, Minefields graph
}

// ReadScenarios reads the scenario vectors.
func ReadScenarios(r io.Reader) (*Scenarios, error) {
	var source struct{ Scenarios []*scenario }
	if err := json.NewDecoder(r).Decode(&source); err != nil {
		return nil, fmt.Errorf("read scenarios: %w", err)
	}
	s := &Scenarios{byName: make(map[string]*scenario, len(source.Scenarios))}
	for _, entry := range source.Scenarios {
		s.byName[entry.Name] = entry
	}
	return s, nil
}

// Names returns the names of all scenarios, sorted.
func (s *Scenarios) Names() []string {
	names := make([]string, 0, len(s.byName))
	for name := range s.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Graphs returns the milestones and minefields of a scenario.
func (s *Scenarios) Graphs(name string) (milestones, minefields Graph, err error) {
	source, ok := s.byName[name]
	if !ok {
		return Graph{}, Graph{}, fmt.Errorf("read graphs: no scenario %q", name)
	}
	if milestones, err = source.Milestones.decode("milestones"); err != nil {
		return Graph{}, Graph{}, fmt.Errorf("read graphs of %s: %w", name, err)
	}
	if minefields, err = source.Minefields.decode("minefields"); err != nil {
		return Graph{}, Graph{}, fmt.Errorf("read graphs of %s: %w", name, err)
	}
	return milestones, minefields, nil
}

// Trajectory reads one line of the trajectory vectors: the scenario's start, then what was
// recorded.
func (s *Scenarios) Trajectory(raw []byte) (*Case, error) {
	var source struct {
		Scenario, Variant, Label string
		Messages                 []message
		Versions                 map[string][]version
		Result                   result
	}
	if err := json.Unmarshal(raw, &source); err != nil {
		return nil, fmt.Errorf("read trajectory: %w", err)
	}
	c := &Case{Name: source.Label + " " + source.Scenario + source.Variant, Trajectory: new(score.Trajectory)}
	var err error
	if c.Milestones, c.Minefields, err = s.Graphs(source.Scenario); err != nil {
		return nil, fmt.Errorf("read trajectory: %w", err)
	}
	start := s.byName[source.Scenario]
	if err := fill(c.Trajectory, start.Messages, start.Tables); err != nil {
		return nil, fmt.Errorf("read trajectory %s: start: %w", c.Name, err)
	}
	if err := fill(c.Trajectory, source.Messages, source.Versions); err != nil {
		return nil, fmt.Errorf("read trajectory %s: %w", c.Name, err)
	}
	if c.Want, err = source.Result.decode(); err != nil {
		return nil, fmt.Errorf("read trajectory %s: %w", c.Name, err)
	}
	return c, nil
}

// tolerance is how far similarities may lie apart.
const tolerance = 1e-6

// Compare returns one line per difference between a result and what is wanted.
func Compare(got *score.Result, want *Want) []string {
	var differences []string
	number := func(name string, got, want float64) {
		if math.IsNaN(got) || math.Abs(got-want) > tolerance {
			differences = append(differences, fmt.Sprintf("%s: got %v, want %v", name, got, want))
		}
	}
	number("milestone_similarity", got.Milestones.Similarity, want.Milestone)
	number("minefield_similarity", got.Minefields.Similarity, want.Minefield)
	number("similarity", got.Similarity, want.Similarity)
	number("turn_count", float64(got.TurnCount), float64(want.TurnCount))
	mapping := func(name string, got []score.Match, want map[int]Match) {
		for node, match := range got {
			wanted, ok := want[node]
			place := fmt.Sprintf("%s[%d]", name, node)
			if match.Matched != ok || match.Index != wanted.Index {
				differences = append(differences, fmt.Sprintf("%s: got message %d (matched %v), want %d (matched %v)",
					place, match.Index, match.Matched, wanted.Index, ok))
			}
			number(place, match.Similarity, wanted.Similarity)
		}
		if len(want) > len(got) {
			differences = append(differences, fmt.Sprintf("%s: got %d nodes, want %d", name, len(got), len(want)))
		}
	}
	mapping("milestone_mapping", got.Milestones.Matches, want.Milestones)
	mapping("minefield_mapping", got.Minefields.Matches, want.Minefields)
	return differences
}

// CompareGuardrails returns one line per node of a compiled graph whose guardrails differ from the
// wanted ones.
func CompareGuardrails(got *score.Graph, want [][]score.AutomaticGuardrail) []string {
	var differences []string
	for node := range want {
		sorted := slices.Clone(want[node])
		slices.SortFunc(sorted, func(a, b score.AutomaticGuardrail) int {
			return cmp.Or(cmp.Compare(a.Reference, b.Reference), cmp.Compare(world.Builtin().Place(a.Table), world.Builtin().Place(b.Table)))
		})
		if guards := got.Guardrails(node); !slices.Equal(guards, sorted) {
			differences = append(differences, fmt.Sprintf("guardrails of node %d: got %v, want %v", node, guards, sorted))
		}
	}
	return differences
}
