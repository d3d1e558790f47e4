package interp

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolsandbox/toolsandbox/python"
)

// runeWidth returns the size of the first character in bytes. A lone surrogate has three.
func runeWidth(s string) int {
	if s[0] < utf8.RuneSelf {
		return 1
	}
	_, size := python.DecodeRune(s)
	return size
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// length returns the number of characters of a text.
func length(s string) int { return python.RuneCount(s) }

// length is length, and charges for a long text.
func (m *machine) length(s string) int {
	m.chargeSteps(len(s) / 64)
	return length(s)
}

// prefix returns the first n characters of a text, and charges for a long one.
func (m *machine) prefix(s string, n int) string {
	m.chargeSteps(len(s) / 64)
	return s[:byteOffset(s, n)]
}

// byteOffset returns the byte offset of a character.
func byteOffset(s string, i int) int {
	if isASCII(s) {
		return min(i, len(s))
	}
	at := 0
	for ; i > 0 && at < len(s); i-- {
		at += runeWidth(s[at:])
	}
	return at
}

// resolveIndex checks an index. A negative index counts from the end.
func resolveIndex(index any, length int, what string) int {
	i, large, _ := integer(index)
	if large != nil {
		panic(raise("IndexError", "cannot fit 'int' into an index-sized integer"))
	}
	if i < 0 {
		i += length
	}
	if i < 0 || i >= length {
		panic(raise("IndexError", "%s index out of range", what))
	}
	return i
}

// item returns x[index].
func (m *machine) item(x, index any) any {
	_, _, isInt := integer(index)
	s, isSlice := index.(*slice)
	switch x := plain(x).(type) {
	case *dict:
		i := m.get(&x.table, index)
		if i < 0 {
			panic(raiseValue("KeyError", index))
		}
		return x.entries[i].value
	case *list:
		switch {
		case isInt:
			return x.items[resolveIndex(index, len(x.items), "list")]
		case isSlice:
			items := m.sliced(x.items, s)
			return &list{items}
		}
		panic(raise("TypeError", "list indices must be integers or slices, not %s", typeName(index)))
	case *tuple:
		switch {
		case isInt:
			return x.items[resolveIndex(index, len(x.items), "tuple")]
		case isSlice:
			items := m.sliced(x.items, s)
			return &tuple{items}
		}
		panic(raise("TypeError", "tuple indices must be integers or slices, not %s", typeName(index)))
	case string:
		return m.textItem(x, index)
	case *rangeValue:
		return rangeItem(x, index)
	case subscriptable:
		return x.item(m, index)
	case *class:
		if x.enum != nil {
			return x.enum.named(index)
		}
		if x.constructor() != nil { // a type hint such as list[int]
			return x
		}
		panic(raise("TypeError", "'type' object is not subscriptable"))
	default:
		panic(raise("TypeError", "'%s' object is not subscriptable", typeName(x)))
	}
}

func (m *machine) textItem(x string, index any) any {
	m.chargeSteps(len(x) / 64)
	if s, ok := index.(*slice); ok {
		return m.slicedText(x, s)
	}
	if _, _, ok := integer(index); !ok {
		panic(raise("TypeError", "string indices must be integers"))
	}
	rest := x[byteOffset(x, resolveIndex(index, length(x), "string")):]
	return rest[:runeWidth(rest)]
}

func rangeItem(x *rangeValue, index any) any {
	if s, ok := index.(*slice); ok {
		first, last, step := s.bounds(x.length())
		return &rangeValue{x.start + first*x.step, x.start + last*x.step, x.step * step}
	}
	if _, _, ok := integer(index); !ok {
		panic(raise("TypeError", "range indices must be integers or slices, not %s", typeName(index)))
	}
	return x.at(resolveIndex(index, x.length(), "range object"))
}

// bounds resolves a slice of length items: first, first+step, … before last.
func (s *slice) bounds(length int) (first, last, step int) {
	bound := func(v any, missing int) int {
		if v == nil {
			return missing
		}
		if _, _, ok := integer(v); !ok {
			panic(raise("TypeError", "slice indices must be integers or None or have an __index__ method"))
		}
		return machineInt(v, true)
	}
	step = bound(s.step, 1)
	if step == 0 {
		panic(raise("ValueError", "slice step cannot be zero"))
	}
	step = max(step, -math.MaxInt)
	low, high := 0, length
	if step < 0 {
		low, high = -1, length-1
	}
	clamp := func(i int) int {
		if i < 0 {
			i += length
		}
		return max(low, min(i, high))
	}
	first = bound(s.low, 0)
	last = bound(s.high, 0)
	first, last = clamp(first), clamp(last)
	if s.low == nil {
		first = low
		if step < 0 {
			first = high
		}
	}
	if s.high == nil {
		last = high
		if step < 0 {
			last = low
		}
	}
	return first, last, step
}

// indices returns the indices that a slice selects.
func (s *slice) indices(length int) rangeValue {
	first, last, step := s.bounds(length)
	return rangeValue{first, last, step}
}

func (m *machine) sliced(items []any, s *slice) []any {
	places := s.indices(len(items))
	n := places.length()
	m.allocItems(n)
	result := make([]any, n)
	for i := range result {
		result[i] = items[places.at(i)]
	}
	return result
}

func (m *machine) slicedText(x string, s *slice) any {
	n := length(x)
	places := s.indices(n)
	count := places.length()
	if places.step == 1 {
		low := byteOffset(x, places.start)
		high := low + byteOffset(x[low:], count)
		m.alloc(high - low)
		return x[low:high]
	}
	m.alloc(len(x))
	starts := make([]int, 0, n+1)
	m.alloc(8 * n)
	for at := 0; at < len(x); at += runeWidth(x[at:]) {
		starts = append(starts, at)
	}
	starts = append(starts, len(x))
	var out strings.Builder
	for i := range count {
		at := places.at(i)
		out.WriteString(x[starts[at]:starts[at+1]])
	}
	return out.String()
}

// setItem executes x[index] = v.
func (m *machine) setItem(x, index, v any) {
	switch x := x.(type) {
	case *dict:
		m.put(&x.table, index, v)
	case *list:
		if s, ok := index.(*slice); ok {
			m.setSlice(x, s, v)
			return
		}
		if _, _, ok := integer(index); !ok {
			panic(raise("TypeError", "list indices must be integers or slices, not %s", typeName(index)))
		}
		i := resolveIndex(index, len(x.items), "list assignment")
		x.items[i] = v
	default:
		panic(raise("TypeError", "'%s' object does not support item assignment", typeName(x)))
	}
}

func (m *machine) setSlice(x *list, s *slice, v any) {
	places := s.indices(len(x.items))
	if !iterable(v) {
		if places.step != 1 {
			panic(raise("TypeError", "must assign iterable to extended slice"))
		}
		panic(raise("TypeError", "can only assign an iterable"))
	}
	items := m.collect(nil, v)
	places = s.indices(len(x.items))
	m.allocItems(len(x.items) + len(items))
	if places.step == 1 {
		x.items = slices.Replace(slices.Clone(x.items), places.start, max(places.start, places.stop), items...)
		return
	}
	if n := places.length(); n != len(items) {
		panic(raise("ValueError", "attempt to assign sequence of size %d to extended slice of size %d", len(items), n))
	}
	for i := range items {
		x.items[places.at(i)] = items[i]
	}
}

// removeItem executes del x[index].
func (m *machine) removeItem(x, index any) {
	switch x := x.(type) {
	case *dict:
		i := m.get(&x.table, index)
		if i < 0 {
			panic(raiseValue("KeyError", index))
		}
		x.remove(i)
	case *list:
		m.chargeSteps(len(x.items) / 64)
		if s, ok := index.(*slice); ok {
			places := s.indices(len(x.items))
			removed := make(map[int]bool)
			m.allocItems(places.length())
			for i := range places.length() {
				removed[places.at(i)] = true
			}
			remaining := x.items[:0]
			for i, item := range x.items {
				if !removed[i] {
					remaining = append(remaining, item)
				}
			}
			x.items = remaining
			return
		}
		if _, _, ok := integer(index); !ok {
			panic(raise("TypeError", "list indices must be integers or slices, not %s", typeName(index)))
		}
		i := resolveIndex(index, len(x.items), "list assignment")
		x.items = slices.Delete(x.items, i, i+1)
	case *tuple, string, *rangeValue:
		panic(raise("TypeError", "'%s' object doesn't support item deletion", typeName(x)))
	default:
		panic(raise("TypeError", "'%s' object does not support item deletion", typeName(x)))
	}
}

// size returns len(v).
func size(v any) any {
	switch v := plain(v).(type) {
	case *class:
		if v.enum != nil {
			return len(v.enum.members)
		}
		panic(raise("TypeError", "object of type 'type' has no len()"))
	case string:
		return length(v)
	case *list:
		return len(v.items)
	case *tuple:
		return len(v.items)
	case *dict:
		return v.live
	case *set:
		return v.live
	case *view:
		return v.of.live
	case *rangeValue:
		return normalize(big.NewInt(int64(v.length())))
	default:
		panic(raise("TypeError", "object of type '%s' has no len()", typeName(v)))
	}
}
