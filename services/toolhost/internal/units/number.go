package units

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

const (
	typeError         = "TypeError"
	valueError        = "ValueError"
	overflowError     = "OverflowError"
	zeroDivisionError = "ZeroDivisionError"

	// maxDigits is the maximum number of digits that Python converts to an int.
	maxDigits = 4300

	// maxBits is the maximum size of an int result.
	maxBits = 1 << 20
)

// number is a Python number: an int if intValue is set, otherwise a float. Complex results and ints
// beyond maxBits become NaN. A number is immutable.
type number struct {
	intValue   *big.Int
	floatValue float64
}

func integer(i int64) number { return number{intValue: big.NewInt(i)} }

func float(f float64) number { return number{floatValue: f} }

func nan() number { return float(math.NaN()) }

// parseNumber parses a decimal literal as an int if possible, otherwise as a float.
func parseNumber(text string) (number, error) {
	digits := strings.ReplaceAll(text, "_", "")
	if strings.Trim(digits, "-0123456789") == "" && len(digits) <= maxDigits {
		if whole, ok := new(big.Int).SetString(digits, 10); ok {
			return number{intValue: whole}, nil
		}
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(f, 0) {
		return number{}, raise(valueError, "could not convert string to float: "+python.Repr(python.Str(text)))
	}
	return float(f), nil
}

// fromValue converts an int or float.
func fromValue(v python.Value) (n number, ok bool) {
	if whole, ok := v.AsBigInt(); ok {
		return number{intValue: whole}, true
	}
	f, ok := v.AsFloat()
	return float(f), ok
}

// value converts the number to a Python value.
func (n number) value() python.Value {
	if n.intValue != nil {
		return python.BigInt(n.intValue)
	}
	return python.Float(n.floatValue)
}

// toFloat returns the number as a float for comparisons. It is infinite if the number is too large.
func (n number) toFloat() float64 {
	if n.intValue != nil {
		f, _ := n.intValue.Float64()
		return f
	}
	return n.floatValue
}

// float returns float(n), or Python's OverflowError.
func (n number) float() (float64, error) {
	f := n.toFloat()
	if n.intValue != nil && math.IsInf(f, 0) {
		return 0, raise(overflowError, "int too large to convert to float")
	}
	return f, nil
}

func (n number) isZero() bool { return n.equal(integer(0)) }

// equal is Python's ==.
func (n number) equal(m number) bool { return n.value().Equal(m.value()) }

// combine applies ofInts to two ints, otherwise ofFloats.
func combine(a, b number, ofInts func(a, b *big.Int) *big.Int, ofFloats func(a, b float64) float64) (number, error) {
	if a.intValue != nil && b.intValue != nil {
		return number{intValue: ofInts(a.intValue, b.intValue)}, nil
	}
	x, err := a.float()
	if err != nil {
		return number{}, err
	}
	y, err := b.float()
	if err != nil {
		return number{}, err
	}
	return float(ofFloats(x, y)), nil
}

func add(a, b number) (number, error) {
	return combine(a, b,
		func(a, b *big.Int) *big.Int { return new(big.Int).Add(a, b) },
		func(a, b float64) float64 { return a + b })
}

func subtract(a, b number) (number, error) {
	return combine(a, b,
		func(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) },
		func(a, b float64) float64 { return a - b })
}

func multiply(a, b number) (number, error) {
	if a.intValue != nil && b.intValue != nil && a.intValue.BitLen()+b.intValue.BitLen() > maxBits {
		return nan(), nil
	}
	return combine(a, b,
		func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
		func(a, b float64) float64 { return a * b })
}

// divide returns a / b.
func divide(a, b number) (number, error) {
	if a.intValue != nil && b.intValue != nil {
		if b.isZero() {
			return number{}, raise(zeroDivisionError, "division by zero")
		}
		f, _ := new(big.Rat).SetFrac(a.intValue, b.intValue).Float64()
		if math.IsInf(f, 0) {
			return number{}, raise(overflowError, "integer division result too large for a float")
		}
		return float(f), nil
	}
	x, err := a.float()
	if err != nil {
		return number{}, err
	}
	y, err := b.float()
	if err != nil {
		return number{}, err
	}
	if y == 0 {
		return number{}, raise(zeroDivisionError, "float division by zero")
	}
	return float(x / y), nil
}

// raise returns a Python exception.
func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }
