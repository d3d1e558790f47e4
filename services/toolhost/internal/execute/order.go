package execute

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strconv"

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
	calls  []call
	base   session.World
	groups []group
	// twins holds for each call the first one that is the same, if only itself.
	twins []int
	// known says of states whether some order of the calls of a group that are left raises.
	known map[[sha256.Size]byte]bool
	// buffer is where keys are written.
	buffer []byte
	steps  int
}

// firstFailing returns the outcome of the first order in which any call raises, in lexicographic
// order of positions, or that of the given order if there is none. The error is ErrTooManyOrders,
// or the cause of ctx's end.
func firstFailing(ctx context.Context, calls []call, base session.World) ([]Answer, session.World, error) {
	if len(calls) > maxParallel {
		return nil, session.World{}, ErrTooManyOrders
	}
	all := ^set(0) >> (maxParallel - len(calls))
	s := &search{calls: calls, base: base}
	given, world := s.rest(ctx, base, all, make([]Answer, 0, len(calls)))
	for i := range given {
		if given[i].Exception != "" {
			return given, world, nil
		}
	}
	if s.groups = groupsOf(calls, base); len(s.groups) == 0 {
		return given, world, nil
	}
	s.twins, s.known = twins(calls), make(map[[sha256.Size]byte]bool)
	fails, err := s.canFail(ctx, &base, all)
	if err != nil {
		return nil, session.World{}, err
	}
	if !fails {
		return given, world, nil
	}
	return s.build(ctx, base, all, make([]Answer, 0, len(calls)))
}

// twins returns for each call the first one that is the same call, if only itself.
func twins(calls []call) []int {
	first, positions := make(map[string]int, len(calls)), make([]int, len(calls))
	for i := range calls {
		positions[i] = i
		if calls[i].tool == nil || len(calls[i].sub) > 0 {
			continue
		}
		key := calls[i].tool.Name + python.Repr(calls[i].args.Trace())
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
		answer := s.calls[i].run(ctx, &after)
		answer.Call = i
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

// canFail says whether any order of the calls that are left raises.
func (s *search) canFail(ctx context.Context, world *session.World, left set) (bool, error) {
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
		if s.steps += s.calls[i].weight(); s.steps > maxSteps {
			return false, ErrTooManyOrders
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		after := *world
		if _, _, raised := s.calls[i].evaluate(ctx, &after); raised != nil {
			return true, nil
		}
		if g.shaping.has(i) {
			next, worlds = append(next, i), append(worlds, after)
		}
	}
	for n, i := range next {
		fails, err := s.groupCanFail(ctx, g, &worlds[n], left.without(i))
		if fails || err != nil {
			return fails, err
		}
	}
	return false, nil
}

// rest runs the calls that are left in ascending order, whether they raise or not.
func (s *search) rest(ctx context.Context, world session.World, left set, answers []Answer) ([]Answer, session.World) {
	for i := range s.calls {
		if left.has(i) {
			answer := s.calls[i].run(ctx, &world)
			answer.Call = i
			answers = append(answers, answer)
		}
	}
	return answers, world
}

// key identifies a set of calls of a group and what of the state before them the group sees.
func (s *search) key(g *group, world *session.World, left set) [sha256.Size]byte {
	key := binary.LittleEndian.AppendUint64(s.buffer[:0], uint64(left))
	for _, part := range g.parts {
		if part.Whole() {
			key = s.appendWorld(key, world)
			continue
		}
		key = part.AppendKey(key, world)
	}
	s.buffer = key
	return sha256.Sum256(key)
}

// appendWorld appends everything of a state. Tables that still share the rows of the batch's
// beginning need not be spelled out.
func (s *search) appendWorld(key []byte, world *session.World) []byte {
	key = binary.LittleEndian.AppendUint64(key, uint64(world.Drawn()))
	key = strconv.AppendBool(key, world.Active())
	for place, table := range world.Tables() {
		name, rows := table.Name, world.Rows(table.Name)
		if world.Ever(name) {
			key = append(key, '!')
		}
		if world.Written(name) {
			key = append(key, '+')
		}
		if world.Blank(name) {
			key = append(key, '-')
		}
		if same(rows, s.base.Rows(name)) {
			continue
		}
		key = append(key, byte(place))
		for _, row := range rows {
			for _, cell := range row {
				key = append(python.AppendRepr(key, cell), ',')
			}
			key = append(key, ';')
		}
	}
	return key
}

// same says whether two slices are the same memory.
func same(a, b []session.Row) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
