// Package python is the part of Python 3.9 that a conversation can see: JSON-like values, how they
// print (repr, str, json.dumps), how they are read back (json.loads, literals), the standard tool
// call snippet and the binding of arguments with its error texts. It runs no code and knows no
// tool.
//
// Texts are WTF-8: UTF-8 that may also hold lone surrogates as three bytes each, because Python's
// texts may. Everything here is a pure function of its input and safe for concurrent use as long as
// nobody changes a shared Dict or list.
package python

import (
	"math"
	"math/big"
	"strconv"
)

// MaxDepth is how deep lists and dicts may nest in parsed text. Python's own limit depends on the
// stack in use and lies a little below 1000.
const MaxDepth = 950

// maxIntDigits is the longest decimal integer that Python 3.9 converts from text.
const maxIntDigits = 4300

// Kind is the type of a Value.
type Kind uint8

// The kinds of values, by Python's type names.
const (
	KindNone Kind = iota
	KindBool
	KindInt
	KindFloat
	KindStr
	KindList
	KindDict
)

// Value is one Python value: None, bool, int of any size, float, str, list or dict. The zero Value
// is None. Copies share lists and dicts.
type Value struct {
	kind Kind
	num  uint64 // bool as 0 or 1, int64, or the bits of a float
	text string // str; or the decimal digits of an int that does not fit int64
	list []Value
	dict *Dict
}

// None returns Python's None.
func None() Value { return Value{} }

// Bool returns a bool.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, num: 1}
	}
	return Value{kind: KindBool}
}

// Int returns an int.
func Int(i int64) Value { return Value{kind: KindInt, num: uint64(i)} }

// BigInt returns an int of any size.
func BigInt(i *big.Int) Value {
	if i.IsInt64() {
		return Int(i.Int64())
	}
	return Value{kind: KindInt, text: i.String()}
}

// decimalInt returns the int with the given digits (an optional minus sign, then decimal digits
// without surplus zeros).
func decimalInt(digits string) Value {
	if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return Int(i)
	}
	return Value{kind: KindInt, text: digits}
}

// Float returns a float.
func Float(f float64) Value { return Value{kind: KindFloat, num: math.Float64bits(f)} }

// Str returns a str.
func Str(s string) Value { return Value{kind: KindStr, text: s} }

// List returns a list that shares items.
func List(items ...Value) Value { return Value{kind: KindList, list: items} }

// DictOf returns a dict of the items in order; a repeated key keeps its first place and its last
// value.
func DictOf(items ...Item) Value {
	d := &Dict{}
	for _, item := range items {
		d.Set(item.Key, item.Value)
	}
	return d.Value()
}

// Kind returns the type of v.
func (v Value) Kind() Kind { return v.kind }

// IsNone says whether v is None.
func (v Value) IsNone() bool { return v.kind == KindNone }

// AsBool returns the bool that v is.
func (v Value) AsBool() (b, ok bool) { return v.num != 0 && v.kind == KindBool, v.kind == KindBool }

// AsInt returns the int that v is; ok is false for any other kind (bool too) and for an int beyond
// 64 bits.
func (v Value) AsInt() (i int64, ok bool) {
	if v.kind != KindInt || v.text != "" {
		return 0, false
	}
	return int64(v.num), true
}

// AsBigInt returns the int that v is, whatever its size; ok is false for any other kind, bool too.
func (v Value) AsBigInt() (i *big.Int, ok bool) {
	if v.kind != KindInt {
		return nil, false
	}
	if v.text == "" {
		return big.NewInt(int64(v.num)), true
	}
	return new(big.Int).SetString(v.text, 10)
}

// AsFloat returns the float that v is; ok is false for any other kind. See Number for ints and
// bools too.
func (v Value) AsFloat() (f float64, ok bool) {
	if v.kind != KindFloat {
		return 0, false
	}
	return math.Float64frombits(v.num), true
}

// AsStr returns the str that v is.
func (v Value) AsStr() (s string, ok bool) {
	if v.kind != KindStr {
		return "", false
	}
	return v.text, true
}

// AsList returns the items of the list that v is, shared with v.
func (v Value) AsList() (items []Value, ok bool) { return v.list, v.kind == KindList }

// AsDict returns the dict that v is, shared with v. It is nil, which reads as an empty dict, where
// ok is false.
func (v Value) AsDict() (d *Dict, ok bool) { return v.dict, v.kind == KindDict }

// Number returns float(v) for an int, float or bool. ok is false for other kinds and for an int
// that is too large for a float, where Python raises OverflowError.
func (v Value) Number() (f float64, ok bool) {
	switch v.kind {
	case KindBool:
		return float64(v.num), true
	case KindFloat:
		return math.Float64frombits(v.num), true
	case KindInt:
		if v.text == "" {
			return float64(int64(v.num)), true
		}
		f, err := strconv.ParseFloat(v.text, 64)
		return f, err == nil
	case KindNone, KindStr, KindList, KindDict:
		return 0, false
	default:
		return 0, false
	}
}

// TypeName returns the name of v's type, e.g. NoneType or str.
func (v Value) TypeName() string {
	switch v.kind {
	case KindNone:
		return "NoneType"
	case KindBool:
		return "bool"
	case KindInt:
		return "int"
	case KindFloat:
		return "float"
	case KindStr:
		return "str"
	case KindList:
		return "list"
	case KindDict:
		return "dict"
	default:
		return "object"
	}
}

// ClassName returns v's type as Python prints it, e.g. <class 'str'>.
func (v Value) ClassName() string { return "<class '" + v.TypeName() + "'>" }

// NonFinite returns the first name, nan or inf, that Repr prints for a number in v that has no
// literal. Python code that holds it raises NameError: name 'nan' is not defined.
func NonFinite(v Value) (name string, found bool) {
	switch v.kind {
	case KindFloat:
		f := math.Float64frombits(v.num)
		if math.IsNaN(f) {
			return nanName, true
		}
		return infName, math.IsInf(f, 0)
	case KindList:
		for _, item := range v.list {
			if name, found := NonFinite(item); found {
				return name, true
			}
		}
	case KindDict:
		for _, item := range v.dict.Items() {
			if name, found := NonFinite(item.Value); found {
				return name, true
			}
		}
	case KindNone, KindBool, KindInt, KindStr:
	}
	return "", false
}
