package executor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	// maxSteps is the maximum number of runs in a search. Eight calls of tools that all change
	// everything need fewer. It also limits the memory of the search, which stores a few dozen bytes
	// per step.
	maxSteps = 150_000
	// maxParallel is the maximum number of calls in a batch, because callSet is a bit mask.
	maxParallel = 64
)

// callSet is a set of calls by position.
type callSet uint64

func (s callSet) has(i int) bool        { return s&(1<<i) != 0 }
func (s callSet) without(i int) callSet { return s &^ (1 << i) }

// search finds the first failing order of a batch whose given order does not fail. The package
// comment explains why it is exact.
type search struct {
	calls []call
	base  session.World
	// duplicateOf maps each call to the first equal call.
	duplicateOf []int
	// effects are the effects of each call in all observed states. Equal calls share them.
	// effectsChanged reports new effects since the last analysis.
	effects        []*session.Effects
	effectsChanged bool
	*analysis
	// readsIDCount reports that ids matter, so each call that draws an id counts as reading their
	// counter.
	readsIDCount bool
	// failing maps states to whether some order of a group's remaining calls raises.
	failing map[[sha256.Size]byte]bool
	// buffer is for encoding keys, observed for recording runs.
	buffer   []byte
	observed session.Effects
	steps    int
}

// errRegrouped means that the groups changed and must be explored again.
var errRegrouped = errors.New("calls are grouped anew")

// reordered is the context key of calls in another order than the given one.
type reordered struct{}

// Reordered reports whether a call belongs to the search for a failing order, not to the given one.
func Reordered(ctx context.Context) bool { return ctx.Value(reordered{}) != nil }

// firstFailing returns the outcome of the first order in which any call raises, in lexicographic
// order of positions, otherwise that of the given order. The error is ErrTooManyOrders, or the
// context's cause.
func firstFailing(ctx context.Context, calls []call, base session.World) ([]Answer, session.World, error) {
	if len(calls) == 1 {
		answer := calls[0].run(ctx, &base)
		return []Answer{answer}, base, nil
	}
	if len(calls) > maxParallel {
		return nil, session.World{}, ErrTooManyOrders
	}
	s := &search{calls: calls, base: base}
	answers, world := s.runGiven(ctx)
	writes := func(effects *session.Effects) bool { return len(effects.Writes) > 0 }
	hasException := func(answer Answer) bool { return answer.Exception != "" }
	if slices.ContainsFunc(answers, hasException) || !slices.ContainsFunc(s.effects, writes) {
		return answers, world, nil
	}
	ctx = context.WithValue(ctx, reordered{}, true)
	s.shareEffects()
	all := ^callSet(0) >> (maxParallel - len(calls))
	fails, err := s.runFirst(ctx)
	if err == nil && !fails {
		fails, err = s.canFail(ctx, &base, all)
	}
	if err != nil {
		return nil, session.World{}, err
	}
	if !fails {
		return answers, world, nil
	}
	return s.build(ctx, base, all, make([]Answer, 0, len(calls)))
}

// runGiven executes the calls in the given order and records their effects.
func (s *search) runGiven(ctx context.Context) ([]Answer, session.World) {
	world, answers := s.base, make([]Answer, len(s.calls))
	s.effects = make([]*session.Effects, len(s.calls))
	for i := range s.calls {
		s.effects[i] = &session.Effects{}
		answers[i] = s.run(ctx, i, &world)
	}
	return answers, world
}

// run executes a call, records its effects and returns its answer.
func (s *search) run(ctx context.Context, i int, world *session.World) Answer {
	world.RecordInto(&s.observed)
	answer := s.calls[i].run(ctx, world)
	world.RecordInto(nil)
	s.effectsChanged = s.effects[i].Merge(&s.observed) || s.effectsChanged
	answer.Call = i
	return answer
}

// runFirst executes every call as the first one and records its effects. fails reports whether any
// raises.
func (s *search) runFirst(ctx context.Context) (fails bool, err error) {
	for i, first := range s.duplicateOf {
		if i != first {
			continue
		}
		_, raised, err := s.try(ctx, i, s.base)
		if err != nil {
			return false, err
		}
		fails = fails || raised
	}
	s.regroup()
	return fails, nil
}

// shareEffects merges the effects of equal calls.
func (s *search) shareEffects() {
	s.duplicateOf, s.effectsChanged = duplicates(s.calls), true
	for i, first := range s.duplicateOf {
		if first != i {
			s.effects[first].Merge(s.effects[i])
			s.effects[i] = s.effects[first]
		}
	}
}

// duplicates maps each call to the first equal call.
func duplicates(calls []call) []int {
	first, positions := make(map[string]int, len(calls)), make([]int, len(calls))
	for i := range calls {
		positions[i] = i
		var key string
		switch {
		case calls[i].program != nil:
			key = calls[i].program.source
		case calls[i].tool != nil:
			key = calls[i].tool.Name + python.Repr(calls[i].args.Trace())
		default:
			continue
		}
		if j, ok := first[key]; ok {
			positions[i] = j
			continue
		}
		first[key] = i
	}
	return positions
}

// build appends the answers of the first failing order of the remaining calls. One must exist.
func (s *search) build(ctx context.Context, world session.World, remaining callSet, answers []Answer) ([]Answer, session.World, error) {
	for i := range s.calls {
		if !remaining.has(i) {
			continue
		}
		after := world
		answer := s.run(ctx, i, &after)
		if answer.Exception != "" {
			answers, after = s.runRemaining(ctx, after, remaining.without(i), append(answers, answer))
			return answers, after, nil
		}
		fails, err := s.canFail(ctx, &after, remaining.without(i))
		if err != nil {
			return nil, session.World{}, err
		}
		if fails {
			return s.build(ctx, after, remaining.without(i), append(answers, answer))
		}
	}
	answers, world = s.runRemaining(ctx, world, remaining, answers)
	return answers, world, nil
}

