package interp

import (
	"github.com/toolsandbox/toolsandbox/python/limit"
)

// iterator is a Python iterator.
type iterator interface {
	// next returns the next item; ok is false at the end.
	next(m *machine) (item any, ok bool)
	// name returns the name of its type.
	name() string
}

// advance returns the next item. It limits the depth of iterators that advance each other.
func (m *machine) advance(it iterator) (item any, ok bool) {
	switch it := it.(type) { // these call no other iterator
	case *sequenceIterator:
		return it.next(m)
	case *rangeIterator:
		return it.next(m)
	}
	if m.stack++; m.stack > limit.StackDepth {
		m.stack--
		panic(tooDeep())
	}
	item, ok = it.next(m)
	m.stack--
	return item, ok
}

// iter returns iter(v).
func (m *machine) iter(v any) iterator {
	switch v := plain(v).(type) {
	case *class:
		if v.enum != nil {
			items := v.enum.items()
			return &sequenceIterator{items: &items, kind: "generator"}
		}
	case *list:
		return &sequenceIterator{items: &v.items, kind: "list_iterator"}
	case *tuple:
		return &sequenceIterator{items: &v.items, kind: "tuple_iterator"}
	case *rangeValue:
		return &rangeIterator{of: *v, left: v.length()}
	case string:
		return &textIterator{rest: v}
	case *dict:
		return &tableIterator{of: &v.table, live: v.live, what: "dictionary", kind: viewKeys}
	case *set:
		if m.host == nil && v.live > 1 {
			panic(exhausted("TypeError", "the order of a set is unknown here"))
		}
		return &tableIterator{of: &v.table, live: v.live, what: "Set", kind: viewKeys}
	case *view:
		return &tableIterator{of: &v.of.table, live: v.of.live, what: "dictionary", kind: v.kind}
	case iterator:
		return v
	}
	panic(raise("TypeError", "'%s' object is not iterable", typeName(v)))
}

// iterable reports whether iter accepts a value.
func iterable(v any) bool {
	switch v := plain(v).(type) {
	case *list, *tuple, *rangeValue, string, *dict, *set, *view, iterator:
		return true
	case *class:
		return v.enum != nil
	default:
		return false
	}
}

type sequenceIterator struct {
	items *[]any
	at    int
	kind  string
}

func (it *sequenceIterator) name() string { return it.kind }

func (it *sequenceIterator) next(*machine) (any, bool) {
	if it.at >= len(*it.items) {
		it.at = int(^uint(0) >> 1)
		return nil, false
	}
	it.at++
	return (*it.items)[it.at-1], true
}

type rangeIterator struct {
	of   rangeValue
	left int
}

func (it *rangeIterator) name() string { return "range_iterator" }

func (it *rangeIterator) next(*machine) (any, bool) {
	if it.left == 0 {
		return nil, false
	}
	v := it.of.start
	it.of.start += it.of.step
	it.left--
	return v, true
}

type textIterator struct{ rest string }

func (it *textIterator) name() string { return "str_iterator" }

func (it *textIterator) next(*machine) (any, bool) {
	if it.rest == "" {
		return nil, false
	}
	n := runeWidth(it.rest)
	c := it.rest[:n]
	it.rest = it.rest[n:]
	return c, true
}

type tableIterator struct {
	of       *table
	at, live int
	what     string
	kind     viewKind
	ended    bool
}

func (it *tableIterator) name() string {
	if it.what == "Set" {
		return "set_iterator"
	}
	return [...]string{"dict_keyiterator", "dict_valueiterator", "dict_itemiterator"}[it.kind]
}

func (it *tableIterator) next(m *machine) (any, bool) {
	if it.ended {
		return nil, false
	}
	if it.of.live != it.live {
		it.ended = true
		panic(raise("RuntimeError", "%s changed size during iteration", it.what))
	}
	start := it.at
	for it.at < len(it.of.entries) && it.of.entries[it.at].hash == nil {
		it.at++
	}
	m.chargeSteps((it.at - start) / 16)
	if it.at >= len(it.of.entries) {
		it.ended = true
		return nil, false
	}
	e := &it.of.entries[it.at]
	it.at++
	switch it.kind {
	case viewKeys:
		return e.key, true
	case viewValues:
		return e.value, true
	default:
		m.alloc(limit.ItemSize)
		return &tuple{[]any{e.key, e.value}}, true
	}
}

// funcIterator is the iterator of a builtin.
type funcIterator struct {
	kind string
	step func(m *machine) (any, bool)
	done bool
}

func (it *funcIterator) name() string { return it.kind }

func (it *funcIterator) next(m *machine) (any, bool) {
	if it.done {
		return nil, false
	}
	m.step()
	v, ok := it.step(m)
	it.done = !ok
	return v, ok
}

// collect appends the items of a value.
func (m *machine) collect(items []any, v any) []any {
	switch v := v.(type) {
	case *list:
		m.allocItems(len(v.items))
		return append(items, v.items...)
	case *tuple:
		m.allocItems(len(v.items))
		return append(items, v.items...)
	}
	it := m.iter(v)
	for {
		item, ok := m.advance(it)
		if !ok {
			return items
		}
		m.allocItems(1)
		m.chargeSteps(1)
		items = append(items, item)
	}
}

// extend appends the items of a value to a list.
func (m *machine) extend(l *list, v any) {
	if n, ok := v.(*list); ok {
		m.allocItems(len(n.items))
		l.items = append(l.items, n.items...)
		return
	}
	items := m.collect(nil, v)
	l.items = append(l.items, items...)
}
