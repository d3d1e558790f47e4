package executor

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// group is a set of calls that get into each other's way, together with what they ask of the world.
// No call outside of it changes the answers.
type group struct {
	calls set
	// shaping are those of the calls that change the answers.
	shaping set
	reads   []session.Read
	// loose says that calls of the group draw ids, and that which ids they get depends on calls
	// that do not shape the answers.
	loose bool
}

// analysis is what follows from the effects that calls were seen to have.
type analysis struct {
	conflicts *session.Conflicts
	groups    []group
	// draws is how many ids the batch draws at most.
	draws int64
}

// same says whether nothing follows from more effects that did not follow before.
func (a *analysis) same(b *analysis) bool {
	return a.draws == b.draws && a.conflicts.Same(b.conflicts) && slices.EqualFunc(a.groups, b.groups, func(g, h group) bool {
		return g.calls == h.calls && g.shaping == h.shaping && g.loose == h.loose && slices.EqualFunc(g.reads, h.reads, session.Read.Same)
	})
}

// maxIDs bounds how many ids are tried for each run of a call.
const maxIDs = 256

// analyse groups the calls by the effects that they were seen to have.
func (s *search) analyse() *analysis {
	a := &analysis{conflicts: session.NewConflicts(&s.base, s.effects)}
	var drawers set
	for i, effects := range s.effects {
		if a.draws += int64(effects.Draws); effects.Draws > 0 {
			drawers |= 1 << i
		}
	}
	s.counted = s.counted || a.draws > maxIDs
	for i := range s.calls {
		next := s.reach(a.conflicts, i)
		a.groups = slices.DeleteFunc(a.groups, func(g group) bool {
			if g.calls&next.calls == 0 {
				return false
			}
			next.join(g)
			return true
		})
		a.groups = append(a.groups, next)
	}
	for i := range a.groups {
		g := &a.groups[i]
		if g.calls&drawers != 0 {
			if g.loose = drawers&(drawers-1) != 0 && drawers&^g.shaping != 0; !g.loose {
				session.AddReads(&g.reads, []session.Read{session.Drawing()})
			}
		}
		g.reads = slices.DeleteFunc(g.reads, func(read session.Read) bool { return !s.changes(a.conflicts, read) })
	}
	a.groups = slices.DeleteFunc(a.groups, func(g group) bool { // its calls see in any order what they saw in the given one
		return !g.loose && (g.shaping == 0 || g.calls&(g.calls-1) == 0)
	})
	return a
}

// reach returns the group of one call: what it reads, the calls that change the answers, what they
// read, and what is copied into rows that they write, the calls that change these answers, and so
// on. Calls that are the same belong together.
func (s *search) reach(conflicts *session.Conflicts, i int) group {
	g := group{}
	s.join(&g, s.twins[i])
	for grown := true; grown; {
		grown = false
		for j, effects := range s.effects {
			if !g.shaping.has(j) {
				if !conflicts.Matter(effects.Writes, g.reads) {
					continue
				}
				s.join(&g, s.twins[j])
				g.shaping, grown = g.shaping|1<<j, true
				session.AddReads(&g.reads, effects.Shapes)
			}
			grown = session.AddReads(&g.reads, conflicts.Chosen(effects.Writes, g.reads)) || grown
		}
	}
	return g
}

// join adds a call, and those that are the same, to a group.
func (s *search) join(g *group, first int) {
	for i := range s.calls {
		if s.twins[i] == first {
			g.calls |= 1 << i
		}
	}
	session.AddReads(&g.reads, s.effects[first].Reads)
	if s.counted && s.effects[first].Draws > 0 {
		session.AddReads(&g.reads, []session.Read{session.Drawing()})
	}
}

// join adds a group that shares calls.
func (g *group) join(other group) {
	g.calls, g.shaping = g.calls|other.calls, g.shaping|other.shaping
	session.AddReads(&g.reads, other.reads)
}

// changes says whether any call changes the answer to a question.
func (s *search) changes(conflicts *session.Conflicts, read session.Read) bool {
	reads := []session.Read{read}
	return slices.ContainsFunc(s.effects, func(effects *session.Record) bool { return conflicts.Matter(effects.Writes, reads) })
}
