package python

import (
	"math"
	"math/big"
)

// Equal compares as Python's == does: 1, 1.0 and True are equal, dicts regardless of order, NaN
// with nothing.
func (v Value) Equal(w Value) bool {
	if v.isNumber() && w.isNumber() {
		return numbersEqual(v, w)
	}
	if v.kind != w.kind {
		return false
	}
	switch v.kind {
	case KindNone:
		return true
	case KindStr:
		return v.text == w.text
	case KindList:
		return listsEqual(v.list, w.list)
	case KindDict:
		return dictsEqual(v.dict, w.dict)
	case KindBool, KindInt, KindFloat:
		return numbersEqual(v, w)
	default:
		return false
	}
}

func (v Value) isNumber() bool { return v.kind == KindInt || v.kind == KindFloat || v.kind == KindBool }

func listsEqual(v, w []Value) bool {
	if len(v) != len(w) {
		return false
	}
	for i := range v {
		if !v[i].Equal(w[i]) {
			return false
		}
	}
	return true
}

func dictsEqual(v, w *Dict) bool {
	if v.Len() != w.Len() {
		return false
	}
	for _, item := range v.Items() {
		other, ok := w.Get(item.Key)
		if !ok || !item.Value.Equal(other) {
			return false
		}
	}
	return true
}

// numbersEqual compares two numbers exactly: an int and a float are equal only if the float is that
// integer.
func numbersEqual(v, w Value) bool {
	switch {
	case v.kind == KindFloat && w.kind == KindFloat:
		return math.Float64frombits(v.num) == math.Float64frombits(w.num)
	case v.kind == KindFloat:
		return intEqualsFloat(w, math.Float64frombits(v.num))
	case w.kind == KindFloat:
		return intEqualsFloat(v, math.Float64frombits(w.num))
	default:
		return v.num == w.num && v.text == w.text
	}
}

func intEqualsFloat(v Value, f float64) bool {
	if f != math.Trunc(f) || math.IsInf(f, 0) {
		return false
	}
	if v.text == "" {
		return f >= -(1<<63) && f < 1<<63 && int64(f) == int64(v.num)
	}
	i, ok := v.AsBigInt()
	if !ok {
		return false
	}
	whole, accuracy := big.NewFloat(f).Int(nil)
	return accuracy == big.Exact && whole.Cmp(i) == 0
}
