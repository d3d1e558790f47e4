package score

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
)

// Explanation is a score with its explanation. All similarities are those of Score.
type Explanation struct {
	// Result is the score.
	Result Result
	// Milestones and Minefields have one entry per node, without its name.
	Milestones, Minefields []*evaluatorv1.NodeExplanation
}

// Explain scores a trajectory as Score does and explains each number. It is much slower than Score.
// It only reads its arguments and is safe for concurrent use.
func Explain(trajectory *Trajectory, milestones, minefields *Graph) Explanation {
	result := Score(trajectory, milestones, minefields)
	w := prepare(trajectory)
	w.packMeasures.lenient = true
	return Explanation{
		Result:     result,
		Milestones: w.explain(milestones, result.Milestones),
		Minefields: w.explain(minefields, result.Minefields),
	}
}

// explain explains the nodes of one graph.
func (p *preparedTrajectory) explain(g *Graph, result GraphResult) []*evaluatorv1.NodeExplanation {
	nodes := make([]*evaluatorv1.NodeExplanation, len(result.Matches))
	for i := range nodes {
		nodes[i] = &evaluatorv1.NodeExplanation{Node: int32(i)}
	}
	if p.first < 0 || len(nodes) == 0 {
		return nodes
	}
	x := &explainer{matcher: &matcher{
		preparedTrajectory: p, graph: g, candidateCount: len(p.trajectory.Messages) - p.first,
		cache: make([][][]float64, g.constraintCount), completions: make([][]int32, g.constraintCount),
	}}
	for i, match := range result.Matches {
		if match.Matched {
			x.assigned[i] = match.Index
			x.matched |= 1 << i
		}
	}
	for i, match := range result.Matches {
		if match.Matched {
			nodes[i].Match = x.node(i, match.Index)
		}
		if best := x.best(i, match); best >= 0 {
			nodes[i].Best = x.node(i, best)
		}
	}
	return nodes
}

// explainer explains the nodes of a matched graph.
type explainer struct {
	*matcher
	// matched is the matched nodes.
	matched uint64
	// brief omits the details that only readers need.
	brief bool
}

// node explains a node at a message.
func (x *explainer) node(i, index int) *evaluatorv1.NodeEvaluation {
	n := &x.graph.nodes[i]
	at := &evaluatorv1.NodeEvaluation{Index: int32(index), Similarity: x.matcher.nodeSimilarity(n, index)}
	for j := range n.constraints {
		at.Constraints = append(at.Constraints, x.constraint(&n.constraints[j], index))
	}
	for _, guard := range n.guards {
		at.Guardrails = append(at.Guardrails, x.guardrail(guard.Table, guard.Reference, index))
	}
	return at
}

// best returns the message for NodeExplanation.Best, −1 without one.
func (x *explainer) best(i int, match Match) int {
	from, ok := x.earliest(i)
	if !ok || match.Similarity == 1 {
		return -1
	}
	n := &x.graph.nodes[i]
	best, similarity := -1, match.Similarity
	for index := from; index < x.first+x.candidateCount; index++ {
		if reached := x.matcher.nodeSimilarity(n, index); reached > similarity {
			best, similarity = index, reached
		}
	}
	if best >= 0 || match.Similarity > 0 {
		return best
	}
	x.brief = true
	defer func() { x.brief = false }()
	nearest := 0.0
	if match.Matched {
		nearest = x.nearness(i, match.Index)
	}
	for index := from; index < x.first+x.candidateCount; index++ {
		if nearness := x.nearness(i, index); nearness > nearest {
			best, nearest = index, nearness
		}
	}
	return best
}

// earliest returns the first message at which a node can be evaluated. ok is false if one of its
// references was not matched.
func (x *explainer) earliest(i int) (from int, ok bool) {
	from = x.first
	for _, c := range x.graph.nodes[i].constraints {
		if c.measure == Snapshot || c.reference < 0 {
			continue
		}
		if x.matched&(1<<c.reference) == 0 {
			return 0, false
		}
		from = max(from, x.assigned[c.reference])
	}
	for _, guard := range x.graph.nodes[i].guards {
		if guard.Reference >= 0 && x.matched&(1<<guard.Reference) == 0 {
			return 0, false
		}
	}
	return from, true
}

