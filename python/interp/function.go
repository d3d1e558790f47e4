package interp

import (
	"math"
	"math/big"
	"sort"
	"strconv"
	"strings"
)

func printOf(a *arguments) any {
	separator, end := " ", "\n"
	for _, k := range a.named {
		switch k.name {
		case "sep", "end":
			text, ok := k.value.(string)
			if !ok && k.value != nil {
				panic(raise("TypeError", "%s must be None or a string, not %s", k.name, typeName(k.value)))
			}
			if ok && k.name == "sep" {
				separator = text
			} else if ok {
				end = text
			}
		case "file", "flush":
		default:
			panic(raise("TypeError", "'%s' is an invalid keyword argument for print()", k.name))
		}
	}
	for i, arg := range a.positional {
		if i > 0 {
			a.write(separator)
		}
		a.write(a.str(arg))
	}
	a.write(end)
	return nil
}

func reprOf(a *arguments) any {
	return a.repr(a.one())
}

func asciiOf(a *arguments) any {
	return a.convert(a.one(), 'a')
}

func lenOf(a *arguments) any {
	v := a.one()
	if text, ok := v.(string); ok {
		a.chargeSteps(len(text) / 64)
	}
	return size(v)
}

func sortedOf(a *arguments) any {
	if len(a.positional) != 1 {
		panic(raise("TypeError", "sorted expected 1 argument, got %d", len(a.positional)))
	}
	items := a.collect(nil, a.positional[0])
	a.name = "sort"
	a.sort(items)
	return &list{items}
}

// sort sorts items by the arguments key and reverse.
func (a *arguments) sort(items []any) {
	var key any
	reverse := false
	for _, k := range a.named {
		switch k.name {
		case "key":
			key = k.value
		case "reverse":
			if _, _, ok := integer(k.value); !ok {
				if _, isFloat := k.value.(float64); isFloat {
					panic(raise("TypeError", "integer argument expected, got float"))
				}
				panic(raise("TypeError", "an integer is required (got type %s)", typeName(k.value)))
			}
			reverse = truth(k.value)
		default:
			panic(raise("TypeError", "'%s' is an invalid keyword argument for sort()", k.name))
		}
	}
	a.allocItems(2 * len(items))
	pairs := make([][2]any, len(items)) // key and item
	for i, item := range items {
		pairs[i] = [2]any{item, item}
		if key != nil {
			pairs[i][0] = a.call(key, []any{item}, nil)
		}
	}
	sort.SliceStable(pairs, func(i, j int) bool {
		if reverse {
			i, j = j, i
		}
		return a.less("<", pairs[i][0], pairs[j][0], 0)
	})
	for i := range pairs {
		items[i] = pairs[i][1]
	}
}

func minOf(a *arguments) any { return a.minOrMax("<") }

func maxOf(a *arguments) any { return a.minOrMax(">") }

// minOrMax implements min and max.
func (a *arguments) minOrMax(op string) any {
	var key any
	otherwise := absent
	for _, k := range a.named {
		switch k.name {
		case "key":
			key = k.value
		case "default":
			otherwise = k.value
		default:
			panic(raise("TypeError", "'%s' is an invalid keyword argument for %s()", k.name, a.name))
		}
	}
	items := a.positional
	switch len(a.positional) {
	case 0:
		panic(raise("TypeError", "%s expected 1 argument, got 0", a.name))
	case 1:
		items = a.collect(nil, a.positional[0])
	default:
		if otherwise != absent {
			panic(raise("TypeError", "Cannot specify a default for %s() with multiple positional arguments", a.name))
		}
	}
	var best, bestKey any
	for i, item := range items {
		k := item
		if key != nil {
			k = a.call(key, []any{item}, nil)
		}
		better := i == 0
		if !better {
			better = a.less(op, k, bestKey, 0)
		}
		if better {
			best, bestKey = item, k
		}
	}
	if len(items) > 0 {
		return best
	}
	if otherwise != absent {
		return otherwise
	}
	panic(raise("ValueError", "%s() arg is an empty sequence", a.name))
}

