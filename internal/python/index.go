package python

import "unicode/utf8"

// Index returns v[key]. The error is an *Exception: KeyError, IndexError or TypeError with Python's
// text.
func Index(v, key Value) (Value, error) {
	switch v.kind {
	case KindDict:
		if key.kind == KindList || key.kind == KindDict {
			return Value{}, typeError("unhashable type: '" + key.TypeName() + "'")
		}
		if item, ok := v.dict.Get(key.text); ok && key.kind == KindStr {
			return item, nil
		}
		return Value{}, &Exception{Type: "KeyError", Text: Repr(key)}
	case KindList:
		if key.kind != KindInt && key.kind != KindBool {
			return Value{}, typeError("list indices must be integers or slices, not " + key.TypeName())
		}
		i, err := position(key, len(v.list), "list")
		if err != nil {
			return Value{}, err
		}
		return v.list[i], nil
	case KindStr:
		if key.kind != KindInt && key.kind != KindBool {
			return Value{}, typeError("string indices must be integers")
		}
		i, err := position(key, countRunes(v.text), "string")
		if err != nil {
			return Value{}, err
		}
		return runeAt(v.text, i), nil
	case KindNone, KindBool, KindInt, KindFloat:
		return Value{}, typeError("'" + v.TypeName() + "' object is not subscriptable")
	default:
		return Value{}, typeError("object is not subscriptable")
	}
}

// position resolves an index, negative ones from the end.
func position(key Value, length int, sequence string) (int, error) {
	if key.text != "" {
		return 0, &Exception{Type: "IndexError", Text: "cannot fit 'int' into an index-sized integer"}
	}
	i := int64(key.num)
	if i < 0 {
		i += int64(length)
	}
	if i < 0 || i >= int64(length) {
		return 0, &Exception{Type: "IndexError", Text: sequence + " index out of range"}
	}
	return int(i), nil
}

func runeAt(s string, n int) Value {
	for ; n > 0; n-- {
		_, size := decodeRune(s)
		s = s[size:]
	}
	r, size := decodeRune(s)
	if r == utf8.RuneError && size == 1 {
		return Str(string(utf8.RuneError))
	}
	return Str(s[:size])
}
