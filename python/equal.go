package python

import (
	"cmp"
	"math"
	"math/big"
	"slices"
)

// Equal compares as Python's == does: 1, 1.0 and True are equal, dicts regardless of order, NaN
// with nothing.
func (v Value) Equal(w Value) bool { return v.EqualFunc(w, Value.Equal) }

// EqualFunc compares as Equal does, except that same compares the items of lists and dicts.
func (v Value) EqualFunc(w Value, same func(Value, Value) bool) bool {
	switch x := v.v.(type) {
	case nil:
		return w.v == nil
	case string:
		y, ok := w.v.(string)
		return ok && x == y
	case []Value:
		y, ok := w.v.([]Value)
		return ok && slices.EqualFunc(x, y, same)
	case *Dict:
		y, ok := w.v.(*Dict)
		return ok && x.Len() == y.Len() && !slices.ContainsFunc(x.Items(), func(item Item) bool {
			other, found := y.Get(item.Key)
			return !found || !same(item.Value, other)
		})
	default:
		order, ok := CompareNumbers(v.v, w.v)
		return ok && order == 0
	}
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
