package execute

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	// maxSteps bounds how many calls are run in search of a failing order: a batch of eight calls that all write, none of
	// which commutes with another, stays below it.
	maxSteps = 150_000
	// maxParallel bounds the calls of one batch: a set of calls is a bit mask.
	maxParallel = 64
)

// set is a set of calls by their positions.
type set uint64

func (s set) has(i int) bool    { return s&(1<<i) != 0 }
func (s set) without(i int) set { return s &^ (1 << i) }

// search looks for the first failing order of a batch.
//
// It builds that order call by call: the next call is the first one, in ascending order, that raises or after which some order
// of the others raises. Whether some order of a set of calls raises depends only on the set and on the world, so what was
// found clean once is not looked at again; and a call that changes nothing can be made at any moment, so that only the orders
// of the calls that write are told apart, and each of the others is tried at every state that these lead to.
type search struct {
	calls []call
	base  session.World
	// writers are the calls that may change the world.
	writers set
	// clean holds the states from which no order of the calls that are left raises.
	clean map[[sha256.Size]byte]struct{}
	steps int
}

// firstFailing returns the outcome of the first order in which any call raises, in lexicographic order of positions, or that of
// the given order if there is none. The error is ErrTooManyOrders.
func firstFailing(calls []call, base session.World) ([]Answer, session.World, error) {
	if len(calls) > maxParallel {
		return nil, session.World{}, ErrTooManyOrders
	}
	s := &search{calls: calls, base: base, clean: make(map[[sha256.Size]byte]struct{})}
	var left set
	for i := range calls {
		left |= 1 << i
		if !calls[i].readOnly() {
			s.writers |= 1 << i
		}
	}
	fails, err := s.canFail(base, left)
	if err != nil {
		return nil, session.World{}, err
	}
	answers := make([]Answer, 0, len(calls))
	if fails {
		return s.build(base, left, answers)
	}
	answers, base = s.rest(base, left, answers)
	return answers, base, nil
}

// build appends the answers of the first failing order of the calls that are left. There must be one.
func (s *search) build(world session.World, left set, answers []Answer) ([]Answer, session.World, error) {
	for i := range s.calls {
		if !left.has(i) {
			continue
		}
		after := world
		answer := s.calls[i].run(&after)
		answer.Call = i
		if answer.Exception != "" {
			answers, after = s.rest(after, left.without(i), append(answers, answer))
			return answers, after, nil
		}
		fails, err := s.canFail(after, left.without(i))
		if err != nil {
			return nil, session.World{}, err
		}
		if fails {
			return s.build(after, left.without(i), append(answers, answer))
		}
	}
	answers, world = s.rest(world, left, answers)
	return answers, world, nil
}

// canFail says whether any order of the calls that are left raises.
func (s *search) canFail(world session.World, left set) (bool, error) {
	if left == 0 {
		return false, nil
	}
	key := s.key(&world, left)
	if _, ok := s.clean[key]; ok {
		return false, nil
	}
	var next []session.World
	for i := range s.calls {
		if !left.has(i) {
			continue
		}
		after, fails, err := s.try(world, i)
		if err != nil || fails {
			return fails, err
		}
		if s.writers.has(i) {
			next = append(next, after)
		}
	}
	for i := range s.calls {
		if !left.has(i) || !s.writers.has(i) {
			continue
		}
		fails, err := s.canFail(next[0], left.without(i))
		if err != nil || fails {
			return fails, err
		}
		next = next[1:]
	}
	s.clean[key] = struct{}{}
	return false, nil
}

// try runs one call on a copy of a world and says whether it raises.
func (s *search) try(world session.World, i int) (after session.World, fails bool, err error) {
	if s.steps++; s.steps > maxSteps {
		return world, false, ErrTooManyOrders
	}
	_, _, raised := s.calls[i].evaluate(&world)
	return world, raised != nil, nil
}

// rest runs the calls that are left in ascending order, whether they raise or not.
func (s *search) rest(world session.World, left set, answers []Answer) ([]Answer, session.World) {
	for i := range s.calls {
		if left.has(i) {
			answer := s.calls[i].run(&world)
			answer.Call = i
			answers = append(answers, answer)
		}
	}
	return answers, world
}

// key identifies a set of calls and the state before them. Tables that still share the rows of the batch's beginning need
// not be spelled out.
func (s *search) key(world *session.World, left set) [sha256.Size]byte {
	key := binary.LittleEndian.AppendUint64(make([]byte, 0, 256), uint64(left))
	key = binary.LittleEndian.AppendUint64(key, uint64(world.Drawn()))
	if world.Active() {
		key = append(key, 1)
	}
	for _, name := range session.Tables() {
		rows := world.Rows(name)
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
		key = append(key, byte(name))
		for _, row := range rows {
			for _, cell := range row {
				key = append(python.AppendRepr(key, cell), ',')
			}
			key = append(key, ';')
		}
	}
	return sha256.Sum256(key)
}

// same says whether two slices are the same memory.
func same(a, b []session.Row) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
