package interp

import (
	"slices"
)

// sequenceOf returns the items of the method's list or tuple.
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

func (a *arguments) find(items []any, v any) int {
	for i, item := range items {
		if a.identical(item, v, 0) {
			return i
		}
	}
	return -1
}

func indexOf(a *arguments) any {
	args := a.positionalOnly(1, 3)
	items := a.sequenceOf()
	s := slice{low: orDefault(args[1], nil), high: orDefault(args[2], nil)}
	first, last, _ := s.bounds(len(items))
	i := a.find(items[min(first, last):last], args[0])
	if i < 0 {
		if _, ok := a.self.(*tuple); ok {
			panic(raise("ValueError", "tuple.index(x): x not in tuple"))
		}
		repr := a.repr(args[0])
		panic(raise("ValueError", "%s is not in list", repr))
	}
	return first + i
}

func countOf(a *arguments) any {
	v := a.one()
	n := 0
	for _, item := range a.sequenceOf() {
		if a.identical(item, v, 0) {
			n++
		}
	}
	return n
}

func listAppend(a *arguments) any {
	l, args := self[*list](a, 1, 1)
	a.allocItems(1)
	l.items = append(l.items, args[0])
	return nil
}

func listExtend(a *arguments) any {
	l, args := self[*list](a, 1, 1)
	a.extend(l, args[0])
	return nil
}

func listInsert(a *arguments) any {
	l, args := self[*list](a, 2, 2)
	i := machineInt(args[0], true)
	a.allocItems(1)
	a.chargeSteps(len(l.items) / 64)
	if i < 0 {
		i = max(0, i+len(l.items))
	}
	l.items = slices.Insert(l.items, min(i, len(l.items)), args[1])
	return nil
}

func listPop(a *arguments) any {
	l, args := self[*list](a, 0, 1)
	i := machineInt(orDefault(args[0], -1), true)
	if len(l.items) == 0 {
		panic(raise("IndexError", "pop from empty list"))
	}
	i = resolveIndex(i, len(l.items), "pop")
	a.chargeSteps((len(l.items) - i) / 64)
	v := l.items[i]
	l.items = slices.Delete(l.items, i, i+1)
	return v
}

func listRemove(a *arguments) any {
	l, args := self[*list](a, 1, 1)
	i := a.find(l.items, args[0])
	if i < 0 {
		panic(raise("ValueError", "list.remove(x): x not in list"))
	}
	l.items = slices.Delete(l.items, i, i+1)
	a.chargeSteps(len(l.items) / 64)
	return nil
}

// listNoArgument implements clear, reverse and copy.
func listNoArgument(a *arguments) any {
	l, _ := self[*list](a, 0, 0)
	switch a.name {
	case "clear":
		l.items = nil
		return nil
	case "reverse":
		slices.Reverse(l.items)
		a.chargeSteps(len(l.items) / 16)
		return nil
	default:
		a.allocItems(len(l.items))
		return &list{slices.Clone(l.items)}
	}
}

func listSort(a *arguments) any {
	l, _ := a.self.(*list)
	if len(a.positional) > 0 {
		panic(raise("TypeError", "sort() takes no positional arguments"))
	}
	items := l.items
	l.items = nil // as in Python, the list is empty while it is sorted
	defer func() { l.items = items }()
	a.sort(items)
	if len(l.items) > 0 {
		panic(raise("ValueError", "list modified during sort"))
	}
	return nil
}

// dictAccess implements get, pop and setdefault.
func dictAccess(a *arguments) any {
	d, args := self[*dict](a, 1, 2)
	i := a.get(&d.table, args[0])
	switch {
	case i >= 0 && a.name == "pop":
		v := d.entries[i].value
		d.remove(i)
		return v
	case i >= 0:
		return d.entries[i].value
	case args[1] == absent && a.name == "pop":
		panic(raiseValue("KeyError", args[0]))
	}
	otherwise := orDefault(args[1], nil)
	if a.name == "setdefault" {
		a.put(&d.table, args[0], otherwise)
	}
	return otherwise
}

func dictView(a *arguments) any {
	d, _ := self[*dict](a, 0, 0)
	return &view{d, map[string]viewKind{"keys": viewKeys, "values": viewValues, "items": viewItems}[a.name]}
}

// dictNoArgument implements clear, copy and popitem.
func dictNoArgument(a *arguments) any {
	d, _ := self[*dict](a, 0, 0)
	switch a.name {
	case "clear":
		d.clear()
		return nil
	case "copy":
		c := &dict{}
		a.update(c, d)
		return c
	}
	if d.live == 0 {
		panic(raise("KeyError", "popitem(): dictionary is empty"))
	}
	i := len(d.entries) - 1
	e := d.entries[i]
	d.remove(i)
	a.allocItems(2)
	return &tuple{[]any{e.key, e.value}}
}

func dictUpdate(a *arguments) any {
	d, _ := a.self.(*dict)
	a.update(d, newDict(&arguments{a.machine, "update", nil, a.positional, a.named}))
	return nil
}
