package execute

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/tool"
)

// group is a set of calls whose order decides whether any of them raises, together with the parts
// of the world that they see of each other. No call outside of it changes these parts.
type group struct {
	calls set
	// shaping are those of the calls that change the parts.
	shaping set
	parts   []tool.Part
}

// effects returns what the call depends on and what it changes. A call of no known tool does
// everything.
func (c *call) effects() tool.Effects {
	switch {
	case c.raises != nil:
		return tool.Effects{}
	case c.tool == nil:
		return everything()
	}
	effects := c.tool.EffectsOf(c.args)
	if len(c.sub) > 0 { // subscripts raise depending on the result
		effects.Raises = []tool.Part{{}}
	}
	return effects
}

func everything() tool.Effects {
	whole := []tool.Part{{}}
	return tool.Effects{Raises: whole, Shapes: whole, Changes: whole}
}

// analysis holds the effects of the calls of one batch.
type analysis struct {
	base    session.World
	effects []tool.Effects
	// changing are the calls that change anything.
	changing []int
	// ids are those that the batch may draw; nil until they are asked for. unknown says that it may
	// draw others too.
	ids     map[string]bool
	unknown bool
}

// groupsOf returns the groups of a batch of which no call raises in the given order. The calls in
// none of them raise in no order, and no call of a group sees what they change.
func groupsOf(calls []call, base session.World) []group {
	a := &analysis{base: base, effects: make([]tool.Effects, len(calls))}
	for i := range calls {
		a.effects[i] = calls[i].effects()
		if len(a.effects[i].Changes) > 0 {
			a.changing = append(a.changing, i)
		}
	}
	if len(a.changing) == 0 {
		return nil
	}
	a.widen()
	a.narrow()
	var groups []group
	for i := range a.effects {
		if !a.vulnerable(i) {
			continue
		}
		next := a.reach(i)
		groups = slices.DeleteFunc(groups, func(g group) bool {
			if g.calls&next.calls == 0 {
				return false
			}
			next.calls, next.shaping = next.calls|g.calls, next.shaping|g.shaping
			next.parts = append(next.parts, g.parts...)
			return true
		})
		groups = append(groups, next)
	}
	for i := range groups {
		groups[i].parts = a.seen(groups[i].parts)
	}
	return groups
}

// vulnerable says whether another call changes what decides whether the call raises.
func (a *analysis) vulnerable(i int) bool {
	for _, j := range a.changing {
		if j != i && a.overlap(a.effects[j].Changes, a.effects[i].Raises) {
			return true
		}
	}
	return false
}

// reach returns the group of one call: the parts that decide whether it raises, the calls that
// change these, the parts that shape those changes, the calls that change these, and so on.
func (a *analysis) reach(i int) group {
	g := group{calls: 1 << i, parts: slices.Clone(a.effects[i].Raises)}
	for grown := true; grown; {
		grown = false
		for _, j := range a.changing {
			if g.shaping.has(j) || !a.overlap(a.effects[j].Changes, g.parts) {
				continue
			}
			g.calls, g.shaping, grown = g.calls|1<<j, g.shaping|1<<j, true
			g.parts = append(g.parts, a.effects[j].Shapes...)
		}
	}
	return g
}

// seen returns those of the parts that some call changes, each once; the whole world stands for all
// others.
func (a *analysis) seen(parts []tool.Part) []tool.Part {
	var kept []tool.Part
	for _, part := range parts {
		if part.Whole() {
			return []tool.Part{part}
		}
		changes := func(j int) bool { return a.overlap(a.effects[j].Changes, []tool.Part{part}) }
		if !slices.Contains(kept, part) && slices.ContainsFunc(a.changing, changes) {
			kept = append(kept, part)
		}
	}
	return kept
}

// widen gives up on the calls that change a table from which all rows may go away although it had
// none before, as then other rows come back: see session.World.Clear. It takes that every row is
// named in a removal, and that the table either was empty at some time or is filled again by the
// batch.
func (a *analysis) widen() {
	for _, table := range a.base.Tables() {
		name := table.Name
		removed, adds := make(map[string]bool), false
		for _, part := range a.changes() {
			if table, id, ok := part.Removes(); ok && table == name {
				removed[id] = true
			}
			table, ok := part.Adds()
			adds = adds || ok && table == name
		}
		if len(removed) == 0 || !adds && !a.base.Blank(name) || survives(name, a.base.Rows(name), removed) {
			continue
		}
		for _, i := range a.changing {
			if slices.ContainsFunc(a.effects[i].Changes, func(p tool.Part) bool { return p.In(name) }) {
				a.effects[i] = everything()
			}
		}
	}
}

// survives says whether a row of a table is not among the removed ones.
func survives(name string, rows []session.Row, removed map[string]bool) bool {
	at := tool.IDColumn(name)
	return slices.ContainsFunc(rows, func(row session.Row) bool {
		id, ok := row[at].AsStr()
		return !ok || !removed[id]
	})
}

// narrow leaves out the changes that only take rows away where there are none and no other call
// puts any.
func (a *analysis) narrow() {
	for _, i := range a.changing {
		a.effects[i].Changes = slices.DeleteFunc(slices.Clone(a.effects[i].Changes), func(part tool.Part) bool {
			return part.Clears() && part.Empty(&a.base) && !slices.ContainsFunc(a.changing, func(j int) bool {
				return a.overlap(slices.DeleteFunc(slices.Clone(a.effects[j].Changes), tool.Part.Clears), []tool.Part{part})
			})
		})
	}
}

// changes returns what any call changes.
func (a *analysis) changes() []tool.Part {
	var parts []tool.Part
	for _, i := range a.changing {
		parts = append(parts, a.effects[i].Changes...)
	}
	return parts
}

// overlap says whether changes and parts have something in common.
func (a *analysis) overlap(changes, parts []tool.Part) bool {
	for _, change := range changes {
		for _, part := range parts {
			if change.Overlaps(part, a.drawn) {
				return true
			}
		}
	}
	return false
}

// drawn says whether the batch may draw an id.
func (a *analysis) drawn(id string) bool {
	if a.ids == nil {
		a.ids = make(map[string]bool)
		world := a.base
		for _, part := range a.changes() {
			if part.Whole() {
				a.unknown = true
			}
			if part.Draws() {
				a.ids[world.NewID()] = true
			}
		}
	}
	return a.unknown || a.ids[id]
}
