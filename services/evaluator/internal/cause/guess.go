package cause

import (
	"github.com/toolsandbox/toolsandbox/internal/provenance"
	busv1 "github.com/toolsandbox/toolsandbox/proto/gen/toolsandbox/bus/v1"
)

// findGuesses finds arguments that nothing has told the agent. The same value counts once. It also
// finds the calls whose guesses the answers of the same turn would have told.
func (c *classifier) findGuesses() {
	told := provenance.New(provenance.Config{Zone: c.world.zone, Names: c.world.names})
	seen := make(map[string]bool)
	read := 0
	learn := func(end int32) {
		for ; read < len(c.messages) && c.messages[read].GetIndex() < end; read++ {
			told.Learn(c.messages[read])
		}
	}
	for i, b := range c.batches {
		learn(b.calls[0].index)
		untold := make(map[*invocation]int) // arguments of the later calls that correct guesses
		for _, one := range b.calls {
			guesses := told.Untold(one.call, b.wrote())
			for _, argument := range guesses {
				if !seen[argument.Value] {
					c.add(agent, busv1.CauseKind_CAUSE_KIND_GUESSED_ARGUMENT, one.index, one.call.GetTool()+" "+argument.Name+" "+argument.Value)
				}
				seen[argument.Value] = true
			}
			if later := c.correction(i, one); later != nil && len(guesses) > 0 {
				untold[one] = len(told.Untold(later.call, true))
			}
		}
		learn(b.end())
		for one, before := range untold {
			c.needed[one] = len(told.Untold(c.correction(i, one).call, true)) < before
		}
	}
}

// correction returns the next successful call of the same tool with other values of the same
// arguments, if a call stands in a turn with others and did not do its work; nil without one.
func (c *classifier) correction(at int, one *invocation) *invocation {
	if len(c.batches[at].calls) < 2 || one.succeeded() && c.batches[at].wrote() {
		return nil
	}
	for _, b := range c.batches[at+1:] {
		for _, later := range b.calls {
			if later.call.GetTool() == one.call.GetTool() && later.succeeded() && !later.sameAs(one) {
				if sameKeys(one, later) {
					return later
				}
				return nil
			}
		}
	}
	return nil
}

// sameKeys reports whether two calls give the same arguments.
func sameKeys(a, b *invocation) bool {
	if a.arguments.Len() != b.arguments.Len() {
		return false
	}
	for _, item := range a.arguments.Items() {
		if _, ok := b.arguments.Get(item.Key); !ok {
			return false
		}
	}
	return true
}
