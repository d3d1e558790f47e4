package execute

import (
	"encoding/binary"

	"github.com/toolsandbox/toolsandbox/internal/python"
	"github.com/toolsandbox/toolsandbox/services/toolhost/internal/session"
)

const (
	// maxSteps bounds how many calls are run in search of a failing order.
	maxSteps = 200_000
	// maxParallel bounds the calls of one batch; a set of calls is a bit mask.
	maxParallel = 64
)

// search looks for the first failing order of a batch.
//
// It walks the tree of orders depth first, in lexicographic order, and shares the state of equal beginnings. The first call that
// raises on this walk decides: every lexicographically smaller order was found clean, and the smallest order that begins
// with the walked path goes on with the remaining calls in ascending order. What can still happen after a beginning depends
// only on which calls are left and on the state, so a (set of calls, state) that was found clean once is not walked again.
type search struct {
	calls []call
	base  session.World
	clean map[string]bool
	steps int
	// first holds the answers of the given order, once the walk has reached its end.
	first      []Answer
	firstWorld session.World
}

// run returns the outcome of the batch.
func (s *search) run() ([]Answer, session.World, error) {
	if len(s.calls) > maxParallel {
		return nil, session.World{}, ErrTooManyOrders
	}
	answers, world, failed, err := s.walk(s.base, 0, nil)
	if err != nil {
		return nil, session.World{}, err
	}
	if !failed {
		return s.first, s.firstWorld, nil
	}
	return answers, world, nil
}

// walk tries all orders that begin with the answered calls, whose set is done.
func (s *search) walk(world session.World, done uint64, answers []Answer) ([]Answer, session.World, bool, error) {
	if len(answers) == len(s.calls) {
		if s.first == nil {
			s.first, s.firstWorld = append([]Answer(nil), answers...), world
		}
		return nil, session.World{}, false, nil
	}
	key := s.key(&world, done)
	if s.clean[key] {
		return nil, session.World{}, false, nil
	}
	for i := range s.calls {
		if done&(1<<i) != 0 {
			continue
		}
		if s.steps++; s.steps > maxSteps {
			return nil, session.World{}, false, ErrTooManyOrders
		}
		after := world
		answer := s.calls[i].run(&after)
		answer.Call = i
		path := append(answers[:len(answers):len(answers)], answer)
		if answer.Exception != "" {
			path, after = s.rest(after, done|1<<i, path)
			return path, after, true, nil
		}
		outcome, final, failed, err := s.walk(after, done|1<<i, path)
		if err != nil || failed {
			return outcome, final, failed, err
		}
	}
	s.clean[key] = true
	return nil, session.World{}, false, nil
}

// rest runs the calls that are left in ascending order.
func (s *search) rest(world session.World, done uint64, answers []Answer) ([]Answer, session.World) {
	for i := range s.calls {
		if done&(1<<i) == 0 {
			answer := s.calls[i].run(&world)
			answer.Call = i
			answers = append(answers, answer)
		}
	}
	return answers, world
}

// key identifies a set of calls and the state after them. Tables that still share the rows of the batch's beginning need
// not be spelled out.
func (s *search) key(world *session.World, done uint64) string {
	key := binary.LittleEndian.AppendUint64(nil, done)
	key = binary.LittleEndian.AppendUint64(key, uint64(world.Drawn()))
	if world.Active() {
		key = append(key, 1)
	}
	for _, name := range session.Tables() {
		rows := world.Rows(name)
		if same(rows, s.base.Rows(name)) {
			continue
		}
		key = append(key, byte(name))
		for _, row := range rows {
			for _, cell := range row {
				key = python.AppendRepr(key, cell)
				key = append(key, ',')
			}
			key = append(key, ';')
		}
	}
	return string(key)
}

// same says whether two slices are the same memory.
func same(a, b []session.Row) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
