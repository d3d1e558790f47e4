package celexpr

import (
	"math"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// maxDecimals is the maximum number of decimals of a formatted number.
const maxDecimals = 20

// numberFunctions returns the numeric functions that CEL lacks. As in Python, they accept bools as
// 0 and 1. They reject other values.
func numberFunctions() []cel.EnvOption {
	return []cel.EnvOption{
		numberFunction("float", func(*cel.Type) *cel.Type { return cel.DoubleType }, func(value ref.Val) ref.Val {
			return types.Double(toDouble(value))
		}),
		numberFunction("whole", func(*cel.Type) *cel.Type { return cel.IntType }, truncate),
		numberFunction("number", func(of *cel.Type) *cel.Type { return of }, func(value ref.Val) ref.Val { return value }),
		decimalsFunction(),
	}
}

// numbers returns the numeric types.
func numbers() map[string]*cel.Type {
	return map[string]*cel.Type{"int": cel.IntType, "double": cel.DoubleType, "bool": cel.BoolType}
}

// numberFunction declares a function of one number.
func numberFunction(name string, result func(of *cel.Type) *cel.Type, apply func(ref.Val) ref.Val) cel.EnvOption {
	var overloads []cel.FunctionOpt
	for suffix, of := range numbers() {
		overloads = append(overloads, cel.Overload(name+"_"+suffix, []*cel.Type{of}, result(of), cel.UnaryBinding(apply)))
	}
	return cel.Function(name, overloads...)
}

// decimalsFunction declares decimals(number, n).
func decimalsFunction() cel.EnvOption {
	var overloads []cel.FunctionOpt
	for suffix, of := range numbers() {
		overloads = append(overloads, cel.Overload("decimals_"+suffix, []*cel.Type{of, cel.IntType}, cel.StringType,
			cel.BinaryBinding(func(value, n ref.Val) ref.Val {
				count, ok := n.(types.Int)
				if !ok || count < 0 || count > maxDecimals {
					return types.NewErr("decimals: %v is no number of decimals from 0 to %d", n.Value(), maxDecimals)
				}
				return types.String(decimals(toDouble(value), int(count)))
			})))
	}
	return cel.Function("decimals", overloads...)
}

// toDouble converts a number to floating point.
func toDouble(value ref.Val) float64 {
	switch v := value.(type) {
	case types.Int:
		return float64(v)
	case types.Double:
		return float64(v)
	case types.Bool:
		if v {
			return 1
		}
	}
	return 0
}

// truncate removes the decimals, as Python's int does.
func truncate(value ref.Val) ref.Val {
	if number, ok := value.(types.Int); ok {
		return number
	}
	number := math.Trunc(toDouble(value))
	if !(number >= math.MinInt64 && number < math.MaxInt64) { // also false for NaN
		return types.NewErr("whole: %v is no integer of 64 bits", value.Value())
	}
	return types.Int(number)
}

// decimals formats a number with fixed decimals as Python does, with halves to even.
func decimals(number float64, count int) string {
	switch {
	case math.IsNaN(number):
		return "nan"
	case math.IsInf(number, 1):
		return "inf"
	case math.IsInf(number, -1):
		return "-inf"
	}
	return strconv.FormatFloat(number, 'f', count, 64)
}
