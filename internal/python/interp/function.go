package interp

import (
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
)

func printOf(a *arguments) (any, error) {
	separator, end := " ", "\n"
	for _, k := range a.named {
		switch k.name {
		case "sep", "end":
			text, ok := k.value.(string)
			if !ok && k.value != nil {
				return nil, raise("TypeError", "%s must be None or a string, not %s", k.name, typeName(k.value))
			}
			if ok && k.name == "sep" {
				separator = text
			} else if ok {
				end = text
			}
		case "file", "flush":
		default:
			return nil, raise("TypeError", "'%s' is an invalid keyword argument for print()", k.name)
		}
	}
	for i, arg := range a.positional {
		if i > 0 {
			if err := a.write(separator); err != nil {
				return nil, err
			}
		}
		text, err := a.str(arg)
		if err != nil {
			return nil, err
		}
		if err := a.write(text); err != nil {
			return nil, err
		}
	}
	return nil, a.write(end)
}

func reprOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	return a.repr(args[0])
}

func asciiOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	return a.convert(args[0], 'a')
}

func lenOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	if text, ok := args[0].(string); ok {
		if err := a.spend(len(text) / 64); err != nil {
			return nil, err
		}
	}
	return size(args[0])
}

func sortedOf(a *arguments) (any, error) {
	if len(a.positional) != 1 {
		return nil, raise("TypeError", "sorted expected 1 argument, got %d", len(a.positional))
	}
	items, err := a.collect(nil, a.positional[0])
	if err != nil {
		return nil, err
	}
	a.name = "sort"
	return &list{items}, a.sort(items)
}

// sort sorts items by the arguments key and reverse.
func (a *arguments) sort(items []any) error {
	var key any
	reverse := false
	for _, k := range a.named {
		switch k.name {
		case "key":
			key = k.value
		case "reverse":
			if _, _, ok := integer(k.value); !ok {
				if _, isFloat := k.value.(float64); isFloat {
					return raise("TypeError", "integer argument expected, got float")
				}
				return raise("TypeError", "an integer is required (got type %s)", typeName(k.value))
			}
			reverse = truth(k.value)
		default:
			return raise("TypeError", "'%s' is an invalid keyword argument for sort()", k.name)
		}
	}
	if err := a.allocItems(2 * len(items)); err != nil {
		return err
	}
	s := sorter{machine: a.machine, reverse: reverse}
	for _, item := range items {
		k := item
		if key != nil {
			var err error
			if k, err = a.call(key, []any{item}, nil); err != nil {
				return err
			}
		}
		s.pairs = append(s.pairs, [2]any{k, item})
	}
	sort.Stable(&s)
	for i := range s.pairs {
		items[i] = s.pairs[i][1]
	}
	return s.err
}

// sorter sorts by keys. It stops comparing at the first error.
type sorter struct {
	*machine
	pairs   [][2]any
	reverse bool
	err     error
}

func (s *sorter) Len() int { return len(s.pairs) }

func (s *sorter) Less(i, j int) bool {
	if s.err != nil {
		return false
	}
	if s.reverse {
		i, j = j, i
	}
	var less bool
	less, s.err = s.less("<", s.pairs[i][0], s.pairs[j][0], 0)
	return less
}

func (s *sorter) Swap(i, j int) { s.pairs[i], s.pairs[j] = s.pairs[j], s.pairs[i] }

func minOf(a *arguments) (any, error) { return a.extreme("<") }

func maxOf(a *arguments) (any, error) { return a.extreme(">") }

// extreme is min and max.
func (a *arguments) extreme(op string) (any, error) {
	var key any
	otherwise := absent
	for _, k := range a.named {
		switch k.name {
		case "key":
			key = k.value
		case "default":
			otherwise = k.value
		default:
			return nil, raise("TypeError", "'%s' is an invalid keyword argument for %s()", k.name, a.name)
		}
	}
	items := a.positional
	switch len(a.positional) {
	case 0:
		return nil, raise("TypeError", "%s expected 1 argument, got 0", a.name)
	case 1:
		var err error
		if items, err = a.collect(nil, a.positional[0]); err != nil {
			return nil, err
		}
	default:
		if otherwise != absent {
			return nil, raise("TypeError", "Cannot specify a default for %s() with multiple positional arguments", a.name)
		}
	}
	var best, bestKey any
	for i, item := range items {
		k := item
		if key != nil {
			var err error
			if k, err = a.call(key, []any{item}, nil); err != nil {
				return nil, err
			}
		}
		better := i == 0
		if !better {
			var err error
			if better, err = a.less(op, k, bestKey, 0); err != nil {
				return nil, err
			}
		}
		if better {
			best, bestKey = item, k
		}
	}
	if len(items) > 0 {
		return best, nil
	}
	if otherwise != absent {
		return otherwise, nil
	}
	return nil, raise("ValueError", "%s() arg is an empty sequence", a.name)
}

