package cause

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolsandbox/toolsandbox/internal/evaluation"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

// findPremature finds calls before what they depend on: one that raised and succeeded after the
// agent had changed the world, or one that a milestone wants, made before the milestone before it.
func (c *classifier) findPremature() {
	for i, b := range c.batches {
		for _, one := range b.calls {
			if one.failed() && c.succeedsAfterChange(i, one) || one.succeeded() && c.precedesMilestone(one) {
				c.add(agent, busv1.CauseKind_CAUSE_KIND_PREMATURE_CALL, one.index, one.call.GetTool())
			}
		}
	}
}

// succeedsAfterChange reports whether a call succeeds later, after a batch in between has changed
// the world. A call that had nothing to do was not premature: the world already was as the later
// one makes it.
func (c *classifier) succeedsAfterChange(at int, one *invocation) bool {
	changed := false
	for _, b := range c.batches[at+1:] {
		for _, later := range b.calls {
			if later.sameAs(one) {
				return changed && later.succeeded() && !c.wasSo(c.batches[at], b)
			}
		}
		changed = changed || b.wrote()
	}
	return false
}

// wasSo reports whether what a batch made of a cell was so before or after an earlier one.
func (c *classifier) wasSo(earlier, b *batch) bool {
	return slices.ContainsFunc(c.changes(b), func(made change) bool {
		return proto.Equal(c.cell(made, earlier.calls[0].index), made.after) || proto.Equal(c.cell(made, earlier.end()), made.after)
	})
}

// precedesMilestone reports whether a milestone wants a call, and one before it that looks at a
// call or a table was reached later or never.
func (c *classifier) precedesMilestone(one *invocation) bool {
	for node, milestone := range c.graph.GetNodes() {
		if !c.isWanted(milestone, one) || c.match(node) >= 0 && c.match(node) <= one.answer.GetIndex() {
			continue
		}
		for _, edge := range c.graph.GetEdges() {
			before := c.graph.GetNodes()[edge.GetBefore()]
			if int(edge.GetAfter()) == node && actsOnWorld(before) && c.match(int(edge.GetBefore())) > one.answer.GetIndex() {
				return true
			}
		}
	}
	return false
}

// match returns the message of a reached milestone, -1 for another.
func (c *classifier) match(node int) int32 {
	for _, m := range c.result.GetMilestones() {
		if int(m.GetNode()) == node && m.GetSimilarity() > 0 {
			return m.GetIndex()
		}
	}
	return -1
}

// isWanted reports whether a milestone wants a call with such arguments.
func (c *classifier) isWanted(milestone *evaluationv1.Node, one *invocation) bool {
	return slices.ContainsFunc(milestone.GetConstraints(), func(constraint *evaluationv1.Constraint) bool {
		return slices.ContainsFunc(evaluation.WantedTraces(constraint), func(wanted evaluation.Trace) bool {
			if wanted.Tool != one.call.GetTool() {
				return false
			}
			for _, item := range wanted.Arguments.Items() {
				if value, ok := one.arguments.Get(item.Key); !ok || !value.Equal(item.Value) {
					return false
				}
			}
			return true
		})
	})
}

// actsOnWorld reports whether a milestone looks at a call or at a stored table.
func actsOnWorld(node *evaluationv1.Node) bool {
	return slices.ContainsFunc(node.GetConstraints(), func(c *evaluationv1.Constraint) bool {
		return c.GetTable() != sandboxTable || len(evaluation.WantedTraces(c)) > 0
	})
}
