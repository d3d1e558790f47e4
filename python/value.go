// Package python is the part of Python 3.9 that a conversation can see: JSON-like values, how they
// print (repr, str, json.dumps), compare and are read back from JSON, and the binding of arguments
// with its error texts. Package syntax reads literals and programs, package interp runs them.
//
// Texts are WTF-8: UTF-8 that may also hold lone surrogates as three bytes each, because Python's
// texts may. Everything here is a pure function of its input and safe for concurrent use as long as
// nobody changes a shared Dict or list.
package python

import (
	"math"
	"math/big"
)

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
	_ [0]func() // == compares no values; see Equal
	v any       // nil, bool, int, *big.Int beyond 64 bits, float64, string, []Value or *Dict
}

// None returns Python's None.
func None() Value { return Value{} }

// Bool returns a bool.
func Bool(b bool) Value { return Value{v: b} }

// Int returns an int.
func Int(i int64) Value { return Value{v: int(i)} }

// BigInt returns an int of any size. The caller must not change i afterwards.
func BigInt(i *big.Int) Value {
	if i.IsInt64() {
		return Int(i.Int64())
	}
	return Value{v: i}
}

// Float returns a float.
func Float(f float64) Value { return Value{v: f} }

// Str returns a str.
func Str(s string) Value { return Value{v: s} }

// List returns a list that shares items.
func List(items ...Value) Value { return Value{v: items} }

// DictOf returns a dict of the items in order; a repeated key keeps its first place and its last
// value.
func DictOf(items ...Item) Value {
	d := &Dict{items: make([]Item, 0, len(items))}
	for _, item := range items {
		d.Set(item.Key, item.Value)
	}
	return d.Value()
}

// ValueOf returns the value that a Go value stands for: nil, a bool, an int, a *big.Int, which the
// caller must not change afterwards, a float64 or a string.
func ValueOf(v any) Value {
	if i, ok := v.(*big.Int); ok {
		return BigInt(i)
	}
	return Value{v: v}
}

// Interface returns the Go value that v stands for: what ValueOf takes, a []Value or a *Dict. An
// int is a *big.Int only beyond 64 bits.
func (v Value) Interface() any { return v.v }

// Kind returns the type of v.
func (v Value) Kind() Kind {
	switch v.v.(type) {
	case bool:
		return KindBool
	case int, *big.Int:
		return KindInt
	case float64:
		return KindFloat
	case string:
		return KindStr
	case []Value:
		return KindList
	case *Dict:
		return KindDict
	default:
		return KindNone
	}
}

// IsNone reports whether v is None.
func (v Value) IsNone() bool { return v.v == nil }

// AsBool returns the bool that v is.
func (v Value) AsBool() (b, ok bool) {
	b, ok = v.v.(bool)
	return b, ok
}

// AsInt returns the int that v is; ok is false for any other kind (bool too) and for an int beyond
// 64 bits.
func (v Value) AsInt() (i int64, ok bool) {
	n, ok := v.v.(int)
	return int64(n), ok
}

// AsBigInt returns the int that v is, whatever its size; ok is false for any other kind, bool too.
func (v Value) AsBigInt() (i *big.Int, ok bool) {
	switch v := v.v.(type) {
	case int:
		return big.NewInt(int64(v)), true
	case *big.Int:
		return new(big.Int).Set(v), true
	default:
		return nil, false
	}
}

// AsFloat returns the float that v is; ok is false for any other kind. See Number for ints and
// bools too.
func (v Value) AsFloat() (f float64, ok bool) {
	f, ok = v.v.(float64)
	return f, ok
}

// AsStr returns the str that v is.
func (v Value) AsStr() (s string, ok bool) {
	s, ok = v.v.(string)
	return s, ok
}

// AsList returns the items of the list that v is, shared with v.
func (v Value) AsList() (items []Value, ok bool) {
	items, ok = v.v.([]Value)
	return items, ok
}

// AsDict returns the dict that v is, shared with v. It is nil, which reads as an empty dict, where
// ok is false.
func (v Value) AsDict() (d *Dict, ok bool) {
	d, ok = v.v.(*Dict)
	return d, ok
}

// Field returns the value of a key of a dict. It is None if the key is missing or v is no dict.
func (v Value) Field(key string) Value {
	dict, _ := v.AsDict()
	field, _ := dict.Get(key)
	return field
}

// Number returns float(v) for an int, float or bool. ok is false for other kinds and for an int
// that is too large for a float, where Python raises OverflowError.
func (v Value) Number() (f float64, ok bool) {
	switch v := v.v.(type) {
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case float64:
		return v, true
	case int:
		return float64(v), true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, !math.IsInf(f, 0)
	default:
		return 0, false
	}
}

// TypeName returns the name of v's type, e.g. NoneType or str.
func (v Value) TypeName() string {
	return [...]string{"NoneType", "bool", "int", "float", "str", "list", "dict"}[v.Kind()]
}

// ClassName returns v's type as Python prints it, e.g. <class 'str'>.
func (v Value) ClassName() string { return "<class '" + v.TypeName() + "'>" }

// NonFinite returns the first name, nan or inf, that Repr prints for a number in v that has no
// literal. Python code that holds it raises NameError: name 'nan' is not defined.
func NonFinite(v Value) (name string, found bool) {
	switch v := v.v.(type) {
	case float64:
		if math.IsNaN(v) {
			return nanName, true
		}
		return infName, math.IsInf(v, 0)
	case []Value:
		for _, item := range v {
			if name, found := NonFinite(item); found {
				return name, true
			}
		}
	case *Dict:
		for _, item := range v.Items() {
			if name, found := NonFinite(item.Value); found {
				return name, true
			}
		}
	}
	return "", false
}
