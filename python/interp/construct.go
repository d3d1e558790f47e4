package interp

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

func newStr(a *arguments) any {
	args := a.bind(0, "object", "encoding", "errors")
	switch {
	case args[1] != absent || args[2] != absent:
		panic(raise("TypeError", "decoding str is not supported"))
	case args[0] == absent:
		return ""
	}
	return a.str(args[0])
}

func newBool(a *arguments) any {
	return truth(a.positionalOnly(0, 1)[0])
}

func newInt(a *arguments) any {
	args := a.bind(0, "x", "base")
	if args[1] != absent {
		text := requireString(args[0], "int() can't convert non-string with explicit base")
		base := machineInt(args[1], true)
		if base != 0 && (base < 2 || base > 36) {
			panic(raise("ValueError", "int() base must be >= 2 and <= 36, or 0"))
		}
		return a.parseInt(text, base)
	}
	switch v := args[0].(type) {
	case absentType:
		return 0
	case string:
		return a.parseInt(v, 10)
	case float64:
		return truncate(v)
	}
	if i, ok := toBigInt(args[0]); ok {
		return normalize(i)
	}
	panic(raise("TypeError", "int() argument must be a string, a bytes-like object or a number, not '%s'", typeName(args[0])))
}

func (m *machine) parseInt(text string, base int) any {
	wrong := func() error {
		repr := m.repr(text)
		repr = repr[:byteOffset(repr, 200)]
		return raise("ValueError", "invalid literal for int() with base %d: %s", base, repr)
	}
	m.chargeSteps(len(text) / 8)
	number, sign := python.ASCIIDigits(text), ""
	if number != "" && (number[0] == '-' || number[0] == '+') {
		sign, number = number[:1], number[1:]
	}
	if len(number) > 1 && number[0] == '0' {
		prefixed := map[byte]int{'x': 16, 'o': 8, 'b': 2}[number[1]|0x20]
		switch {
		case prefixed != 0 && (base == 0 || base == prefixed):
			base, number = prefixed, strings.TrimPrefix(number[2:], "_")
		case base == 0 && strings.Trim(number, "0_") != "":
			panic(wrong())
		}
	}
	if base == 0 {
		base = 10
	}
	digits, ok := python.JoinDigits(number, base)
	if !ok {
		panic(wrong())
	}
	if len(digits) > limit.IntDigits && base&(base-1) != 0 {
		panic(raise("ValueError", "Exceeds the limit (%d) for integer string conversion: value has %d digits", limit.IntDigits, len(digits)))
	}
	if digits == "" || strings.ContainsAny(digits, "+-") {
		panic(wrong())
	}
	m.alloc(len(digits))
	if len(digits) > limit.IntBits {
		panic(tooLarge())
	}
	i, ok := new(big.Int).SetString(sign+digits, base)
	if !ok {
		panic(wrong())
	}
	return checkSize(i)
}

func newFloat(a *arguments) any {
	args := a.positionalOnly(0, 1)
	switch {
	case args[0] == absent:
		return 0.0
	case isNumber(args[0]):
		return float(args[0])
	}
	text := requireString(args[0], "float() argument must be a string or a number, not '%s'")
	a.chargeSteps(len(text) / 8)
	if f, ok := python.ParseFloat(text); ok {
		return f
	}
	if python.Strip(text) == "" {
		text = ""
	}
	repr := a.repr(text)
	panic(raise("ValueError", "could not convert string to float: %s", repr))
}

// optional returns the items of the optional argument.
func (a *arguments) optional() []any {
	args := a.positionalOnly(0, 1)
	if args[0] == absent {
		return nil
	}
	return a.collect(nil, args[0])
}

func newList(a *arguments) any {
	items := a.optional()
	return &list{items}
}

func newTuple(a *arguments) any {
	if len(a.positional) == 1 {
		if t, ok := a.positional[0].(*tuple); ok {
			return t
		}
	}
	items := a.optional()
	return &tuple{items}
}

func newSet(a *arguments) any {
	return a.setOf(a.optional(), false)
}

func newFrozenSet(a *arguments) any {
	return a.setOf(a.optional(), true)
}

func newDict(a *arguments) any {
	if len(a.positional) > 1 {
		panic(raise("TypeError", "dict expected at most 1 argument, got %d", len(a.positional)))
	}
	d := &dict{}
	if len(a.positional) == 1 {
		a.update(d, a.positional[0])
	}
	for _, k := range a.named {
		a.put(&d.table, k.name, k.value)
	}
	return d
}

func fromKeys(a *arguments) any {
	args := a.positionalOnly(1, 2)
	d := &dict{}
	for _, key := range a.collect(nil, args[0]) {
		a.put(&d.table, key, orDefault(args[1], nil))
	}
	return d
}

