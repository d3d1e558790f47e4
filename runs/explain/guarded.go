package explain

import (
	"slices"

	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
	evaluatorv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluator/v1"
	"github.com/toolsandbox/toolsandbox/scenario"
)

// DisablingGuardrails returns the automatic guardrails that alone disable a node at a message where
// all its constraints hold to some degree, and that message; none if there is another reason.
func DisablingGuardrails(node *evaluatorv1.NodeExplanation) (at *evaluatorv1.NodeEvaluation, broken []*evaluatorv1.ConstraintExplanation) {
	for _, at := range []*evaluatorv1.NodeEvaluation{node.GetMatch(), node.GetBest()} {
		if at == nil || at.GetSimilarity() > 0 || slices.ContainsFunc(at.GetConstraints(), isZero) {
			continue
		}
		broken := slices.DeleteFunc(slices.Clone(at.GetGuardrails()), func(c *evaluatorv1.ConstraintExplanation) bool { return !isZero(c) })
		if len(broken) > 0 {
			return at, broken
		}
	}
	return nil, nil
}

func isZero(c *evaluatorv1.ConstraintExplanation) bool { return c.GetSimilarity() == 0 }

// ExcludeTables returns what to write so that the tables of broken guardrails are not guarded.
func ExcludeTables(broken []*evaluatorv1.ConstraintExplanation) string {
	var tables []string
	for _, guard := range broken {
		if !slices.Contains(tables, guard.GetTable()) {
			tables = append(tables, guard.GetTable())
		}
	}
	return scenario.ExcludeHint(tables)
}

// guarded prints why guardrails alone keep a minefield from being triggered, or nothing.
func (p *printer) guarded(graph *evaluationv1.Graph, node *evaluatorv1.NodeExplanation) {
	at, broken := DisablingGuardrails(node)
	if at == nil {
		return
	}
	p.inside(func() {
		p.line("its constraints hold at %s", p.message(at.GetIndex()))
		p.line("but automatic guardrails disable it there:")
		for _, guard := range broken {
			p.constraint(graph, guard)
		}
		p.line("%s", ExcludeTables(broken))
	})
}
