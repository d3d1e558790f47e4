package interp

import (
	"slices"
)

// sequenceMethod returns a method of lists and tuples that changes nothing.
func sequenceMethod(name string) native {
	switch name {
	case "index":
		return indexOf
	case "count":
		return countOf
	default:
		return nil
	}
}

func tupleMethod(name string) native { return sequenceMethod(name) }

// listMethod returns a method of lists.
func listMethod(name string) native {
	switch name {
	case "append":
		return listAppend
	case "extend":
		return listExtend
	case "insert":
		return listInsert
	case "pop":
		return listPop
	case "remove":
		return listRemove
	case "clear", "reverse", "copy":
		return listWhole
	case "sort":
		return listSort
	default:
		return sequenceMethod(name)
	}
}

// sequenceOf returns the items of the list or tuple whose method was called.
func (a *arguments) sequenceOf() []any {
	switch self := a.self.(type) {
	case *list:
		return self.items
	case *tuple:
		return self.items
	default:
		return nil
	}
}

// listOf returns the list whose method was called, and its arguments.
func (a *arguments) listOf(least, most int) (*list, []any, error) {
	args, err := a.positionalOnly(least, most)
	l, ok := a.self.(*list)
	if !ok && err == nil {
		err = raise("TypeError", "a list is needed")
	}
	return l, args, err
}

func (a *arguments) find(items []any, v any) (int, error) {
	for i, item := range items {
		if equal, err := a.identical(item, v, 0); err != nil || equal {
			return i, err
		}
	}
	return -1, nil
}

func indexOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 3)
	if err != nil {
		return nil, err
	}
	items := a.sequenceOf()
	s := slice{}
	for i, bound := range []*any{&s.low, &s.high} {
		if args[i+1] != absent {
			*bound = args[i+1]
		}
	}
	first, last, _, err := s.bounds(len(items))
	if err != nil {
		return nil, err
	}
	i, err := a.find(items[min(first, last):last], args[0])
	if err != nil {
		return nil, err
	}
	if i < 0 {
		if _, ok := a.self.(*tuple); ok {
			return nil, raise("ValueError", "tuple.index(x): x not in tuple")
		}
		shown, err := a.repr(args[0])
		if err != nil {
			return nil, err
		}
		return nil, raise("ValueError", "%s is not in list", shown)
	}
	return first + i, nil
}

func countOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, item := range a.sequenceOf() {
		equal, err := a.identical(item, args[0], 0)
		if err != nil {
			return nil, err
		}
		if equal {
			n++
		}
	}
	return n, nil
}

func listAppend(a *arguments) (any, error) {
	l, args, err := a.listOf(1, 1)
	if err != nil {
		return nil, err
	}
	if err := a.allocItems(1); err != nil {
		return nil, err
	}
	l.items = append(l.items, args[0])
	return nil, nil
}

func listExtend(a *arguments) (any, error) {
	l, args, err := a.listOf(1, 1)
	if err != nil {
		return nil, err
	}
	return nil, a.extend(l, args[0])
}

func listInsert(a *arguments) (any, error) {
	l, args, err := a.listOf(2, 2)
	if err != nil {
		return nil, err
	}
	i, err := machineInt(args[0], true)
	if err != nil {
		return nil, err
	}
	if err := a.allocItems(1); err != nil {
		return nil, err
	}
	if err := a.spend(len(l.items) / 64); err != nil {
		return nil, err
	}
	if i < 0 {
		i = max(0, i+len(l.items))
	}
	l.items = slices.Insert(l.items, min(i, len(l.items)), args[1])
	return nil, nil
}

func listPop(a *arguments) (any, error) {
	l, args, err := a.listOf(0, 1)
	if err != nil {
		return nil, err
	}
	if args[0] == absent {
		args[0] = -1
	}
	i, err := machineInt(args[0], true)
	if err != nil {
		return nil, err
	}
	if len(l.items) == 0 {
		return nil, raise("IndexError", "pop from empty list")
	}
	if i, err = place(i, len(l.items), "pop"); err != nil {
		return nil, err
	}
	if err := a.spend((len(l.items) - i) / 64); err != nil {
		return nil, err
	}
	v := l.items[i]
	l.items = slices.Delete(l.items, i, i+1)
	return v, nil
}

