package executor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	// maxSteps bounds how many calls are run in search of a failing order: eight calls of tools
	// that all change everything stay below it. It bounds the memory of the search too, which keeps
	// a few dozen bytes for each step at most.
	maxSteps = 150_000
	// maxParallel bounds the calls of one batch: a set of calls is a bit mask.
	maxParallel = 64
)

// set is a set of calls by their positions.
type set uint64

func (s set) has(i int) bool    { return s&(1<<i) != 0 }
func (s set) without(i int) set { return s &^ (1 << i) }

// search looks for the first failing order of a batch whose given order does not fail. The package
// comment says why it is exact.
type search struct {
	calls []call
	base  session.World
	// twins holds for each call the first one that is the same, if only itself.
	twins []int
	// effects are what each call was seen to do in any state; calls that are the same share them.
	// grown says that there are more than when they were analysed.
	effects []*session.Record
	grown   bool
	*analysis
	// counted says that ids matter to what calls do, so that the number of drawn ids counts as read
	// by whoever draws one.
	counted bool
	// known says of states whether some order of the calls of a group that are left raises.
	known map[[sha256.Size]byte]bool
	// buffer is where keys are written, record where a run is recorded.
	buffer []byte
	record session.Record
	steps  int
}

// errAgain says that the calls were grouped anew, so that the groups must be explored again.
var errAgain = errors.New("calls are grouped anew")

// reordered marks the context of calls in another order than the given one.
type reordered struct{}

// Reordered says whether a call is made in search of a failing order, and not in the given one.
func Reordered(ctx context.Context) bool { return ctx.Value(reordered{}) != nil }

// firstFailing returns the outcome of the first order in which any call raises, in lexicographic
// order of positions, or that of the given order if there is none. The error is ErrTooManyOrders,
// or the cause of ctx's end.
func firstFailing(ctx context.Context, calls []call, base session.World) ([]Answer, session.World, error) {
	if len(calls) > maxParallel {
		return nil, session.World{}, ErrTooManyOrders
	}
	s := &search{calls: calls, base: base}
	given, world := s.given(ctx)
	writes := func(record *session.Record) bool { return len(record.Writes) > 0 }
	failed := func(answer Answer) bool { return answer.Exception != "" }
	if slices.ContainsFunc(given, failed) || !slices.ContainsFunc(s.effects, writes) {
		return given, world, nil
	}
	ctx = context.WithValue(ctx, reordered{}, true)
	s.share()
	all := ^set(0) >> (maxParallel - len(calls))
	fails, err := s.first(ctx)
	if err == nil && !fails {
		fails, err = s.canFail(ctx, &base, all)
	}
	if err != nil {
		return nil, session.World{}, err
	}
	if !fails {
		return given, world, nil
	}
	return s.build(ctx, base, all, make([]Answer, 0, len(calls)))
}

// given runs the calls in the given order and records what each does.
func (s *search) given(ctx context.Context) ([]Answer, session.World) {
	world, answers := s.base, make([]Answer, len(s.calls))
	s.effects = make([]*session.Record, len(s.calls))
	for i := range s.calls {
		s.effects[i] = &session.Record{}
		answers[i] = s.run(ctx, i, &world)
	}
	return answers, world
}

// run executes a call, records what it does and says what it answers.
func (s *search) run(ctx context.Context, i int, world *session.World) Answer {
	world.Watch(&s.record)
	answer := s.calls[i].run(ctx, world)
	world.Watch(nil)
	s.grown = s.effects[i].Add(&s.record) || s.grown
	answer.Call = i
	return answer
}

