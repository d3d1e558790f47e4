package executor

import (
	"slices"

	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

// group is a set of conflicting calls with their queries. No call outside changes the answers.
type group struct {
	calls callSet
	// writers are the calls that change the answers.
	writers callSet
	reads   []session.Read
	// idsVary reports that calls of the group draw ids, and that the ids depend on calls that do not
	// change the answers.
	idsVary bool
}

// analysis follows from the observed effects of calls.
type analysis struct {
	conflicts *session.Conflicts
	groups    []group
	// newIDs is the maximum number of ids that the batch draws.
	newIDs int64
}

// equal reports whether two analyses are the same.
func (a *analysis) equal(b *analysis) bool {
	return a.newIDs == b.newIDs && a.conflicts.Equal(b.conflicts) && slices.EqualFunc(a.groups, b.groups, func(g, h group) bool {
		return g.calls == h.calls && g.writers == h.writers && g.idsVary == h.idsVary && slices.EqualFunc(g.reads, h.reads, session.Read.Equal)
	})
}

// maxIDs is the maximum number of ids to try for each run of a call.
const maxIDs = 256

// analyse groups the calls by their observed effects.
func (s *search) analyse() *analysis {
	a := &analysis{conflicts: session.NewConflicts(&s.base, s.effects)}
	var idUsers callSet
	for i, effects := range s.effects {
		if a.newIDs += int64(effects.NewIDs); effects.NewIDs > 0 {
			idUsers |= 1 << i
		}
	}
	s.readsIDCount = s.readsIDCount || a.newIDs > maxIDs
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
		if g.calls&idUsers != 0 {
			if g.idsVary = idUsers&(idUsers-1) != 0 && idUsers&^g.writers != 0; !g.idsVary {
				session.MergeReads(&g.reads, []session.Read{session.IDCountRead()})
			}
		}
		g.reads = slices.DeleteFunc(g.reads, func(read session.Read) bool { return !s.changes(a.conflicts, read) })
	}
	a.groups = slices.DeleteFunc(a.groups, func(g group) bool { // its calls see the same in any order
		return !g.idsVary && (g.writers == 0 || g.calls&(g.calls-1) == 0)
	})
	return a
}

// groupOf returns the group of a call: its queries, the calls that change their answers, the
// queries of these, and so on. Equal calls are in one group.
func (s *search) groupOf(conflicts *session.Conflicts, i int) group {
	g := group{}
	s.join(&g, s.duplicateOf[i])
	for changed := true; changed; {
		changed = false
		for j, effects := range s.effects {
			if !g.writers.has(j) {
				if !conflicts.Overlap(effects.Writes, g.reads) {
					continue
				}
				s.join(&g, s.duplicateOf[j])
				g.writers, changed = g.writers|1<<j, true
			}
			changed = session.MergeReads(&g.reads, conflicts.SelectionReads(effects.Writes, g.reads)) || changed
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
	session.MergeReads(&g.reads, s.effects[first].Reads)
	if s.readsIDCount && s.effects[first].NewIDs > 0 {
		session.MergeReads(&g.reads, []session.Read{session.IDCountRead()})
	}
}

// join adds a group that shares calls.
func (g *group) join(other group) {
	g.calls, g.writers = g.calls|other.calls, g.writers|other.writers
	session.MergeReads(&g.reads, other.reads)
}

// changes reports whether any call changes the answer to a query.
func (s *search) changes(conflicts *session.Conflicts, read session.Read) bool {
	reads := []session.Read{read}
	return slices.ContainsFunc(s.effects, func(effects *session.Effects) bool { return conflicts.Overlap(effects.Writes, reads) })
}
