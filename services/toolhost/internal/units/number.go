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

	// maxDigits is the longest text that Python reads as an int.
	maxDigits = 4300

	// maxBits is the size of the largest int that is worked out.
	maxBits = 1 << 20
)

// number is a Python number: an int if whole is set, else a float. What is complex, or too large to
// be worked out, is not a number. A number is never changed.
type number struct {
	whole *big.Int
	real  float64
}

func integer(i int64) number { return number{whole: big.NewInt(i)} }

func float(f float64) number { return number{real: f} }

func notANumber() number { return float(math.NaN()) }

// parseNumber reads a decimal literal: an int if it can be one, else a float.
func parseNumber(text string) (number, error) {
	digits := strings.ReplaceAll(text, "_", "")
	if strings.Trim(digits, "-0123456789") == "" && len(digits) <= maxDigits {
		if whole, ok := new(big.Int).SetString(digits, 10); ok {
			return number{whole: whole}, nil
		}
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil && !math.IsInf(f, 0) {
		return number{}, raise(valueError, "could not convert string to float: "+python.Repr(python.Str(text)))
	}
	return float(f), nil
}

// fromValue returns the number that an int or float is.
func fromValue(v python.Value) (n number, ok bool) {
	if whole, ok := v.AsBigInt(); ok {
		return number{whole: whole}, true
	}
	f, ok := v.AsFloat()
	return float(f), ok
}

// value returns the number as a Python value.
func (n number) value() python.Value {
	if n.whole != nil {
		return python.BigInt(n.whole)
	}
	return python.Float(n.real)
}

// approximate returns the number as a float, infinite if it is too large; it serves to compare.
func (n number) approximate() float64 {
	if n.whole != nil {
		f, _ := n.whole.Float64()
		return f
	}
	return n.real
}

// float returns float(n).
func (n number) float() (float64, error) {
	f := n.approximate()
	if n.whole != nil && math.IsInf(f, 0) {
		return 0, raise(overflowError, "int too large to convert to float")
	}
	return f, nil
}

func (n number) isZero() bool { return n.equal(integer(0)) }

// equal compares as Python's == does.
func (n number) equal(m number) bool { return n.value().Equal(m.value()) }

// combine applies the one operation to two ints, or the other to numbers as floats.
func combine(a, b number, ofInts func(a, b *big.Int) *big.Int, ofFloats func(a, b float64) float64) (number, error) {
	if a.whole != nil && b.whole != nil {
		return number{whole: ofInts(a.whole, b.whole)}, nil
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
	if a.whole != nil && b.whole != nil && a.whole.BitLen()+b.whole.BitLen() > maxBits {
		return notANumber(), nil
	}
	return combine(a, b,
		func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
		func(a, b float64) float64 { return a * b })
}

// divide returns a / b.
func divide(a, b number) (number, error) {
	if a.whole != nil && b.whole != nil {
		if b.isZero() {
			return number{}, raise(zeroDivisionError, "division by zero")
		}
		f, _ := new(big.Rat).SetFrac(a.whole, b.whole).Float64()
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
