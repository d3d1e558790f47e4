package executor

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// group is a set of conflicting calls with their queries. No call outside changes the answers.
type group struct {
	calls callSet
	// shaping are the calls that change the answers.
	shaping callSet
	reads   []session.Read
	// idsVary reports that calls of the group draw ids, and that the ids depend on calls that do not
	// change the answers.
	idsVary bool
}

// analysis follows from the observed effects of calls.
type analysis struct {
	conflicts *session.Conflicts
	groups    []group
	// draws is the maximum number of ids that the batch draws.
	draws int64
}

// equal reports whether two analyses are the same.
func (a *analysis) equal(b *analysis) bool {
	return a.draws == b.draws && a.conflicts.Same(b.conflicts) && slices.EqualFunc(a.groups, b.groups, func(g, h group) bool {
		return g.calls == h.calls && g.shaping == h.shaping && g.idsVary == h.idsVary && slices.EqualFunc(g.reads, h.reads, session.Read.Same)
	})
}

// maxIDs is the maximum number of ids to try for each run of a call.
const maxIDs = 256

// analyse groups the calls by their observed effects.
func (s *search) analyse() *analysis {
	a := &analysis{conflicts: session.NewConflicts(&s.base, s.effects)}
	var drawers callSet
	for i, effects := range s.effects {
		if a.draws += int64(effects.Draws); effects.Draws > 0 {
			drawers |= 1 << i
		}
	}
	s.readsCounter = s.readsCounter || a.draws > maxIDs
	for i := range s.calls {
		next := s.groupOf(a.conflicts, i)
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
			if g.idsVary = drawers&(drawers-1) != 0 && drawers&^g.shaping != 0; !g.idsVary {
				session.AddReads(&g.reads, []session.Read{session.Drawing()})
			}
		}
		g.reads = slices.DeleteFunc(g.reads, func(read session.Read) bool { return !s.changes(a.conflicts, read) })
	}
	a.groups = slices.DeleteFunc(a.groups, func(g group) bool { // its calls see the same in any order
		return !g.idsVary && (g.shaping == 0 || g.calls&(g.calls-1) == 0)
	})
	return a
}

// groupOf returns the group of a call: its queries, the calls that change their answers, the
// queries of these, the calls that change cells copied into rows that they write, and so on. Equal
// calls are in one group.
func (s *search) groupOf(conflicts *session.Conflicts, i int) group {
	g := group{}
	s.join(&g, s.duplicateOf[i])
	for grown := true; grown; {
		grown = false
		for j, effects := range s.effects {
			if !g.shaping.has(j) {
				if !conflicts.Matter(effects.Writes, g.reads) {
					continue
				}
				s.join(&g, s.duplicateOf[j])
				g.shaping, grown = g.shaping|1<<j, true
				session.AddReads(&g.reads, effects.Shapes)
			}
			grown = session.AddReads(&g.reads, conflicts.Chosen(effects.Writes, g.reads)) || grown
		}
	}
	return g
}

// join adds a call and equal calls to a group.
func (s *search) join(g *group, first int) {
	for i := range s.calls {
		if s.duplicateOf[i] == first {
			g.calls |= 1 << i
		}
	}
	session.AddReads(&g.reads, s.effects[first].Reads)
	if s.readsCounter && s.effects[first].Draws > 0 {
		session.AddReads(&g.reads, []session.Read{session.Drawing()})
	}
}

// join adds a group that shares calls.
func (g *group) join(other group) {
	g.calls, g.shaping = g.calls|other.calls, g.shaping|other.shaping
	session.AddReads(&g.reads, other.reads)
}

// changes reports whether any call changes the answer to a query.
func (s *search) changes(conflicts *session.Conflicts, read session.Read) bool {
	reads := []session.Read{read}
	return slices.ContainsFunc(s.effects, func(effects *session.Record) bool { return conflicts.Matter(effects.Writes, reads) })
}