// update puts the items of a dict, or of a sequence of pairs, into a dict.
func (m *machine) update(d *dict, v any) {
	if other, ok := v.(*dict); ok {
		m.allocItems(2 * other.live)
		for _, e := range other.all() {
			d.put(e.hash, e.key, e.value)
		}
		return
	}
	pairs := m.collect(nil, v)
	for i, pair := range pairs {
		if !iterable(pair) {
			panic(raise("TypeError", "cannot convert dictionary update sequence element #%d to a sequence", i))
		}
		items := m.collect(nil, pair)
		if len(items) != 2 {
			panic(raise("ValueError", "dictionary update sequence element #%d has length %d; 2 is required", i, len(items)))
		}
		m.put(&d.table, items[0], items[1])
	}
}

func newRange(a *arguments) any {
	args := a.positionalOnly(1, 3)
	bounds := []int{0, 0, 1}
	for i, arg := range args {
		if arg == absent {
			continue
		}
		bounds[i] = machineInt(arg, false)
		if m := magnitude(bounds[i]); m > 1<<61 {
			panic(exhausted("MemoryError", "the range is too large"))
		}
	}
	if args[1] == absent {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	if bounds[2] == 0 {
		panic(raise("ValueError", "range() arg 3 must not be zero"))
	}
	return &rangeValue{bounds[0], bounds[1], bounds[2]}
}

// iterators returns the iterators of all arguments.
func (a *arguments) iterators(from int) []iterator {
	all := make([]iterator, 0, len(a.positional))
	for _, arg := range a.positional[from:] {
		all = append(all, a.iter(arg))
	}
	a.allocItems(1 + len(all))
	return all
}

// nextRow returns the next item of each iterator. ok is false if one is exhausted: ended is the
// index of the first of them.
func (m *machine) nextRow(its []iterator) (items []any, ended int, ok bool) {
	m.allocItems(len(its))
	items = make([]any, len(its))
	for i, it := range its {
		if items[i], ok = m.advance(it); !ok {
			return nil, i, false
		}
	}
	return items, 0, len(its) > 0
}

func newZip(a *arguments) any {
	strict := false
	for _, k := range a.named {
		if k.name != "strict" {
			panic(raise("TypeError", "zip() got an unexpected keyword argument '%s'", k.name))
		}
		strict = truth(k.value)
	}
	its := a.iterators(0)
	return &funcIterator{kind: "zip", step: func(m *machine) (any, bool) {
		items, ended, ok := m.nextRow(its)
		if !ok && strict {
			m.requireEqualLength(its, ended)
		}
		return &tuple{items}, ok
	}}
}

// requireEqualLength panics with the error of zip(strict=True) unless all iterators are exhausted.
// The one at index ended is the first that was.
func (m *machine) requireEqualLength(its []iterator, ended int) {
	wrong := func(i int, length string) {
		others := " 1"
		if i > 1 {
			others = "s 1-" + strconv.Itoa(i)
		}
		panic(raise("ValueError", "zip() argument %d is %s than argument%s", i+1, length, others))
	}
	if ended > 0 {
		wrong(ended, "shorter")
	}
	for i := 1; i < len(its); i++ {
		if _, more := m.advance(its[i]); more {
			wrong(i, "longer")
		}
	}
}

func newMap(a *arguments) any {
	if len(a.positional) < 2 {
		panic(raise("TypeError", "map() must have at least two arguments."))
	}
	its := a.iterators(1)
	f := a.positional[0]
	return &funcIterator{kind: "map", step: func(m *machine) (any, bool) {
		items, _, ok := m.nextRow(its)
		if !ok {
			return nil, false
		}
		return m.call(f, items, nil), true
	}}
}

func newFilter(a *arguments) any {
	if len(a.positional) != 2 {
		panic(raise("TypeError", "filter expected 2 arguments, got %d", len(a.positional)))
	}
	its := a.iterators(1)
	f := a.positional[0]
	return &funcIterator{kind: "filter", step: func(m *machine) (any, bool) {
		for {
			items, _, ok := m.nextRow(its)
			if !ok {
				return nil, false
			}
			item := items[0] // the call owns items
			kept := item
			if f != nil {
				kept = m.call(f, items, nil)
			}
			if truth(kept) {
				return item, true
			}
			m.step()
		}
	}}
}

func newEnumerate(a *arguments) any {
	args := a.bind(1, "iterable", "start")
	start := machineInt(orDefault(args[1], 0), false)
	it := a.iter(args[0])
	return &funcIterator{kind: "enumerate", step: func(m *machine) (any, bool) {
		v, ok := m.advance(it)
		if !ok {
			return nil, false
		}
		start++
		m.allocItems(2)
		return &tuple{[]any{start - 1, v}}, true
	}}
}

func newReversed(a *arguments) any {
	v := a.one()
	switch v.(type) {
	case *list, *tuple, *rangeValue, string, *dict, *view:
	default:
		panic(raise("TypeError", "'%s' object is not reversible", typeName(v)))
	}
	items := a.collect(nil, v)
	slices.Reverse(items)
	kind := "reversed"
	if _, ok := v.(*list); ok {
		kind = "list_reverseiterator"
	}
	return &sequenceIterator{items: &items, kind: kind}
}
