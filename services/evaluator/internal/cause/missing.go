package cause

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/world"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	evaluationv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/evaluation/v1"
)

const sandboxTable = world.Sandbox

// findMissing finds calls of a task that lacks a tool or a fact: they trigger a minefield, or they
// change a table that no milestone expects to change.
func (c *classifier) findMissing() {
	if !c.world.insufficient {
		return
	}
	expected := make(map[string]bool)
	for _, node := range c.graph.GetNodes() {
		for _, constraint := range node.GetConstraints() {
			if constraint.GetMeasure() != evaluationv1.SnapshotMeasure_SNAPSHOT_MEASURE_GUARDRAIL {
				expected[constraint.GetTable()] = true
			}
		}
	}
	for _, b := range c.batches {
		mined := slices.ContainsFunc(b.calls, c.triggersMinefield)
		changed := slices.ContainsFunc(b.changed, func(table string) bool { return !expected[table] })
		if mined || changed {
			c.add(agent, busv1.CauseKind_CAUSE_KIND_INFORMATION_MISSING, b.calls[0].index, b.calls[0].call.GetTool())
		}
	}
}

// triggersMinefield reports whether a minefield matches at the answer of a call.
func (c *classifier) triggersMinefield(one *invocation) bool {
	for _, match := range c.result.GetMinefields() {
		if one.answer != nil && match.GetSimilarity() > 0 && match.GetIndex() == one.answer.GetIndex() {
			return true
		}
	}
	return false
}