// first makes every call the first one, records what it does and says whether any raises.
func (s *search) first(ctx context.Context) (fails bool, err error) {
	for i, twin := range s.twins {
		if i != twin {
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

// share lets calls that are the same share what they were seen to do.
func (s *search) share() {
	s.twins, s.grown = twins(s.calls), true
	for i, first := range s.twins {
		if first != i {
			s.effects[first].Add(s.effects[i])
			s.effects[i] = s.effects[first]
		}
	}
}

// twins returns for each call the first one that is the same call, if only itself.
func twins(calls []call) []int {
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

// build appends the answers of the first failing order of the calls that are left. There must be
// one.
func (s *search) build(ctx context.Context, world session.World, left set, answers []Answer) ([]Answer, session.World, error) {
	for i := range s.calls {
		if !left.has(i) {
			continue
		}
		after := world
		answer := s.run(ctx, i, &after)
		if answer.Exception != "" {
			answers, after = s.rest(ctx, after, left.without(i), append(answers, answer))
			return answers, after, nil
		}
		fails, err := s.canFail(ctx, &after, left.without(i))
		if err != nil {
			return nil, session.World{}, err
		}
		if fails {
			return s.build(ctx, after, left.without(i), append(answers, answer))
		}
	}
	answers, world = s.rest(ctx, world, left, answers)
	return answers, world, nil
}

// canFail says whether any order of the calls that are left raises. What was found about groups
// that turn out to be too small is forgotten, and that no order raises is found again.
func (s *search) canFail(ctx context.Context, world *session.World, left set) (bool, error) {
	s.regroup()
	for {
		fails, err := s.anyCanFail(ctx, world, left)
		if err != nil && !errors.Is(err, errAgain) {
			return false, err
		}
		if again := s.regroup() || err != nil; fails || !again {
			return fails, nil
		}
	}
}

// regroup groups the calls anew if they were seen to do more, and says whether that changed
// anything.
func (s *search) regroup() bool {
	if !s.grown {
		return false
	}
	s.grown = false
	next := s.analyse()
	if s.analysis != nil && s.same(next) {
		return false
	}
	s.analysis, s.known, s.steps = next, make(map[[sha256.Size]byte]bool), 0
	return true
}

// anyCanFail says whether any order of the calls of a group that are left raises.
func (s *search) anyCanFail(ctx context.Context, world *session.World, left set) (bool, error) {
	for i := range s.groups {
		fails, err := s.groupCanFail(ctx, &s.groups[i], world, left&s.groups[i].calls)
		if fails || err != nil {
			return fails, err
		}
	}
	return false, nil
}

// groupCanFail says whether any order of those calls of a group that are left raises.
func (s *search) groupCanFail(ctx context.Context, g *group, world *session.World, left set) (bool, error) {
	if left == 0 {
		return false, nil
	}
	key := s.key(g, world, left)
	fails, ok := s.known[key]
	if ok {
		return fails, nil
	}
	fails, err := s.explore(ctx, g, world, left)
	if err == nil {
		s.known[key] = fails
	}
	return fails, err
}

// explore tries every call of a group that is left, and then every order of the others after each
// of those that change what the group sees. Of calls that are the same it tries the first.
func (s *search) explore(ctx context.Context, g *group, world *session.World, left set) (bool, error) {
	var next []int
	var worlds []session.World
	var tried set
	for i := range s.calls {
		if !left.has(i) || tried.has(s.twins[i]) {
			continue
		}
		tried |= 1 << s.twins[i]
		after, raised, err := s.try(ctx, i, *world)
		if raised || err != nil {
			return raised, err
		}
		if err := s.tryIDs(ctx, g, i, world, &after); err != nil {
			return false, err
		}
		if g.shaping.has(i) {
			next, worlds = append(next, i), append(worlds, after)
		}
	}
	if len(next) > 0 && s.regroup() {
		return false, errAgain
	}
	for n, i := range next {
		fails, err := s.groupCanFail(ctx, g, &worlds[n], left.without(i))
		if fails || err != nil {
			return fails, err
		}
	}
	return false, nil
}

// try runs a call on a copy of a world and records what it does.
func (s *search) try(ctx context.Context, i int, world session.World) (after session.World, raised bool, err error) {
	if s.calls[i].looks() {
		return world, false, nil
	}
	if s.steps += s.calls[i].weight(); s.steps > maxSteps {
		return world, false, ErrTooManyOrders
	}
	if ctx.Err() != nil {
		return world, false, context.Cause(ctx)
	}
	world.Watch(&s.record)
	_, exception := s.calls[i].evaluate(ctx, &world)
	world.Watch(nil)
	s.grown = s.effects[i].Add(&s.record) || s.grown
	return world, exception != nil, nil
}

// tryIDs runs a call that draws ids with each id that calls outside of its group may leave to it.
// The error is errAgain if that may make a difference to the group. after is the world that the
// call left with the ids of this one.
func (s *search) tryIDs(ctx context.Context, g *group, i int, world, after *session.World) error {
	if !g.loose || s.effects[i].Draws == 0 {
		return nil
	}
	want := s.conflicts.AppendAnswers(nil, after, g.reads)
	for drawn := s.base.Drawn(); drawn <= s.base.Drawn()+s.draws; drawn++ {
		if drawn == world.Drawn() {
			continue
		}
		other := *world
		other.SetDrawn(drawn)
		other, raised, err := s.try(ctx, i, other)
		if err != nil {
			return err
		}
		if raised || !bytes.Equal(want, s.conflicts.AppendAnswers(nil, &other, g.reads)) {
			s.counted, s.grown = true, true
			return errAgain
		}
	}
	return nil
}

// rest runs the calls that are left in ascending order, whether they raise or not.
func (s *search) rest(ctx context.Context, world session.World, left set, answers []Answer) ([]Answer, session.World) {
	for i := range s.calls {
		if left.has(i) {
			answers = append(answers, s.run(ctx, i, &world))
		}
	}
	return answers, world
}

// key identifies a set of calls of a group and the answers to what the group asks of the state
// before them.
func (s *search) key(g *group, world *session.World, left set) [sha256.Size]byte {
	key := binary.LittleEndian.AppendUint64(s.buffer[:0], uint64(left))
	s.buffer = s.conflicts.AppendAnswers(key, world, g.reads)
	return sha256.Sum256(s.buffer)
}