func listRemove(a *arguments) (any, error) {
	l, args, err := a.listOf(1, 1)
	if err != nil {
		return nil, err
	}
	i, err := a.find(l.items, args[0])
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, raise("ValueError", "list.remove(x): x not in list")
	}
	l.items = slices.Delete(l.items, i, i+1)
	return nil, a.spend(len(l.items) / 64)
}

// listWhole is clear, reverse and copy.
func listWhole(a *arguments) (any, error) {
	l, _, err := a.listOf(0, 0)
	if err != nil {
		return nil, err
	}
	switch a.name {
	case "clear":
		l.items = nil
		return nil, nil
	case "reverse":
		slices.Reverse(l.items)
		return nil, a.spend(len(l.items) / 16)
	default:
		if err := a.allocItems(len(l.items)); err != nil {
			return nil, err
		}
		return &list{slices.Clone(l.items)}, nil
	}
}

func listSort(a *arguments) (any, error) {
	l, ok := a.self.(*list)
	if !ok || len(a.positional) > 0 {
		return nil, raise("TypeError", "sort() takes no positional arguments")
	}
	items := l.items
	l.items = nil // as in Python, the list is empty while it is sorted
	err := a.sort(items)
	changed := len(l.items) > 0
	l.items = items
	if err == nil && changed {
		err = raise("ValueError", "list modified during sort")
	}
	return nil, err
}

// dictMethod returns a method of dicts.
func dictMethod(name string) native {
	switch name {
	case "get", "pop", "setdefault":
		return dictAccess
	case "keys", "values", "items":
		return dictView
	case "clear", "copy", "popitem":
		return dictWhole
	case "update":
		return dictUpdate
	default:
		return nil
	}
}

// dictOf returns the dict whose method was called, and its arguments.
func (a *arguments) dictOf(least, most int) (*dict, []any, error) {
	args, err := a.positionalOnly(least, most)
	d, ok := a.self.(*dict)
	if !ok && err == nil {
		err = raise("TypeError", "a dict is needed")
	}
	return d, args, err
}

// dictAccess is get, pop and setdefault.
func dictAccess(a *arguments) (any, error) {
	d, args, err := a.dictOf(1, 2)
	if err != nil {
		return nil, err
	}
	i, err := a.get(&d.table, args[0])
	if err != nil {
		return nil, err
	}
	switch {
	case i >= 0 && a.name == "pop":
		v := d.entries[i].value
		d.remove(i)
		return v, nil
	case i >= 0:
		return d.entries[i].value, nil
	case args[1] == absent && a.name == "pop":
		return nil, raiseValue("KeyError", args[0])
	case args[1] == absent:
		args[1] = nil
	}
	if a.name == "setdefault" {
		return args[1], a.put(&d.table, args[0], args[1])
	}
	return args[1], nil
}

func dictView(a *arguments) (any, error) {
	d, _, err := a.dictOf(0, 0)
	return &view{d, map[string]viewKind{"keys": viewKeys, "values": viewValues, "items": viewItems}[a.name]}, err
}

// dictWhole is clear, copy and popitem.
func dictWhole(a *arguments) (any, error) {
	d, _, err := a.dictOf(0, 0)
	if err != nil {
		return nil, err
	}
	switch a.name {
	case "clear":
		d.clear()
		return nil, nil
	case "copy":
		c := &dict{}
		return c, a.update(c, d)
	}
	if d.live == 0 {
		return nil, raise("KeyError", "popitem(): dictionary is empty")
	}
	i := len(d.entries) - 1
	e := d.entries[i]
	d.remove(i)
	return &tuple{[]any{e.key, e.value}}, a.allocItems(2)
}

func dictUpdate(a *arguments) (any, error) {
	d, ok := a.self.(*dict)
	if !ok {
		return nil, raise("TypeError", "a dict is needed")
	}
	more, err := newDict(&arguments{a.machine, "update", nil, a.positional, a.named})
	if err != nil {
		return nil, err
	}
	return nil, a.update(d, more)
}
