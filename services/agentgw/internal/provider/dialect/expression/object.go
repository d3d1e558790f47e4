package expression

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// kind is the type of an object.
type kind uint8

const (
	kindNone kind = iota
	kindBool
	kindInt
	kindFloat
	kindComplex
	kindText
	kindBytes
	kindList
	kindTuple
	kindDict
	kindSet
	kindThing // a function, a type, a module: something that has no value of its own
)

// ellipsis is the thing that three dots are.
const ellipsis = "Ellipsis"

// object is a value as Python has it, also one that JSON cannot write. The zero object is None. Objects are not changed.
type object struct {
	kind       kind
	whole      *big.Int // of a bool or an int
	real, imag float64  // of a float or a complex number
	text       string   // of a text, the bytes, or the name of a thing; a thing without name may equal any other
	items      []object // of a list or a tuple
	table      *table   // of a dict, or of a set, which has no values
	generator  *generator
	span       *span
}

// table finds values by keys.
type table struct {
	index        map[string]int
	keys, values []object
}

func (t *table) len() int { return len(t.keys) }

func (t *table) get(key string) (object, bool) {
	i, ok := t.index[key]
	if !ok {
		return object{}, false
	}
	return t.values[i], true
}

func (t *table) set(hash string, key, value object) {
	if i, ok := t.index[hash]; ok {
		t.values[i] = value // the first key stays
		return
	}
	if t.index == nil {
		t.index = make(map[string]int)
	}
	t.index[hash] = len(t.keys)
	t.keys = append(t.keys, key)
	t.values = append(t.values, value)
}

func text(s string) object               { return object{kind: kindText, text: s} }
func thing(name string) object           { return object{kind: kindThing, text: name} }
func float(f float64) object             { return object{kind: kindFloat, real: f} }
func integer(i *big.Int) object          { return object{kind: kindInt, whole: i} }
func sequence(k kind, o []object) object { return object{kind: k, items: o} }

func truth(b bool) object {
	if b {
		return object{kind: kindBool, whole: big.NewInt(1)}
	}
	return object{kind: kindBool, whole: new(big.Int)}
}

// fromPython reads a number.
func fromPython(v python.Value) object {
	if i, ok := v.AsBigInt(); ok {
		return integer(i)
	}
	f, _ := v.AsFloat()
	return float(f)
}

func (o object) number() bool { return o.whole != nil || o.kind == kindFloat || o.kind == kindComplex }

// float64 returns a number that is not complex; Python refuses ints that no float can hold.
func (o object) float64() (float64, bool) {
	if o.whole == nil {
		return o.real, o.kind == kindFloat
	}
	f, _ := new(big.Float).SetInt(o.whole).Float64()
	return f, !math.IsInf(f, 0)
}

// size returns about how many bytes an object takes in print.
func (o object) size() int64 {
	total := int64(2 + len(o.text))
	if o.whole != nil {
		total += int64(o.whole.BitLen() / 3)
	}
	for _, item := range o.items {
		total += item.size()
	}
	if o.table != nil {
		for i, key := range o.table.keys {
			total += key.size() + o.table.values[i].size()
		}
	}
	return total
}

// hash returns a text that two keys share if they are equal. ok is false for what Python cannot take as a key.
func (o object) hash() (hash string, ok bool) {
	switch o.kind {
	case kindBool, kindInt:
		return "number " + o.whole.Text(16), true
	case kindFloat:
		return hashFloat(o.real), true
	case kindComplex:
		if o.imag == 0 {
			return hashFloat(o.real), true
		}
		return hashFloat(o.real) + " " + hashFloat(o.imag), true
	case kindNone, kindText, kindBytes, kindThing:
		return strconv.Itoa(int(o.kind)) + " " + o.text, true
	case kindTuple:
		var b strings.Builder
		for _, item := range o.items {
			part, ok := item.hash()
			if !ok {
				return "", false
			}
			b.WriteString(strconv.Itoa(len(part)) + " " + part)
		}
		return "tuple " + b.String(), true
	case kindList, kindDict, kindSet:
	}
	return "", false
}

