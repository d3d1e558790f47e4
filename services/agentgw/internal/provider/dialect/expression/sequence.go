package expression

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// characters splits a text, in which lone surrogates are three bytes each.
func characters(s string) []string {
	split := make([]string, 0, len(s))
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		if size == 1 && s[0] >= utf8.RuneSelf {
			size = min(3, len(s))
		}
		split = append(split, s[:size])
		s = s[size:]
	}
	return split
}

// binary computes an operator between two values.
func (e *evaluator) binary(operator string, a, b object) object {
	switch {
	case e.failed:
		return object{}
	case a.number() && b.number():
		return e.arithmetic(operator, a, b)
	case operator == "%" && a.kind == kindText:
		return e.formatted(a.text, b)
	case operator == "*" && b.whole != nil:
		return e.repeated(a, b.whole)
	case operator == "*" && a.whole != nil:
		return e.repeated(b, a.whole)
	case a.kind != b.kind:
		return e.fail()
	case operator == "+":
		return e.added(a, b)
	case a.table != nil:
		return e.tables(operator, a, b)
	default:
		return e.fail()
	}
}

// added joins texts, bytes, lists or tuples.
func (e *evaluator) added(a, b object) object {
	if !e.spend(a.size() + b.size()) {
		return object{}
	}
	switch a.kind {
	case kindText, kindBytes:
		return object{kind: a.kind, text: a.text + b.text}
	case kindList, kindTuple:
		return sequence(a.kind, slices.Concat(a.items, b.items))
	default:
		return e.fail()
	}
}

func (e *evaluator) repeated(o object, times *big.Int) object {
	n := clamped(times, 0, 0, maxBytes+1)
	if n > maxBytes || !e.spend(o.size()*int64(n)) {
		return e.fail()
	}
	switch o.kind {
	case kindText, kindBytes:
		return object{kind: o.kind, text: strings.Repeat(o.text, n)}
	case kindList, kindTuple:
		return sequence(o.kind, slices.Repeat(o.items, n))
	default:
		return e.fail()
	}
}

// tables computes the operators of dicts and sets.
func (e *evaluator) tables(operator string, a, b object) object {
	if operator != "|" && (a.kind == kindDict || operator != "&" && operator != "-" && operator != "^") || !e.spend(a.size()+b.size()) {
		return e.fail()
	}
	result := object{kind: a.kind, table: &table{}}
	if operator == "|" {
		result.table.add(a.table)
		result.table.add(b.table)
		return result
	}
	result.table.pick(a.table, b.table, operator == "&")
	if operator == "^" {
		result.table.pick(b.table, a.table, false)
	}
	return result
}

// add sets all that another table has.
func (t *table) add(other *table) {
	for hash, i := range other.ordered() {
		t.set(hash, other.keys[i], other.values[i])
	}
}

// pick adds those keys of a table that another has, or has not.
func (t *table) pick(from, other *table, has bool) {
	for hash, i := range from.ordered() {
		if _, ok := other.index[hash]; ok == has {
			t.set(hash, from.keys[i], from.values[i])
		}
	}
}

// ordered goes through the hashes of all keys, in their order.
func (t *table) ordered() func(yield func(hash string, i int) bool) {
	return func(yield func(hash string, i int) bool) {
		for i, key := range t.keys {
			if hash, _ := key.hash(); !yield(hash, i) {
				return
			}
		}
	}
}

// subscript computes what a value has at an index, a slice or a key.
func (e *evaluator) subscript(o object, index *node) object {
	if index.kind == nodeSlice {
		return e.slice(o, index)
	}
	key := e.value(index)
	if e.failed {
		return object{}
	}
	if o.kind == kindDict {
		value, ok := o.table.get(e.hash(key))
		if !ok {
			return e.fail()
		}
		return value
	}
	if key.whole == nil || !key.whole.IsInt64() {
		return e.fail()
	}
	var chars []string
	length := len(o.items)
	switch o.kind {
	case kindText:
		chars = characters(o.text)
		length = len(chars)
	case kindBytes:
		length = len(o.text)
	}
	i := key.whole.Int64()
	if i < 0 {
		i += int64(length)
	}
	switch {
	case i < 0 || i >= int64(length):
		return e.fail()
	case o.kind == kindText:
		return text(chars[i])
	case o.kind == kindBytes:
		return integer(big.NewInt(int64(o.text[i])))
	default:
		return o.items[i]
	}
}

