package regex

import (
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/python"
)

// Meter counts the work of matches.
type Meter interface {
	// Work is told of so many steps of a match.
	Work(steps int)
	// Grow is told of bytes before they are allocated.
	Grow(bytes int)
}

// workBatch is the number of steps after which the meter hears of them.
const workBatch = 256

// rangesPerStep is how many ranges of a set cost a step.
const rangesPerStep = 8

// Mode says where a match has to begin and end.
type Mode uint8

// These are the modes of search, match and fullmatch.
const (
	Search Mode = iota
	Prefix
	Full
)

// matcher is the state of a match.
type matcher struct {
	*Regexp
	text string
	end  int // of the part of the text that counts
	full bool
	// registers hold the positions of groups, then what repetitions need. The second one holds the
	// group that ended last.
	registers []int
	stack     []saved
	meter     Meter
	steps     int
	// notEmptyAt is a position at which the match may not be empty, -1 if there is none.
	notEmptyAt int
}

// saved is an entry of the stack: a place to go on from, or the old value of a register.
type saved struct {
	pc       int // -1-register for a register
	at       int // or the old value
	low      int // of opMany: the position down to which it can go back
	repeated int // of opMany: 1 greedy, 2+count lazy; 0 for others
}

// Match returns the positions of the groups of a match of text[start:end], two for each, -1 for
// those that have not matched, and the number of the group that ended last. It returns nil if
// nothing matches. Assertions see the text before start. Without empty the match may not be empty
// at the start.
func (r *Regexp) Match(text string, start, end int, mode Mode, empty bool, meter Meter) []int {
	m := &matcher{Regexp: r, text: text, end: end, full: mode == Full, meter: meter, notEmptyAt: -1, registers: make([]int, r.registers)}
	meter.Grow(8 * r.registers)
	if !empty {
		m.notEmptyAt = start
	}
	for at := start; ; {
		for i := range m.registers {
			m.registers[i] = -1
		}
		m.stack = m.stack[:0]
		m.work(len(m.registers) / 8)
		if last, ok := m.run(0, at, true); ok {
			meter.Work(m.steps)
			positions := make([]int, 2*r.Groups+2, 2*r.Groups+3)
			copy(positions, m.registers)
			positions[0], positions[1] = at, last
			return append(positions, m.registers[1])
		}
		if mode != Search || at >= end {
			meter.Work(m.steps)
			return nil
		}
		_, size := python.DecodeRune(text[at:])
		at += size
	}
}

// work counts steps.
func (m *matcher) work(steps int) {
	if m.steps += steps; m.steps >= workBatch {
		m.meter.Work(m.steps)
		m.steps = 0
	}
}

func (m *matcher) push(s saved) {
	if len(m.stack) == cap(m.stack) {
		grown := max(16, 2*cap(m.stack))
		m.meter.Grow(32 * grown)
		stack := make([]saved, len(m.stack), grown)
		copy(stack, m.stack)
		m.stack = stack
	}
	m.stack = append(m.stack, s)
}

// set changes a register so that going back restores it.
func (m *matcher) set(register, value int) {
	m.push(saved{pc: -1 - register, at: m.registers[register]})
	m.registers[register] = value
}

// back undoes changes down to the last place to go on from. ok is false without one above base.
func (m *matcher) back(base int) (next saved, ok bool) {
	for len(m.stack) > base {
		next = m.stack[len(m.stack)-1]
		m.stack = m.stack[:len(m.stack)-1]
		if next.pc >= 0 {
			return next, true
		}
		m.registers[-1-next.pc] = next.at
	}
	return next, false
}

// run executes the program from pc at a position until opMatch, and returns where it ends. whole
// reports that it is the whole expression.
func (m *matcher) run(pc, at int, whole bool) (end int, ok bool) {
	base := len(m.stack)
	for {
		m.work(1)
		i := &m.program[pc]
		matched := true
		switch i.op {
		case opMatch:
			if whole && (m.full && at != m.end || at == m.notEmptyAt) {
				matched = false
				break
			}
			return at, true
		case opOne:
			var size int
			if size, matched = m.one(i.set, at); matched {
				pc, at = pc+1, at+size
			}
		case opMany:
			if at, matched = m.many(i, pc, at); matched {
				pc++
			}
		case opAt:
			matched = m.isAt(i, at)
			pc++
		case opLook:
			matched = m.look(i, pc, at)
			pc = i.x
		case opAtomic:
			if at, matched = m.alone(pc+1, at); matched {
				pc = i.x
			}
		case opBackref:
			if at, matched = m.again(i, at); matched {
				pc++
			}
		default:
			pc = m.follow(i, pc, at)
		}
		if matched {
			continue
		}
		if pc, at, ok = m.resume(base); !ok {
			return 0, false
		}
	}
}

// follow executes an instruction that matches nothing itself, and returns the next one.
func (m *matcher) follow(i *instruction, pc, at int) (next int) {
	switch i.op {
	case opSplit:
		m.push(saved{pc: i.x, at: at})
	case opJump:
		return i.x
	case opSave:
		if m.set(i.x, at); i.x&1 == 1 {
			m.set(1, i.x/2)
		}
	case opBegin:
		m.set(i.x, 0)
		m.set(i.x+1, -1)
	case opEnter:
		m.set(i.x, m.registers[i.x]+1)
		m.set(i.x+1, at)
	case opRepeat:
		return m.repeat(i, pc, at)
	case opCondition:
		if m.registers[2*i.x+1] < 0 {
			return i.y
		}
	}
	return pc + 1
}