// canFail reports whether any order of the remaining calls raises. If groups turn out to be too
// small, it discards their results and searches again.
func (s *search) canFail(ctx context.Context, world *session.World, remaining callSet) (bool, error) {
	s.regroup()
	for {
		fails, err := s.anyCanFail(ctx, world, remaining)
		if err != nil && !errors.Is(err, errRegrouped) {
			return false, err
		}
		if retry := s.regroup() || err != nil; fails || !retry {
			return fails, nil
		}
	}
}

// regroup groups the calls again if new effects were observed. It reports whether the groups
// changed.
func (s *search) regroup() bool {
	if !s.effectsChanged {
		return false
	}
	s.effectsChanged = false
	next := s.analyse()
	if s.analysis != nil && s.equal(next) {
		return false
	}
	s.analysis, s.failing, s.steps = next, make(map[[sha256.Size]byte]bool), 0
	return true
}

// anyCanFail reports whether any order of a group's remaining calls raises.
func (s *search) anyCanFail(ctx context.Context, world *session.World, remaining callSet) (bool, error) {
	for i := range s.groups {
		fails, err := s.groupCanFail(ctx, &s.groups[i], world, remaining&s.groups[i].calls)
		if fails || err != nil {
			return fails, err
		}
	}
	return false, nil
}

// groupCanFail reports whether any order of the remaining calls of one group raises.
func (s *search) groupCanFail(ctx context.Context, g *group, world *session.World, remaining callSet) (bool, error) {
	if remaining == 0 {
		return false, nil
	}
	key := s.key(g, world, remaining)
	fails, ok := s.failing[key]
	if ok {
		return fails, nil
	}
	fails, err := s.explore(ctx, g, world, remaining)
	if err == nil {
		s.failing[key] = fails
	}
	return fails, err
}

// explore tries every remaining call of a group, then every order of the others after each call
// that changes the group's queries. Of equal calls it tries the first.
func (s *search) explore(ctx context.Context, g *group, world *session.World, remaining callSet) (bool, error) {
	var next []int
	var worlds []session.World
	var tried callSet
	for i := range s.calls {
		if !remaining.has(i) || tried.has(s.duplicateOf[i]) {
			continue
		}
		tried |= 1 << s.duplicateOf[i]
		after, raised, err := s.try(ctx, i, *world)
		if raised || err != nil {
			return raised, err
		}
		if err := s.tryIDs(ctx, g, i, world, &after); err != nil {
			return false, err
		}
		if g.writers.has(i) {
			next, worlds = append(next, i), append(worlds, after)
		}
	}
	if len(next) > 0 && s.regroup() {
		return false, errRegrouped
	}
	for n, i := range next {
		fails, err := s.groupCanFail(ctx, g, &worlds[n], remaining.without(i))
		if fails || err != nil {
			return fails, err
		}
	}
	return false, nil
}

// try executes a call on a copy of a world and records its effects.
func (s *search) try(ctx context.Context, i int, world session.World) (after session.World, raised bool, err error) {
	if s.steps += s.calls[i].cost(); s.steps > maxSteps {
		return world, false, ErrTooManyOrders
	}
	if ctx.Err() != nil {
		return world, false, context.Cause(ctx)
	}
	world.RecordInto(&s.observed)
	_, exception := s.calls[i].evaluate(ctx, &world)
	world.RecordInto(nil)
	s.effectsChanged = s.effects[i].Merge(&s.observed) || s.effectsChanged
	return world, exception != nil, nil
}

// tryIDs executes a call that draws ids with each id that calls outside its group may leave to it.
// The error is errRegrouped if the id may matter to the group. after is the world after the call
// with the ids of world.
func (s *search) tryIDs(ctx context.Context, g *group, i int, world, after *session.World) error {
	if !g.idsVary || s.effects[i].NewIDs == 0 {
		return nil
	}
	want := s.conflicts.AppendAnswers(nil, after, g.reads)
	for drawn := s.base.IDCount(); drawn <= s.base.IDCount()+s.newIDs; drawn++ {
		if drawn == world.IDCount() {
			continue
		}
		other := *world
		other.SetIDCount(drawn)
		other, raised, err := s.try(ctx, i, other)
		if err != nil {
			return err
		}
		if raised || !bytes.Equal(want, s.conflicts.AppendAnswers(nil, &other, g.reads)) {
			s.readsIDCount, s.effectsChanged = true, true
			return errRegrouped
		}
	}
	return nil
}

// runRemaining executes the remaining calls in ascending order, whether they raise or not.
func (s *search) runRemaining(ctx context.Context, world session.World, remaining callSet, answers []Answer) ([]Answer, session.World) {
	for i := range s.calls {
		if remaining.has(i) {
			answers = append(answers, s.run(ctx, i, &world))
		}
	}
	return answers, world
}

// key returns the digest of a set of a group's calls and of the answers to the group's queries in
// the state before them.
func (s *search) key(g *group, world *session.World, remaining callSet) [sha256.Size]byte {
	key := binary.LittleEndian.AppendUint64(s.buffer[:0], uint64(remaining))
	s.buffer = s.conflicts.AppendAnswers(key, world, g.reads)
	return sha256.Sum256(s.buffer)
}