// nearness ranks messages at which a node's similarity is 0 by their correct parts. All guardrails
// together count less than another constraint.
func (x *explainer) nearness(i, index int) float64 {
	at := x.node(i, index)
	sum, guarded := 0.0, 0.0
	for _, e := range slices.Concat(at.GetConstraints(), at.GetGuardrails()) {
		if e.GetMeasure() == Guardrail {
			guarded += e.GetSimilarity()
		} else {
			sum += constraintNearness(e)
		}
	}
	return sum + guarded/float64(4*(len(at.GetConstraints())+len(at.GetGuardrails())))
}

// constraintNearness is the similarity, or half the mean over the cells if the similarity is 0.
func constraintNearness(e *evaluatorv1.ConstraintExplanation) float64 {
	if e.GetSimilarity() > 0 || len(e.GetRows()) == 0 {
		return e.GetSimilarity()
	}
	sum, cells := 0.0, 0
	for _, row := range e.GetRows() {
		for _, cell := range row.GetCells() {
			if trace := cell.GetTrace(); trace == nil || trace.GetMatches() {
				sum += cell.GetSimilarity()
			} else {
				sum += traceNearness(trace)
			}
		}
		cells += max(1, len(row.GetCells()))
	}
	return sum / float64(2*cells)
}

// traceNearness is at least 0.5 for a call of the right tool, and increases with the matching
// arguments.
func traceNearness(e *evaluatorv1.TraceComparison) float64 {
	if e.GetTool() != e.GetFoundTool() {
		return 0
	}
	fit := 0
	for _, argument := range e.GetArguments() {
		if argument.GetMatches() {
			fit++
		}
	}
	return 0.5 + 0.5*float64(fit)/float64(len(e.GetArguments())+1)
}

// guardrail explains a guardrail.
func (x *explainer) guardrail(t int, reference, index int) *evaluatorv1.ConstraintExplanation {
	since := x.resolve(reference)
	e := &evaluatorv1.ConstraintExplanation{
		Table: x.schema.Tables()[t].Name, Measure: Guardrail, Reference: proto.Int32(int32(reference)),
		ReferenceIndex: proto.Int32(int32(since)), Similarity: indicator(x.equal(t, index, since)),
	}
	if e.GetSimilarity() == 1 || x.brief {
		return e
	}
	if e.Changes = x.changes(t, since, index, false); len(e.GetChanges()) == 0 {
		e.Problem = "the same rows stand in another order"
	}
	return e
}

// constraint explains a constraint at a message.
func (x *explainer) constraint(c *constraint, index int) *evaluatorv1.ConstraintExplanation {
	if c.measure == Guardrail {
		return x.guardrail(c.table, c.reference, index)
	}
	e := &evaluatorv1.ConstraintExplanation{Table: x.schema.Tables()[c.table].Name, Measure: c.measure, Similarity: x.matcher.constraintSimilarity(c, index)}
	if c.measure != Snapshot {
		e.Reference, e.ReferenceIndex = proto.Int32(int32(c.reference)), proto.Int32(int32(x.resolve(c.reference)))
	}
	switch {
	case c.packMeasure != nil:
		x.packRows(e, c, index)
	case c.table != sandbox:
		x.storedTable(e, c, index)
	case len(c.target) != 1:
		e.Problem = fmt.Sprintf("a message is compared with 1 row, %d are wanted", len(c.target))
	case c.measure == ToolTraceDependant:
		x.completedMessage(e, c, index)
	default:
		e.Rows = []*evaluatorv1.RowExplanation{x.message(c, index, completion{fillColumn: -1})}
	}
	return e
}