func hashFloat(f float64) string {
	if f == math.Trunc(f) && !math.IsInf(f, 0) {
		whole, _ := big.NewFloat(f).Int(nil)
		return "number " + whole.Text(16)
	}
	return "number " + strconv.FormatFloat(f, 'x', -1, 64)
}

// json returns what JSON writes for an object; ok is false where it cannot. Keys become texts.
func (o object) json() (v python.Value, ok bool) {
	switch o.kind {
	case kindNone:
		return python.None(), true
	case kindBool:
		return python.Bool(o.whole.Sign() != 0), true
	case kindInt:
		return python.BigInt(o.whole), printable(o.whole)
	case kindFloat:
		return python.Float(o.real), true
	case kindText:
		return python.Str(o.text), true
	case kindList, kindTuple:
		items := make([]python.Value, len(o.items))
		for i, item := range o.items {
			if items[i], ok = item.json(); !ok {
				return python.Value{}, false
			}
		}
		return python.List(items...), true
	case kindDict:
		dict := &python.Dict{}
		for i, key := range o.table.keys {
			name, ok := key.json()
			value, written := o.table.values[i].json()
			if !ok || !written || key.kind == kindTuple {
				return python.Value{}, false
			}
			if key.kind == kindText {
				dict.Set(key.text, value)
			} else {
				dict.Set(python.JSON(name), value)
			}
		}
		return dict.Value(), true
	case kindComplex, kindBytes, kindSet, kindThing:
	}
	return python.Value{}, false
}

// printable says whether Python prints an int: one of at most 4,300 digits.
func printable(i *big.Int) bool {
	const digits = 4300
	if i.BitLen() < 3*digits {
		return true
	}
	return i.CmpAbs(new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)) < 0
}

// repr writes an object as Python prints it. ok is false for what it cannot print, and for what has no order or an address.
func (o object) repr(b *strings.Builder) bool {
	switch o.kind {
	case kindNone:
		b.WriteString("None")
	case kindBool:
		b.WriteString(python.Repr(python.Bool(o.whole.Sign() != 0)))
	case kindInt:
		b.WriteString(o.whole.String())
		return printable(o.whole)
	case kindFloat:
		b.WriteString(python.FormatFloat(o.real))
	case kindComplex:
		b.WriteString(complexText(o.real, o.imag))
	case kindText:
		b.WriteString(python.Repr(python.Str(o.text)))
	case kindBytes:
		b.WriteString(bytesText(o.text))
	case kindList, kindTuple:
		return o.reprItems(b)
	case kindDict:
		b.WriteString("{")
		for i, key := range o.table.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			if !key.repr(b) {
				return false
			}
			b.WriteString(": ")
			if !o.table.values[i].repr(b) {
				return false
			}
		}
		b.WriteString("}")
	case kindThing:
		b.WriteString(o.text)
		return o.text == ellipsis
	case kindSet:
		return false
	}
	return true
}

func (o object) reprItems(b *strings.Builder) bool {
	brackets, comma := "[]", ""
	if o.kind == kindTuple {
		if brackets = "()"; len(o.items) == 1 {
			comma = ","
		}
	}
	b.WriteString(brackets[:1])
	for i, item := range o.items {
		if i > 0 {
			b.WriteString(", ")
		}
		if !item.repr(b) {
			return false
		}
	}
	b.WriteString(comma + brackets[1:])
	return true
}

// complexText writes a complex number.
func complexText(re, im float64) string {
	short := func(f float64) string { return strings.TrimSuffix(python.FormatFloat(f), ".0") }
	if re == 0 && !math.Signbit(re) {
		return short(im) + "j"
	}
	sign := "+"
	if math.Signbit(im) && !math.IsNaN(im) {
		sign = ""
	}
	return "(" + short(re) + sign + short(im) + "j)"
}

// bytesText writes bytes: those of printable ASCII as they are.
func bytesText(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b := []byte{'b', quote}
	for i := range len(s) {
		switch c := s[i]; {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c >= ' ' && c <= '~':
			b = append(b, c)
		case strings.IndexByte("\t\n\r", c) >= 0:
			b = append(b, '\\', "tn  r"[c-'\t'])
		default:
			b = append(b, '\\', 'x', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		}
	}
	return string(append(b, quote))
}
