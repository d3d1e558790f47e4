package cause

import (
	"github.com/toolsandbox/toolsandbox/internal/provenance"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
	worldv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/world/v1"
)

// conversation returns what the agent knows before the first message.
func (c *classifier) conversation() *provenance.Conversation {
	return provenance.New(provenance.Config{Zone: c.world.zone, Names: c.world.names})
}

// findGuesses finds arguments that nothing has told the agent. The same value counts once.
func (c *classifier) findGuesses() {
	told := c.conversation()
	seen := make(map[string]bool)
	next := 0
	for _, m := range c.messages {
		if next < len(c.batches) && c.batches[next].calls[0].index == m.GetIndex() {
			b := c.batches[next]
			next++
			for _, one := range b.calls {
				for _, argument := range told.Untold(one.call, b.wrote()) {
					if !seen[argument.Value] {
						c.add(busv1.CauseKind_CAUSE_KIND_GUESSED_ARGUMENT, one.index, one.call.GetTool()+" "+argument.Name+" "+argument.Value)
					}
					seen[argument.Value] = true
				}
			}
		}
		told.Learn(m)
	}
}

// becomesTold returns whether the answers of a batch told an argument of a later call.
func (c *classifier) becomesTold(b *batch, later *worldv1.ToolCall) bool {
	told := c.conversation()
	untold := func() map[string]bool {
		found := make(map[string]bool)
		for _, argument := range told.Untold(later, true) {
			found[argument.Name] = true
		}
		return found
	}
	first := b.calls[0].index
	for _, m := range c.messages {
		if m.GetIndex() < first {
			told.Learn(m)
		}
	}
	before := untold()
	for _, one := range b.calls {
		if one.succeeded() {
			told.Learn(one.answer)
		}
	}
	return len(untold()) < len(before)
}
