package interp

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolsandbox/toolsandbox/internal/python/limit"
)

func newStr(a *arguments) (any, error) {
	args, err := a.bind(0, "object", "encoding", "errors")
	switch {
	case err != nil:
		return nil, err
	case args[1] != absent || args[2] != absent:
		return nil, raise("TypeError", "decoding str is not supported")
	case args[0] == absent:
		return "", nil
	}
	return a.str(args[0])
}

func newBool(a *arguments) (any, error) {
	args, err := a.positionalOnly(0, 1)
	if err != nil || args[0] == absent {
		return false, err
	}
	return truth(args[0]), nil
}

func newInt(a *arguments) (any, error) {
	args, err := a.bind(0, "x", "base")
	if err != nil {
		return nil, err
	}
	if args[1] != absent {
		text, ok := args[0].(string)
		if !ok {
			return nil, raise("TypeError", "int() can't convert non-string with explicit base")
		}
		base, err := machineInt(args[1], true)
		if err != nil {
			return nil, err
		}
		if base != 0 && (base < 2 || base > 36) {
			return nil, raise("ValueError", "int() base must be >= 2 and <= 36, or 0")
		}
		return a.parseInt(text, base)
	}
	switch v := args[0].(type) {
	case absentType:
		return 0, nil
	case string:
		return a.parseInt(v, 10)
	case float64:
		return truncate(v)
	}
	if i, ok := whole(args[0]); ok {
		return normal(i), nil
	}
	return nil, raise("TypeError", "int() argument must be a string, a bytes-like object or a number, not '%s'", typeName(args[0]))
}

