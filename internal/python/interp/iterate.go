package interp

import (
	"github.com/toolsandbox/toolsandbox/internal/python/limit"
)

// iterator goes over items.
type iterator interface {
	// next returns the next item; ok is false at the end.
	next(m *machine) (item any, ok bool, err error)
	// name is the name of its type.
	name() string
}

// advance returns the next item. It bounds how deep iterators go over each other.
func (m *machine) advance(it iterator) (item any, ok bool, err error) {
	switch it := it.(type) { // these call nothing
	case *sequenceIterator:
		return it.next(m)
	case *spanIterator:
		return it.next(m)
	}
	if m.stack++; m.stack > limit.Stack {
		m.stack--
		return nil, false, tooDeep()
	}
	item, ok, err = it.next(m)
	m.stack--
	return item, ok, err
}

// iter returns iter(v).
func (m *machine) iter(v any) (iterator, error) {
	switch v := v.(type) {
	case *list:
		return &sequenceIterator{items: &v.items, kind: "list_iterator"}, nil
	case *tuple:
		return &sequenceIterator{items: &v.items, kind: "tuple_iterator"}, nil
	case *span:
		return &spanIterator{of: *v, left: v.length()}, nil
	case string:
		return &textIterator{rest: v}, nil
	case *dict:
		return &tableIterator{of: &v.table, live: v.live, what: "dictionary", kind: viewKeys}, nil
	case *set:
		if m.host == nil && v.live > 1 {
			return nil, exhausted("TypeError", "the order of a set is unknown here")
		}
		return &tableIterator{of: &v.table, live: v.live, what: "Set", kind: viewKeys}, nil
	case *view:
		return &tableIterator{of: &v.of.table, live: v.of.live, what: "dictionary", kind: v.kind}, nil
	case iterator:
		return v, nil
	default:
		return nil, raise("TypeError", "'%s' object is not iterable", typeName(v))
	}
}

type sequenceIterator struct {
	items *[]any
	at    int
	kind  string
}

func (it *sequenceIterator) name() string { return it.kind }

func (it *sequenceIterator) next(*machine) (any, bool, error) {
	if it.at >= len(*it.items) {
		it.at = int(^uint(0) >> 1)
		return nil, false, nil
	}
	it.at++
	return (*it.items)[it.at-1], true, nil
}

type spanIterator struct {
	of   span
	left int
}

func (it *spanIterator) name() string { return "range_iterator" }

func (it *spanIterator) next(*machine) (any, bool, error) {
	if it.left == 0 {
		return nil, false, nil
	}
	v := it.of.start
	it.of.start += it.of.step
	it.left--
	return v, true, nil
}

type textIterator struct{ rest string }

func (it *textIterator) name() string { return "str_iterator" }

func (it *textIterator) next(*machine) (any, bool, error) {
	if it.rest == "" {
		return nil, false, nil
	}
	n := width(it.rest)
	c := it.rest[:n]
	it.rest = it.rest[n:]
	return c, true, nil
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

func (it *tableIterator) next(m *machine) (any, bool, error) {
	if it.ended {
		return nil, false, nil
	}
	if it.of.live != it.live {
		it.ended = true
		return nil, false, raise("RuntimeError", "%s changed size during iteration", it.what)
	}
	start := it.at
	for it.at < len(it.of.entries) && it.of.entries[it.at].hash == nil {
		it.at++
	}
	if err := m.spend((it.at - start) / 16); err != nil {
		return nil, false, err
	}
	if it.at >= len(it.of.entries) {
		it.ended = true
		return nil, false, nil
	}
	e := &it.of.entries[it.at]
	it.at++
	switch it.kind {
	case viewKeys:
		return e.key, true, nil
	case viewValues:
		return e.value, true, nil
	default:
		return &tuple{[]any{e.key, e.value}}, true, m.alloc(limit.ItemSize)
	}
}

// lazy is the iterator of a builtin.
type lazy struct {
	kind string
	step func(m *machine) (any, bool, error)
	done bool
}

func (it *lazy) name() string { return it.kind }

func (it *lazy) next(m *machine) (any, bool, error) {
	if it.done {
		return nil, false, nil
	}
	if err := m.step(); err != nil {
		return nil, false, err
	}
	v, ok, err := it.step(m)
	it.done = !ok && err == nil
	return v, ok, err
}

// collect appends the items of a value.
func (m *machine) collect(items []any, v any) ([]any, error) {
	switch v := v.(type) {
	case *list:
		return append(items, v.items...), m.allocItems(len(v.items))
	case *tuple:
		return append(items, v.items...), m.allocItems(len(v.items))
	}
	it, err := m.iter(v)
	if err != nil {
		return nil, err
	}
	for {
		item, ok, err := m.advance(it)
		if err != nil || !ok {
			return items, err
		}
		if err := m.allocItems(1); err != nil {
			return nil, err
		}
		if err := m.spend(1); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
}

// extend appends the items of a value to a list.
func (m *machine) extend(l *list, v any) error {
	if n, ok := v.(*list); ok {
		if err := m.allocItems(len(n.items)); err != nil {
			return err
		}
		l.items = append(l.items, n.items...)
		return nil
	}
	items, err := m.collect(nil, v)
	if err == nil {
		l.items = append(l.items, items...)
	}
	return err
}