func sumOf(a *arguments) any {
	args := a.bind(1, "iterable", "start")
	total := orDefault(args[1], 0)
	if _, ok := total.(string); ok {
		panic(raise("TypeError", "sum() can't sum strings [use ''.join(seq) instead]"))
	}
	it := a.iter(args[0])
	for {
		a.step()
		item, ok := a.advance(it)
		if !ok {
			return total
		}
		total = a.binary("+", total, item)
	}
}

func absOf(a *arguments) any {
	v := a.one()
	if f, ok := v.(float64); ok {
		return math.Abs(f)
	}
	if d, ok := v.(*timedelta); ok {
		if d.days < 0 {
			return d.signed("-")
		}
		return d
	}
	i, ok := toBigInt(v)
	if !ok {
		panic(raise("TypeError", "bad operand type for abs(): '%s'", typeName(v)))
	}
	a.alloc(i.BitLen() / 8)
	return normalize(new(big.Int).Abs(i))
}

func roundOf(a *arguments) any {
	args := a.bind(1, "number", "ndigits")
	f, isFloat := args[0].(float64)
	if !isNumber(args[0]) {
		panic(raise("TypeError", "type %s doesn't define __round__ method", typeName(args[0])))
	}
	i, _ := toBigInt(args[0])
	if orDefault(args[1], nil) == nil {
		if !isFloat {
			return normalize(i)
		}
		return truncate(math.RoundToEven(f))
	}
	digits := machineInt(args[1], true)
	switch {
	case !isFloat && digits >= 0:
		return normalize(i)
	case !isFloat:
		return a.roundInt(i, digits)
	case digits > 400 || math.IsNaN(f) || math.IsInf(f, 0):
		return f
	case digits < -400:
		return math.Copysign(0, f)
	case digits >= 0:
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', digits, 64), 64)
		if err != nil {
			panic(raise("OverflowError", "rounded value too large to represent"))
		}
		return rounded
	}
	return roundTens(f, -digits)
}

// roundTens rounds a float to a power of ten, exactly, with halves to even.
func roundTens(f float64, zeros int) any {
	text := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, err := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:])
	if err != nil {
		panic(raise("ValueError", "cannot round"))
	}
	if exponent < zeros {
		if exponent == zeros-1 && math.Abs(f) > 5*math.Pow10(exponent) {
			return math.Copysign(math.Pow10(zeros), f)
		}
		return math.Copysign(0, f)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', exponent-zeros, 64), 64)
	if err != nil {
		panic(raise("OverflowError", "rounded value too large to represent"))
	}
	return rounded
}

// roundInt rounds an int to a power of ten, with halves to even.
func (a *arguments) roundInt(i *big.Int, digits int) any {
	if digits < -i.BitLen() {
		return 0
	}
	a.alloc(-digits)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-digits)), nil)
	quotient, remainder := floorDivide(i, unit)
	twice := new(big.Int).Lsh(remainder, 1)
	if order := twice.Cmp(unit); order > 0 || order == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(1))
	}
	return checkSize(quotient.Mul(quotient, unit))
}

func anyOf(a *arguments) any { return a.anyOrAll(true) }

func allOf(a *arguments) any { return a.anyOrAll(false) }

// anyOrAll implements any and all. It stops at the first decisive item.
func (a *arguments) anyOrAll(stopAt bool) any {
	it := a.iter(a.one())
	for {
		a.step()
		item, ok := a.advance(it)
		if !ok {
			return !stopAt
		}
		if truth(item) == stopAt {
			return stopAt
		}
	}
}

func formatOf(a *arguments) any {
	args := a.positionalOnly(1, 2)
	format, ok := orDefault(args[1], "").(string)
	if !ok {
		panic(raise("TypeError", "format() argument 2 must be str, not %s", givenName(args[1])))
	}
	return a.format(args[0], format)
}

// givenName returns the type name of an argument for messages.
func givenName(v any) string {
	if v == nil {
		return "None"
	}
	return typeName(v)
}

func nextOf(a *arguments) any {
	args := a.positionalOnly(1, 2)
	it, ok := args[0].(iterator)
	if !ok {
		panic(raise("TypeError", "'%s' object is not an iterator", typeName(args[0])))
	}
	item, ok := a.advance(it)
	switch {
	case ok:
		return item
	case args[1] != absent:
		return args[1]
	}
	panic(raiseValue("StopIteration"))
}

func iterOf(a *arguments) any {
	return a.iter(a.one())
}