// digits returns the digits of a number in text as ASCII, and whether underscores stand only
// between digits.
func asciiDigits(text string) (string, bool) {
	text = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII && unicode.Is(unicode.Nd, r) {
			zero := r
			for zero > 0 && unicode.Is(unicode.Nd, zero-1) && r-zero < 9 {
				zero--
			}
			return '0' + (r-zero)%10
		}
		return r
	}, text)
	digit := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z')
	}
	for i := range len(text) {
		if text[i] == '_' && (!digit(i-1) || !digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

func (m *machine) parseInt(text string, base int) (any, error) {
	wrong := func() error {
		shown, err := m.repr(text)
		if err != nil {
			return err
		}
		shown = shown[:offset(shown, 200)]
		return raise("ValueError", "invalid literal for int() with base %d: %s", base, shown)
	}
	if err := m.spend(len(text) / 8); err != nil {
		return nil, err
	}
	digits, ok := asciiDigits(strings.TrimFunc(text, isSpace))
	if !ok {
		return nil, wrong()
	}
	sign := ""
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		sign, digits = digits[:1], digits[1:]
	}
	if len(digits) > 1 && digits[0] == '0' {
		prefixed := map[byte]int{'x': 16, 'o': 8, 'b': 2}[digits[1]|0x20]
		switch {
		case prefixed != 0 && (base == 0 || base == prefixed):
			base, digits = prefixed, digits[2:]
		case base == 0 && strings.Trim(digits, "0") != "":
			return nil, wrong()
		}
	}
	if base == 0 {
		base = 10
	}
	if len(digits) > limit.Digits && base&(base-1) != 0 {
		return nil, raise("ValueError", "Exceeds the limit (%d) for integer string conversion: value has %d digits", limit.Digits, len(digits))
	}
	if digits == "" || strings.ContainsAny(digits, "+-") {
		return nil, wrong()
	}
	if err := m.alloc(len(digits)); err != nil {
		return nil, err
	}
	if len(digits) > limit.Bits {
		return nil, tooLarge()
	}
	i, ok := new(big.Int).SetString(sign+digits, base)
	if !ok {
		return nil, wrong()
	}
	return fits(i)
}

func newFloat(a *arguments) (any, error) {
	args, err := a.positionalOnly(0, 1)
	switch {
	case err != nil:
		return nil, err
	case args[0] == absent:
		return 0.0, nil
	case isNumber(args[0]):
		return float(args[0])
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, raise("TypeError", "float() argument must be a string or a number, not '%s'", typeName(args[0]))
	}
	if err := a.spend(len(text) / 8); err != nil {
		return nil, err
	}
	digits, ok := asciiDigits(strings.TrimFunc(text, isSpace))
	bare := strings.ToLower(strings.TrimLeft(digits, "+-"))
	named := bare == "inf" || bare == "infinity" || bare == "nan"
	if ok && (named || bare != "" && strings.Trim(bare, "0123456789.e+-") == "") {
		if f, err := strconv.ParseFloat(digits, 64); err == nil || math.IsInf(f, 0) {
			return f, nil
		}
		if bare == "nan" && len(digits) == len(bare)+1 {
			return math.NaN(), nil
		}
	}
	if strings.TrimFunc(text, isSpace) == "" {
		text = ""
	}
	shown, err := a.repr(text)
	if err != nil {
		return nil, err
	}
	return nil, raise("ValueError", "could not convert string to float: %s", shown)
}

// optional returns the items of the one argument that may be given.
func (a *arguments) optional() ([]any, error) {
	args, err := a.positionalOnly(0, 1)
	if err != nil || args[0] == absent {
		return nil, err
	}
	return a.collect(nil, args[0])
}

func newList(a *arguments) (any, error) {
	items, err := a.optional()
	return &list{items}, err
}

func newTuple(a *arguments) (any, error) {
	if len(a.positional) == 1 {
		if t, ok := a.positional[0].(*tuple); ok {
			return t, nil
		}
	}
	items, err := a.optional()
	return &tuple{items}, err
}

func newSet(a *arguments) (any, error) {
	items, err := a.optional()
	if err != nil {
		return nil, err
	}
	return a.setOf(items, false)
}

func newFrozenSet(a *arguments) (any, error) {
	items, err := a.optional()
	if err != nil {
		return nil, err
	}
	return a.setOf(items, true)
}

func newDict(a *arguments) (any, error) {
	if len(a.positional) > 1 {
		return nil, raise("TypeError", "dict expected at most 1 argument, got %d", len(a.positional))
	}
	d := &dict{}
	if len(a.positional) == 1 {
		if err := a.update(d, a.positional[0]); err != nil {
			return nil, err
		}
	}
	for _, k := range a.named {
		if err := a.put(&d.table, k.name, k.value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func fromKeys(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 2)
	if err != nil {
		return nil, err
	}
	if args[1] == absent {
		args[1] = nil
	}
	keys, err := a.collect(nil, args[0])
	if err != nil {
		return nil, err
	}
	d := &dict{}
	for _, key := range keys {
		if err := a.put(&d.table, key, args[1]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// update puts the items of a dict, or of pairs, into a dict.
func (m *machine) update(d *dict, v any) error {
	if other, ok := v.(*dict); ok {
		if err := m.allocItems(2 * other.live); err != nil {
			return err
		}
		for _, e := range other.all() {
			d.put(e.hash, e.key, e.value)
		}
		return nil
	}
	pairs, err := m.collect(nil, v)
	if err != nil {
		return err
	}
	for i, pair := range pairs {
		it, err := m.iter(pair)
		if err != nil {
			return raise("TypeError", "cannot convert dictionary update sequence element #%d to a sequence", i)
		}
		items, err := m.collect(nil, it)
		if err != nil {
			return err
		}
		if len(items) != 2 {
			return raise("ValueError", "dictionary update sequence element #%d has length %d; 2 is required", i, len(items))
		}
		if err := m.put(&d.table, items[0], items[1]); err != nil {
			return err
		}
	}
	return nil
}

func newRange(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 3)
	if err != nil {
		return nil, err
	}
	bounds := []int{0, 0, 1}
	for i, arg := range args {
		if arg == absent {
			continue
		}
		if bounds[i], err = machineInt(arg, false); err != nil {
			return nil, err
		}
		if m := magnitude(bounds[i]); m > 1<<61 {
			return nil, exhausted("MemoryError", "the range is too large")
		}
	}
	if args[1] == absent {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	if bounds[2] == 0 {
		return nil, raise("ValueError", "range() arg 3 must not be zero")
	}
	return &span{bounds[0], bounds[1], bounds[2]}, nil
}

// iterators returns the iterators of all arguments.
func (a *arguments) iterators(from int) ([]iterator, error) {
	all := make([]iterator, 0, len(a.positional))
	for _, arg := range a.positional[from:] {
		it, err := a.iter(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, it)
	}
	return all, a.allocItems(1 + len(all))
}

// row returns the next items of iterators; ok is false as soon as one is at its end.
func (m *machine) row(its []iterator) (items []any, ok bool, err error) {
	if err := m.allocItems(len(its)); err != nil {
		return nil, false, err
	}
	items = make([]any, len(its))
	for i, it := range its {
		if items[i], ok, err = m.advance(it); err != nil || !ok {
			return nil, false, err
		}
	}
	return items, len(its) > 0, nil
}

func newZip(a *arguments) (any, error) {
	strict := false
	for _, k := range a.named {
		if k.name != "strict" {
			return nil, raise("TypeError", "zip() got an unexpected keyword argument '%s'", k.name)
		}
		strict = truth(k.value)
	}
	its, err := a.iterators(0)
	if err != nil {
		return nil, err
	}
	return &lazy{kind: "zip", step: func(m *machine) (any, bool, error) {
		items, ok, err := m.row(its)
		if err == nil && !ok && strict {
			err = m.longer(its)
		}
		return &tuple{items}, ok, err
	}}, nil
}

// longer returns the error of zip(strict=True) where one argument goes on.
func (m *machine) longer(its []iterator) error {
	for i, it := range its {
		if _, more, err := m.advance(it); err != nil || more && i > 0 {
			if err == nil {
				err = raise("ValueError", "zip() argument %d is longer than argument 1", i+1)
			}
			return err
		}
	}
	return nil
}

func newMap(a *arguments) (any, error) {
	if len(a.positional) < 2 {
		return nil, raise("TypeError", "map() must have at least two arguments.")
	}
	its, err := a.iterators(1)
	if err != nil {
		return nil, err
	}
	f := a.positional[0]
	return &lazy{kind: "map", step: func(m *machine) (any, bool, error) {
		items, ok, err := m.row(its)
		if err != nil || !ok {
			return nil, false, err
		}
		v, err := m.call(f, items, nil)
		return v, err == nil, err
	}}, nil
}

func newFilter(a *arguments) (any, error) {
	if len(a.positional) != 2 {
		return nil, raise("TypeError", "filter expected 2 arguments, got %d", len(a.positional))
	}
	its, err := a.iterators(1)
	if err != nil {
		return nil, err
	}
	f := a.positional[0]
	return &lazy{kind: "filter", step: func(m *machine) (any, bool, error) {
		for {
			items, ok, err := m.row(its)
			if err != nil || !ok {
				return nil, false, err
			}
			v := items[0]
			if f != nil {
				if v, err = m.call(f, items, nil); err != nil {
					return nil, false, err
				}
			}
			if truth(v) {
				return items[0], true, nil
			}
			if err := m.step(); err != nil {
				return nil, false, err
			}
		}
	}}, nil
}

func newEnumerate(a *arguments) (any, error) {
	args, err := a.bind(1, "iterable", "start")
	if err != nil {
		return nil, err
	}
	start := 0
	if args[1] != absent {
		if start, err = machineInt(args[1], false); err != nil {
			return nil, err
		}
	}
	it, err := a.iter(args[0])
	if err != nil {
		return nil, err
	}
	return &lazy{kind: "enumerate", step: func(m *machine) (any, bool, error) {
		v, ok, err := m.advance(it)
		if err != nil || !ok {
			return nil, false, err
		}
		start++
		return &tuple{[]any{start - 1, v}}, true, m.allocItems(2)
	}}, nil
}

func newReversed(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	switch args[0].(type) {
	case *list, *tuple, *span, string, *dict, *view:
	default:
		return nil, raise("TypeError", "'%s' object is not reversible", typeName(args[0]))
	}
	items, err := a.collect(nil, args[0])
	if err != nil {
		return nil, err
	}
	slices.Reverse(items)
	kind := "reversed"
	if _, ok := args[0].(*list); ok {
		kind = "list_reverseiterator"
	}
	return &sequenceIterator{items: &items, kind: kind}, nil
}