func sumOf(a *arguments) (any, error) {
	args, err := a.bind(1, "iterable", "start")
	if err != nil {
		return nil, err
	}
	total := args[1]
	if total == absent {
		total = 0
	}
	if _, ok := total.(string); ok {
		return nil, raise("TypeError", "sum() can't sum strings [use ''.join(seq) instead]")
	}
	it, err := a.iter(args[0])
	if err != nil {
		return nil, err
	}
	for {
		if err := a.step(); err != nil {
			return nil, err
		}
		item, ok, err := a.advance(it)
		if err != nil || !ok {
			return total, err
		}
		if total, err = a.binary("+", total, item); err != nil {
			return nil, err
		}
	}
}

func absOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	if f, ok := args[0].(float64); ok {
		return math.Abs(f), nil
	}
	i, ok := whole(args[0])
	if !ok {
		return nil, raise("TypeError", "bad operand type for abs(): '%s'", typeName(args[0]))
	}
	return normal(new(big.Int).Abs(i)), a.alloc(i.BitLen() / 8)
}

func roundOf(a *arguments) (any, error) {
	args, err := a.bind(1, "number", "ndigits")
	if err != nil {
		return nil, err
	}
	f, isFloat := args[0].(float64)
	if !isNumber(args[0]) {
		return nil, raise("TypeError", "type %s doesn't define __round__ method", typeName(args[0]))
	}
	i, _ := whole(args[0])
	if args[1] == absent || args[1] == nil {
		if !isFloat {
			return normal(i), nil
		}
		return truncate(math.RoundToEven(f))
	}
	digits, err := machineInt(args[1], true)
	switch {
	case err != nil:
		return nil, err
	case !isFloat && digits >= 0:
		return normal(i), nil
	case !isFloat:
		return a.roundInt(i, digits)
	case digits > 400 || math.IsNaN(f) || math.IsInf(f, 0):
		return f, nil
	case digits < -400:
		return math.Copysign(0, f), nil
	case digits >= 0:
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		if err != nil {
			return nil, raise("OverflowError", "rounded value too large to represent")
		}
		return rounded, nil
	}
	return roundTens(f, -digits)
}

// roundTens rounds a float to tens, hundreds and so on: exactly, halves to even.
func roundTens(f float64, zeros int) (any, error) {
	text := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, err := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	if err != nil {
		return nil, raise("ValueError", "cannot round")
	}
	if exponent < zeros {
		if exponent == zeros-1 && math.Abs(f) > 5*math.Pow10(exponent) {
			return math.Copysign(math.Pow10(zeros), f), nil
		}
		return math.Copysign(0, f), nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', exponent-zeros, 64), 64)
	if err != nil {
		return nil, raise("OverflowError", "rounded value too large to represent")
	}
	return rounded, nil
}

// roundInt rounds an int to tens, hundreds and so on, halves to even.
func (a *arguments) roundInt(i *big.Int, digits int) (any, error) {
	if digits < -i.BitLen() {
		return 0, nil
	}
	if err := a.alloc(-digits); err != nil {
		return nil, err
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	quotient, remainder := floorDivide(i, unit)
	twice := new(big.Int).Lsh(remainder, 1)
	if order := twice.Cmp(unit); order > 0 || order == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return fits(quotient.Mul(quotient, unit))
}

func anyOf(a *arguments) (any, error) { return a.decide(true) }

func allOf(a *arguments) (any, error) { return a.decide(false) }

// decide is any and all: it stops at the first item that decides.
func (a *arguments) decide(wanted bool) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	it, err := a.iter(args[0])
	if err != nil {
		return nil, err
	}
	for {
		if err := a.step(); err != nil {
			return nil, err
		}
		item, ok, err := a.advance(it)
		if err != nil {
			return nil, err
		}
		if !ok {
			return !wanted, nil
		}
		if truth(item) == wanted {
			return wanted, nil
		}
	}
}

func formatOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 2)
	if err != nil {
		return nil, err
	}
	if args[1] == absent {
		args[1] = ""
	}
	format, ok := args[1].(string)
	if !ok {
		return nil, raise("TypeError", "format() argument 2 must be str, not %s", givenName(args[1]))
	}
	return a.format(args[0], format)
}

// givenName returns the name of an argument's type as messages about arguments have it.
func givenName(v any) string {
	if v == nil {
		return "None"
	}
	return typeName(v)
}

func nextOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 2)
	if err != nil {
		return nil, err
	}
	it, ok := args[0].(iterator)
	if !ok {
		return nil, raise("TypeError", "'%s' object is not an iterator", typeName(args[0]))
	}
	item, ok, err := a.advance(it)
	switch {
	case err != nil:
		return nil, err
	case ok:
		return item, nil
	case args[1] != absent:
		return args[1], nil
	}
	return nil, raiseValue("StopIteration")
}

func iterOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	return a.iter(args[0])
}
