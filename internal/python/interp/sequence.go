package interp

import (
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// width returns the size of the first character of a text. Lone surrogates have three bytes.
func width(s string) int {
	if s[0] < utf8.RuneSelf {
		return 1
	}
	if _, size := utf8.DecodeRuneInString(s); size > 1 {
		return size
	}
	if len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80 {
		return 3
	}
	return 1
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
func length(s string) int {
	if isASCII(s) {
		return len(s)
	}
	n := 0
	for ; s != ""; n++ {
		s = s[width(s):]
	}
	return n
}

// offset returns the byte offset of a character.
func offset(s string, i int) int {
	if isASCII(s) {
		return min(i, len(s))
	}
	at := 0
	for ; i > 0 && at < len(s); i-- {
		at += width(s[at:])
	}
	return at
}

// place resolves an index, negative ones from the end.
func place(index any, length int, what string) (int, error) {
	i, large, _ := integer(index)
	if large != nil {
		return 0, raise("IndexError", "cannot fit 'int' into an index-sized integer")
	}
	if i < 0 {
		i += length
	}
	if i < 0 || i >= length {
		return 0, raise("IndexError", "%s index out of range", what)
	}
	return i, nil
}

// item returns x[index].
func (m *machine) item(x, index any) (any, error) {
	_, _, isInt := integer(index)
	s, isSlice := index.(*slice)
	switch x := x.(type) {
	case *dict:
		i, err := m.get(&x.table, index)
		if err != nil {
			return nil, err
		}
		if i < 0 {
			return nil, raiseValue("KeyError", index)
		}
		return x.entries[i].value, nil
	case *list:
		switch {
		case isInt:
			i, err := place(index, len(x.items), "list")
			if err != nil {
				return nil, err
			}
			return x.items[i], nil
		case isSlice:
			items, err := m.sliced(x.items, s)
			return &list{items}, err
		}
		return nil, raise("TypeError", "list indices must be integers or slices, not %s", typeName(index))
	case *tuple:
		switch {
		case isInt:
			i, err := place(index, len(x.items), "tuple")
			if err != nil {
				return nil, err
			}
			return x.items[i], nil
		case isSlice:
			items, err := m.sliced(x.items, s)
			return &tuple{items}, err
		}
		return nil, raise("TypeError", "tuple indices must be integers or slices, not %s", typeName(index))
	case string:
		return m.textItem(x, index)
	case *span:
		return spanItem(x, index)
	case *class:
		if x.constructor() != nil { // list[int] and its like: a type hint
			return x, nil
		}
		return nil, raise("TypeError", "'type' object is not subscriptable")
	default:
		return nil, raise("TypeError", "'%s' object is not subscriptable", typeName(x))
	}
}

func (m *machine) textItem(x string, index any) (any, error) {
	if err := m.spend(len(x) / 64); err != nil {
		return nil, err
	}
	if s, ok := index.(*slice); ok {
		return m.slicedText(x, s)
	}
	if _, _, ok := integer(index); !ok {
		return nil, raise("TypeError", "string indices must be integers")
	}
	i, err := place(index, length(x), "string")
	if err != nil {
		return nil, err
	}
	rest := x[offset(x, i):]
	return rest[:width(rest)], nil
}

func spanItem(x *span, index any) (any, error) {
	if s, ok := index.(*slice); ok {
		first, last, step, err := s.bounds(x.length())
		if err != nil {
			return nil, err
		}
		return &span{x.start + first*x.step, x.start + last*x.step, x.step * step}, nil
	}
	if _, _, ok := integer(index); !ok {
		return nil, raise("TypeError", "range indices must be integers or slices, not %s", typeName(index))
	}
	i, err := place(index, x.length(), "range object")
	if err != nil {
		return nil, err
	}
	return x.at(i), nil
}

// bounds resolves a slice of so many items: first, first+step, … before last.
func (s *slice) bounds(length int) (first, last, step int, err error) {
	part := func(v any, missing int) (int, error) {
		if v == nil {
			return missing, nil
		}
		if _, _, ok := integer(v); !ok {
			return 0, raise("TypeError", "slice indices must be integers or None or have an __index__ method")
		}
		return machineInt(v, true)
	}
	if step, err = part(s.step, 1); err != nil {
		return 0, 0, 0, err
	}
	if step == 0 {
		return 0, 0, 0, raise("ValueError", "slice step cannot be zero")
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
	if first, err = part(s.low, 0); err != nil {
		return 0, 0, 0, err
	}
	if last, err = part(s.high, 0); err != nil {
		return 0, 0, 0, err
	}
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
	return first, last, step, nil
}

// places returns the places of a slice.
func (s *slice) places(length int) (span, error) {
	first, last, step, err := s.bounds(length)
	return span{first, last, step}, err
}

func (m *machine) sliced(items []any, s *slice) ([]any, error) {
	places, err := s.places(len(items))
	if err != nil {
		return nil, err
	}
	n := places.length()
	if err := m.allocItems(n); err != nil {
		return nil, err
	}
	result := make([]any, n)
	for i := range result {
		result[i] = items[places.at(i)]
	}
	return result, nil
}

func (m *machine) slicedText(x string, s *slice) (any, error) {
	n := length(x)
	places, err := s.places(n)
	if err != nil {
		return nil, err
	}
	count := places.length()
	if places.step == 1 {
		low := offset(x, places.start)
		high := low + offset(x[low:], count)
		return x[low:high], m.alloc(high - low)
	}
	if err := m.alloc(len(x)); err != nil {
		return nil, err
	}
	starts := make([]int, 0, n+1)
	if err := m.alloc(8 * n); err != nil {
		return nil, err
	}
	for at := 0; at < len(x); at += width(x[at:]) {
		starts = append(starts, at)
	}
	starts = append(starts, len(x))
	var out strings.Builder
	for i := range count {
		at := places.at(i)
		out.WriteString(x[starts[at]:starts[at+1]])
	}
	return out.String(), nil
}

// setItem executes x[index] = v.
func (m *machine) setItem(x, index, v any) error {
	switch x := x.(type) {
	case *dict:
		return m.put(&x.table, index, v)
	case *list:
		if s, ok := index.(*slice); ok {
			return m.setSlice(x, s, v)
		}
		if _, _, ok := integer(index); !ok {
			return raise("TypeError", "list indices must be integers or slices, not %s", typeName(index))
		}
		i, err := place(index, len(x.items), "list assignment")
		if err == nil {
			x.items[i] = v
		}
		return err
	default:
		return raise("TypeError", "'%s' object does not support item assignment", typeName(x))
	}
}

func (m *machine) setSlice(x *list, s *slice, v any) error {
	places, err := s.places(len(x.items))
	if err != nil {
		return err
	}
	if _, failure := m.iter(v); failure != nil {
		if places.step != 1 {
			return raise("TypeError", "must assign iterable to extended slice")
		}
		return raise("TypeError", "can only assign an iterable")
	}
	items, err := m.collect(nil, v)
	if err != nil {
		return err
	}
	if places, err = s.places(len(x.items)); err != nil {
		return err
	}
	if err := m.allocItems(len(x.items) + len(items)); err != nil {
		return err
	}
	if places.step == 1 {
		x.items = slices.Replace(slices.Clone(x.items), places.start, max(places.start, places.stop), items...)
		return nil
	}
	if n := places.length(); n != len(items) {
		return raise("ValueError", "attempt to assign sequence of size %d to extended slice of size %d", len(items), n)
	}
	for i := range items {
		x.items[places.at(i)] = items[i]
	}
	return nil
}

// removeItem executes del x[index].
func (m *machine) removeItem(x, index any) error {
	switch x := x.(type) {
	case *dict:
		i, err := m.get(&x.table, index)
		if err != nil {
			return err
		}
		if i < 0 {
			return raiseValue("KeyError", index)
		}
		x.remove(i)
		return nil
	case *list:
		if err := m.spend(len(x.items) / 64); err != nil {
			return err
		}
		if s, ok := index.(*slice); ok {
			places, err := s.places(len(x.items))
			if err != nil {
				return err
			}
			gone := make(map[int]bool)
			if err := m.allocItems(places.length()); err != nil {
				return err
			}
			for i := range places.length() {
				gone[places.at(i)] = true
			}
			kept := x.items[:0]
			for i, item := range x.items {
				if !gone[i] {
					kept = append(kept, item)
				}
			}
			x.items = kept
			return nil
		}
		if _, _, ok := integer(index); !ok {
			return raise("TypeError", "list indices must be integers or slices, not %s", typeName(index))
		}
		i, err := place(index, len(x.items), "list assignment")
		if err == nil {
			x.items = slices.Delete(x.items, i, i+1)
		}
		return err
	case *tuple, string, *span:
		return raise("TypeError", "'%s' object doesn't support item deletion", typeName(x))
	default:
		return raise("TypeError", "'%s' object does not support item deletion", typeName(x))
	}
}

// size returns len(v).
func size(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return length(v), nil
	case *list:
		return len(v.items), nil
	case *tuple:
		return len(v.items), nil
	case *dict:
		return v.live, nil
	case *set:
		return v.live, nil
	case *view:
		return v.of.live, nil
	case *span:
		return normal(big.NewInt(int64(v.length()))), nil
	default:
		return nil, raise("TypeError", "object of type '%s' has no len()", typeName(v))
	}
}
