package python

import (
	"cmp"
	"math"
	"math/big"
	"slices"
)

// Equal compares as Python's == does: 1, 1.0 and True are equal, dicts regardless of order, NaN
// with nothing.
func (v Value) Equal(w Value) bool {
	switch x := v.v.(type) {
	case nil:
		return w.v == nil
	case string:
		y, ok := w.v.(string)
		return ok && x == y
	case []Value:
		y, ok := w.v.([]Value)
		return ok && slices.EqualFunc(x, y, Value.Equal)
	case *Dict:
		y, ok := w.v.(*Dict)
		return ok && x.equal(y)
	default:
		order, ok := CompareNumbers(v.v, w.v)
		return ok && order == 0
	}
}

func (d *Dict) equal(e *Dict) bool {
	if d.Len() != e.Len() {
		return false
	}
	for _, item := range d.Items() {
		other, ok := e.Get(item.Key)
		if !ok || !item.Value.Equal(other) {
			return false
		}
	}
	return true
}

// CompareNumbers compares two numbers exactly, each a bool, int, *big.Int or float64. order is -1,
// 0 or 1. ok is false if one is NaN or no number.
func CompareNumbers(x, y any) (order int, ok bool) {
	if b, ok := x.(bool); ok {
		x = fromBool(b)
	}
	if b, ok := y.(bool); ok {
		y = fromBool(b)
	}
	switch a := x.(type) {
	case int:
		if b, ok := y.(int); ok {
			return cmp.Compare(a, b), true
		}
	case float64:
		if math.IsNaN(a) {
			return 0, false
		}
		if b, ok := y.(float64); ok {
			return cmp.Compare(a, b), !math.IsNaN(b)
		}
	}
	a, b := toBigFloat(x), toBigFloat(y)
	if a == nil || b == nil {
		return 0, false
	}
	return a.Cmp(b), true
}

func fromBool(b bool) int {
	if b {
		return 1
	}
	return 0
}

// toBigFloat converts a number to a big float. It returns nil for NaN and non-numbers.
func toBigFloat(v any) *big.Float {
	switch v := v.(type) {
	case int:
		return new(big.Float).SetInt64(int64(v))
	case *big.Int:
		return new(big.Float).SetInt(v)
	case float64:
		if !math.IsNaN(v) {
			return big.NewFloat(v)
		}
	}
	return nil
}