// slice computes a part of a text, bytes, a list or a tuple.
func (e *evaluator) slice(o object, n *node) object {
	var bounds [3]*big.Int
	for i, part := range n.items {
		if part.value == nil {
			continue
		}
		v := e.value(part.value)
		if bounds[i] = v.whole; v.whole == nil && v.kind != kindNone {
			return e.fail()
		}
	}
	if e.failed || !e.spend(o.size()) || bounds[2] != nil && bounds[2].Sign() == 0 {
		return e.fail()
	}
	switch o.kind {
	case kindText:
		return text(strings.Join(picked(characters(o.text), bounds), ""))
	case kindBytes:
		return object{kind: kindBytes, text: string(picked([]byte(o.text), bounds))}
	case kindList, kindTuple:
		return sequence(o.kind, picked(o.items, bounds))
	default:
		return e.fail()
	}
}

// picked takes from the first bound up to the second, in steps of the third.
func picked[T any](items []T, bounds [3]*big.Int) []T {
	length := len(items)
	step := clamped(bounds[2], 1, -length-1, length+1)
	first, last, least, most := 0, length, 0, length
	if step < 0 {
		first, last, least, most = length-1, -1, -1, length-1
	}
	at := func(bound *big.Int, missing int) int {
		if bound == nil {
			return missing
		}
		i := clamped(bound, 0, -length-1, length+1)
		if i < 0 {
			i += length
		}
		return max(least, min(most, i))
	}
	var taken []T
	stop := at(bounds[1], last)
	for i := at(bounds[0], first); i != stop && (i < stop) == (step > 0); i += step {
		taken = append(taken, items[i])
	}
	return taken
}

// clamped returns an int between two bounds.
func clamped(i *big.Int, missing, least, most int) int {
	switch {
	case i == nil:
		return missing
	case i.Cmp(big.NewInt(int64(least))) < 0:
		return least
	case i.Cmp(big.NewInt(int64(most))) > 0:
		return most
	default:
		return int(i.Int64())
	}
}

// attribute computes the parts of numbers; methods are things.
func (e *evaluator) attribute(o object, name string) object {
	if part, ok := o.part(name); ok {
		return part
	}
	if !strings.Contains(methods(o), " "+name+" ") {
		return e.fail()
	}
	return thing("")
}

// formatted puts values into a text, as %s, %r and %d without more; other forms are not understood.
func (e *evaluator) formatted(form string, o object) object {
	values := []object{o}
	if o.kind == kindTuple {
		values = o.items
	}
	var b strings.Builder
	for {
		plain, rest, more := strings.Cut(form, "%")
		b.WriteString(plain)
		if !more {
			break
		}
		if rest == "" {
			return e.fail()
		}
		form = rest[1:]
		if rest[0] == '%' {
			b.WriteByte('%')
			continue
		}
		if len(values) == 0 {
			return e.fail()
		}
		e.put(&b, rest[0], values[0])
		if values = values[1:]; e.failed {
			return object{}
		}
	}
	// A list, bytes or a dict could be what names in the text are looked up in.
	if len(values) > 0 && o.kind != kindList && o.kind != kindBytes && o.kind != kindDict {
		return e.fail()
	}
	e.spend(int64(b.Len()))
	return text(b.String())
}

func (e *evaluator) put(b *strings.Builder, verb byte, o object) {
	switch {
	case verb == 's' || verb == 'r':
		e.print(b, o, string(verb))
	case verb != 'd' && verb != 'i' && verb != 'u':
		e.fail()
	case o.kind == kindFloat:
		if math.IsInf(o.real, 0) || math.IsNaN(o.real) {
			e.fail()
			return
		}
		whole, _ := big.NewFloat(o.real).Int(nil)
		e.print(b, integer(whole), "")
	case o.whole != nil:
		e.print(b, integer(o.whole), "")
	default:
		e.fail()
	}
}

// asciiText escapes a character beyond ASCII as Python's ascii does.
func asciiText(c string) string {
	r, _ := utf8.DecodeRuneInString(c)
	switch {
	case len(c) == 1:
		return c
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	default:
		return fmt.Sprintf(`\U%08x`, r)
	}
}
