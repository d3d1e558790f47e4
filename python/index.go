package python

import "math/big"

// Index returns v[key]. The error is an *Exception: KeyError, IndexError or TypeError with Python's
// text.
func Index(v, key Value) (Value, error) {
	switch v := v.v.(type) {
	case *Dict:
		switch key := key.v.(type) {
		case []Value, *Dict:
			return Value{}, typeError("unhashable type: '" + (Value{v: key}).TypeName() + "'")
		case string:
			if item, ok := v.Get(key); ok {
				return item, nil
			}
		}
		return Value{}, &Exception{Type: "KeyError", Text: Repr(key)}
	case []Value:
		i, err := position(key, len(v), "list", "list indices must be integers or slices, not "+key.TypeName())
		if err != nil {
			return Value{}, err
		}
		return v[i], nil
	case string:
		i, err := position(key, RuneCount(v), "string", "string indices must be integers")
		if err != nil {
			return Value{}, err
		}
		for range i {
			_, size := DecodeRune(v)
			v = v[size:]
		}
		_, size := DecodeRune(v)
		return Str(v[:size]), nil
	default:
		return Value{}, typeError("'" + (Value{v: v}).TypeName() + "' object is not subscriptable")
	}
}

// position resolves an index, negative ones from the end. wrong is the error for what is no int.
func position(key Value, length int, sequence, wrong string) (int, error) {
	i, ok := key.v.(int)
	if b, isBool := key.v.(bool); isBool {
		i, ok = fromBool(b), true
	}
	if _, large := key.v.(*big.Int); large {
		return 0, &Exception{Type: "IndexError", Text: "cannot fit 'int' into an index-sized integer"}
	}
	if !ok {
		return 0, typeError(wrong)
	}
	if i < 0 {
		i += length
	}
	if i < 0 || i >= length {
		return 0, &Exception{Type: "IndexError", Text: sequence + " index out of range"}
	}
	return i, nil
}