// resume goes back to the last place to go on from.
func (m *matcher) resume(base int) (pc, at int, ok bool) {
	for {
		next, found := m.back(base)
		if !found {
			return 0, 0, false
		}
		switch i := &m.program[next.pc]; {
		case next.repeated == 0:
			return next.pc, next.at, true
		case next.repeated == 1: // greedy: one less
			_, size := before(m.text, next.at)
			if next.at -= size; next.at > next.low {
				m.push(next)
			}
			return next.pc + 1, next.at, true
		default: // lazy: one more
			m.work(1)
			count := next.repeated - 2
			size, matched := m.one(i.set, next.at)
			if !matched {
				continue
			}
			next.at += size
			if next.repeated++; i.max < 0 || count+1 < i.max {
				m.push(next)
			}
			return next.pc + 1, next.at, true
		}
	}
}

// one matches one character.
func (m *matcher) one(s *set, at int) (size int, ok bool) {
	if at >= m.end {
		return 0, false
	}
	if n := len(s.ranges); n >= rangesPerStep {
		m.work(n / rangesPerStep)
	}
	r, size := python.DecodeRune(m.text[at:m.end])
	return size, s.has(r)
}

// many matches a repeated character.
func (m *matcher) many(i *instruction, pc, at int) (end int, ok bool) {
	count, low := 0, at
	for i.max < 0 || count < i.max {
		if i.lazy && count >= i.min {
			break
		}
		size, matched := m.one(i.set, at)
		if !matched {
			break
		}
		m.work(1)
		at += size
		if count++; count == i.min {
			low = at
		}
	}
	switch {
	case count < i.min:
		return at, false
	case i.lazy && (i.max < 0 || count < i.max):
		m.push(saved{pc: pc, at: at, repeated: 2 + count})
	case !i.lazy && !i.possessive && at > low:
		m.push(saved{pc: pc, at: at, low: low, repeated: 1})
	}
	return at, true
}

// repeat decides whether a repetition goes on. A pass that matched nothing is the last one.
func (m *matcher) repeat(i *instruction, pc, at int) (next int) {
	count, last := m.registers[i.y], m.registers[i.y+1]
	switch {
	case count < i.min:
		return pc + 1
	case i.max >= 0 && count >= i.max || last == at:
		return i.x
	case i.lazy:
		m.push(saved{pc: pc + 1, at: at})
		return i.x
	default:
		m.push(saved{pc: i.x, at: at})
		return pc + 1
	}
}

// alone runs a part and drops the places to go back to in it, but not the changes to undo.
func (m *matcher) alone(pc, at int) (end int, ok bool) {
	base := len(m.stack)
	if end, ok = m.run(pc, at, false); !ok {
		return at, false
	}
	kept := m.stack[:base]
	for _, entry := range m.stack[base:] {
		if entry.pc < 0 {
			kept = append(kept, entry)
		}
	}
	m.work(len(m.stack) - base)
	m.stack = kept
	return end, true
}

// look runs a part ahead of or behind a position.
func (m *matcher) look(i *instruction, pc, at int) bool {
	for range i.behind {
		m.work(1)
		if at == 0 {
			return i.negative
		}
		_, size := before(m.text, at)
		at -= size
	}
	base := len(m.stack)
	_, ok := m.alone(pc+1, at)
	if ok && i.negative {
		for len(m.stack) > base {
			m.back(base)
		}
	}
	return ok != i.negative
}

// again matches the text of a group.
func (m *matcher) again(i *instruction, at int) (end int, ok bool) {
	from, to := m.registers[2*i.x], m.registers[2*i.x+1]
	if from < 0 || to < from {
		return at, false
	}
	group := m.text[from:to]
	m.work(len(group) / 16)
	if i.flags&IgnoreCase == 0 {
		return at + len(group), strings.HasPrefix(m.text[at:m.end], group)
	}
	for group != "" {
		r, size := python.DecodeRune(group)
		width, matched := m.one(&set{ranges: [][2]rune{{r, r}}, flags: i.flags}, at)
		m.work(1)
		if !matched {
			return at, false
		}
		group, at = group[size:], at+width
	}
	return at, true
}

// isAt reports whether an assertion holds at a position.
func (m *matcher) isAt(i *instruction, at int) bool {
	switch i.place {
	case 'A':
		return at == 0
	case 'Z':
		return at == m.end
	case '^':
		return at == 0 || i.flags&Multiline != 0 && m.text[at-1] == '\n'
	case '$':
		return at == m.end || at == m.end-1 && m.text[at] == '\n' || i.flags&Multiline != 0 && m.text[at] == '\n'
	case 'b':
		return m.atWord(i, at)
	default:
		return m.end > 0 && !m.atWord(i, at)
	}
}

// atWord reports whether a position is at the start or the end of a word.
func (m *matcher) atWord(i *instruction, at int) bool {
	word := func(r rune) bool { return isWord(r) && (i.flags&ASCII == 0 || r <= unicode.MaxASCII) }
	behind, ahead := false, false
	if at > 0 {
		r, _ := before(m.text, at)
		behind = word(r)
	}
	if at < m.end {
		r, _ := python.DecodeRune(m.text[at:m.end])
		ahead = word(r)
	}
	return behind != ahead
}
