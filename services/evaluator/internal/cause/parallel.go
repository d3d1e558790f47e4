package cause

import (
	"slices"
	"strings"

	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// findParallel finds calls of one turn of which one needed another: an order of them raises that is
// not the given one, or a call raised for want of what its neighbour changed, or was made again
// after the turn with success, or with what its neighbour returned.
func (c *classifier) findParallel() {
	for i, b := range c.batches {
		if len(b.calls) < 2 {
			continue
		}
		for _, one := range b.calls {
			if b.permuted && one.failed() || c.lacksNeighbour(b, one) || c.repeatedAfter(i, one) || c.needed[one] {
				c.add(agent, busv1.CauseKind_CAUSE_KIND_WRONG_PARALLEL_CALLS, one.index, one.call.GetTool())
				break
			}
		}
	}
}

// lacksNeighbour reports whether a call raised an exception that names a column which the batch
// changed.
func (c *classifier) lacksNeighbour(b *batch, one *invocation) bool {
	if !one.failed() || !b.wrote() {
		return false
	}
	_, text := one.exception()
	text = strings.ToLower(text)
	return slices.ContainsFunc(c.changes(b), func(changed change) bool {
		table, _ := c.world.schema.Table(changed.table)
		return changed.cell < len(table.Columns) && strings.Contains(text, strings.ReplaceAll(table.Columns[changed.cell].Name, "_", " "))
	})
}

// repeatedAfter reports whether a call that raised in a batch which changed the world succeeds
// later, without another change by the agent in between.
func (c *classifier) repeatedAfter(at int, one *invocation) bool {
	if !one.failed() || !c.batches[at].wrote() {
		return false
	}
	for _, b := range c.batches[at+1:] {
		if slices.ContainsFunc(b.calls, func(later *invocation) bool { return later.succeeded() && later.sameAs(one) }) {
			return true
		}
		if b.wrote() {
			return false
		}
	}
	return false
}
