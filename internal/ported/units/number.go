package units

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/interp"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

const (
	typeError  = "TypeError"
	valueError = "ValueError"
)

// number is a Python int or float. What is complex, or too large to be worked out, is not a number.
type number = python.Value

func integer(i int64) number { return python.Int(i) }

func notANumber() number { return python.Float(math.NaN()) }

// parseNumber parses a decimal literal as an int if possible, otherwise as a float.
func parseNumber(text string) (number, error) {
	digits := strings.ReplaceAll(text, "_", "")
	if strings.Trim(digits, "-0123456789") == "" && len(digits) <= limit.IntDigits {
		if whole, ok := new(big.Int).SetString(digits, 10); ok {
			return python.BigInt(whole), nil
		}
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(f, 0) {
		return number{}, raise(valueError, "could not convert string to float: "+python.Repr(python.Str(text)))
	}
	return python.Float(f), nil
}

// approximate returns a number as a float, infinite if it is too large; it serves to compare.
func approximate(n number) float64 {
	f, _ := n.Number()
	return f
}

// compute returns a operator b, one of + - * / **.
func compute(operator string, a, b number) (number, error) {
	result, err := interp.Compute(operator, a, b)
	if exception, ok := errors.AsType[*python.Exception](err); ok && (exception.Type == "MemoryError" || exception.Type == valueError) {
		return notANumber(), nil
	}
	return result, err
}

// raise returns a Python exception.
func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }
