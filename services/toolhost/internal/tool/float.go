package tool

import "github.com/toolsandbox/toolsandbox/internal/python"

// toFloat implements Python's float(v).
func toFloat(v python.Value) (python.Value, error) {
	if number, ok := v.Number(); ok {
		return python.Float(number), nil
	}
	switch v.Kind() {
	case python.KindInt:
		return python.Value{}, raise("OverflowError", "int too large to convert to float")
	case python.KindStr:
		text, _ := v.AsStr()
		number, ok := python.ParseFloat(text)
		if !ok {
			return python.Value{}, raise("ValueError", "could not convert string to float: "+python.Repr(v))
		}
		return python.Float(number), nil
	default:
		return python.Value{}, raise("TypeError", "float() argument must be a string or a number, not '"+v.TypeName()+"'")
	}
}
