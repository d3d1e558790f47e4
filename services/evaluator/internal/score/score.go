package score

import (
	"cmp"
	"fmt"
)

// Result is the score of one trajectory.
type Result struct {
	// Milestones and Minefields are the results of the two graphs.
	Milestones, Minefields GraphResult
	// Similarity is the score: the milestones' similarity, or 0 if the minefields' is not 0.
	Similarity float64
	// TurnCount is the number of messages that count as turns.
	TurnCount int
	// Err is ErrWork if a graph could not be matched, and measure.ErrSteps or a *measure.Error if a
	// pack's measure failed. The similarities are then meaningless.
	Err error
}

// GraphResult is the best matching of one graph.
type GraphResult struct {
	// Similarity is the mean over all nodes, 0 to 1.
	Similarity float64
	// Matches has one entry per node.
	Matches []Match
}

// Match is the match of one node.
type Match struct {
	// Matched is false if the node took no part; the other fields are then zero.
	Matched bool
	// Index is the matched message.
	Index int
	// Similarity is the node's similarity there, 0 to 1.
	Similarity float64
	// Constraints are the similarities of the node's constraints at the matched message, in the
	// author's order.
	Constraints []float64
	// Guardrails are the similarities, 0 or 1, of the automatic guardrails in the order of
	// Graph.Guardrails.
	Guardrails []float64
}

// Score matches both graphs with a trajectory. A graph that is nil or has no nodes has similarity 1
// as milestones and 0 as minefields. Score only reads its arguments and is safe for concurrent use.
func Score(trajectory *Trajectory, milestones, minefields *Graph) Result {
	w := prepare(trajectory)
	w.scratch = newScratch()
	defer w.scratch.release()
	result := Result{TurnCount: trajectory.turns()}
	var failed [2]error
	result.Milestones, failed[0] = w.score(milestones, "milestones", 1)
	result.Minefields, failed[1] = w.score(minefields, "minefields", 0)
	result.Err = cmp.Or(w.packMeasures.failure, failed[0], failed[1])
	if result.Minefields.Similarity == 0 {
		result.Similarity = result.Milestones.Similarity
	}
	return result
}

// score matches one graph. name is its name for errors, empty the similarity of a graph without
// nodes.
func (p *preparedTrajectory) score(g *Graph, name string, empty float64) (GraphResult, error) {
	if g == nil || len(g.nodes) == 0 {
		return GraphResult{Similarity: empty}, nil
	}
	result := GraphResult{Matches: make([]Match, len(g.nodes))}
	if p.first < 0 {
		return result, nil
	}
	m := newMatcher(p, g)
	indices, err := m.match()
	if err != nil {
		return result, fmt.Errorf("%s: %w", name, err)
	}
	sum := 0.0
	for i, index := range indices {
		if index < 0 {
			continue
		}
		result.Matches[i] = m.explain(i, index)
		sum += result.Matches[i].Similarity
	}
	if m.work > maxWork { // too little memory for the details of the matches
		return result, fmt.Errorf("%s: %w", name, m.workError())
	}
	result.Similarity = sum / float64(len(g.nodes))
	return result, nil
}

// explain returns the match of a node with its similarities.
func (m *matcher) explain(i, index int) Match {
	n := &m.graph.nodes[i]
	similarities := make([]float64, len(n.constraints)+len(n.guards))
	match := Match{
		Matched: true, Index: index, Similarity: m.nodeSimilarity(n, index),
		Constraints: similarities[:len(n.constraints):len(n.constraints)],
		Guardrails:  similarities[len(n.constraints):],
	}
	for j := range n.constraints {
		match.Constraints[j] = m.constraintSimilarity(&n.constraints[j], index)
	}
	for j, guard := range n.guards {
		match.Guardrails[j] = indicator(m.equal(guard.Table, index, m.resolve(guard.Reference)))
	}
	return match
}
