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

	// maxPowerBits is the largest integer power that is worked out.
	maxPowerBits = 1 << 20
)

// number is a Python number: an int if whole is set, else a float, or something that is equal to no other number. That is a
// complex number or a power too large to be worked out. A number is never changed.
type number struct {
	whole   *big.Int
	real    float64
	opaque  bool
	complex bool // of an opaque one
}

func integer(i int64) number { return number{whole: big.NewInt(i)} }

func float(f float64) number { return number{real: f} }

// parseNumber reads a decimal literal: an int if it can be one, else a float.
func parseNumber(text string) (number, error) {
	digits := strings.ReplaceAll(text, "_", "")
	if strings.Trim(digits, "-0123456789") == "" && len(digits) <= maxDigits {
		if whole, ok := new(big.Int).SetString(digits, 10); ok {
			return number{whole: whole}, nil
		}
	}
	if strings.ContainsAny(digits, "jJxX") {
		return number{}, raise(valueError, "could not convert string to float: "+python.Repr(python.Str(text)))
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

// value returns the number as a Python value; nan if it has none.
func (n number) value() python.Value {
	switch {
	case n.opaque:
		return python.Float(math.NaN())
	case n.whole != nil:
		return python.BigInt(n.whole)
	default:
		return python.Float(n.real)
	}
}

func (n number) typeName() string {
	switch {
	case n.opaque && n.complex:
		return "complex"
	case n.opaque || n.whole != nil:
		return "int"
	default:
		return "float"
	}
}

// approximate returns the number as a float, infinite if it is too large; it serves to compare.
func (n number) approximate() float64 {
	switch {
	case n.opaque:
		return math.NaN()
	case n.whole != nil:
		f, _ := n.whole.Float64()
		return f
	default:
		return n.real
	}
}

// float returns float(n).
func (n number) float() (float64, error) {
	f := n.approximate()
	switch {
	case n.opaque && n.complex:
		return 0, raise(typeError, "can't convert complex to float")
	case n.opaque || n.whole != nil && math.IsInf(f, 0):
		return 0, raise(overflowError, "int too large to convert to float")
	}
	return f, nil
}

func (n number) isZero() bool { return n.equal(integer(0)) }

// equal compares as Python's == does.
func (n number) equal(m number) bool {
	switch {
	case n.opaque || m.opaque:
		return false
	case n.whole != nil && m.whole != nil:
		return n.whole.Cmp(m.whole) == 0
	default:
		return n.value().Equal(m.value())
	}
}

// combine applies the one operation to two ints, or the other to numbers as floats.
func combine(a, b number, ofInts func(a, b *big.Int) *big.Int, ofFloats func(a, b float64) float64) (number, error) {
	if a.opaque || b.opaque {
		return number{opaque: true, complex: a.complex || b.complex}, nil
	}
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
	return combine(a, b,
		func(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) },
		func(a, b float64) float64 { return a * b })
}

// divide returns a / b.
func divide(a, b number) (number, error) {
	if a.opaque || b.opaque {
		return number{opaque: true, complex: a.complex || b.complex}, nil
	}
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

// floorDivide returns a // b.
func floorDivide(a, b number) (number, error) {
	if b.isZero() && !a.opaque {
		if a.whole != nil && b.whole != nil {
			return number{}, raise(zeroDivisionError, "integer division or modulo by zero")
		}
		return number{}, raise(zeroDivisionError, "float divmod()")
	}
	return combine(a, b,
		func(a, b *big.Int) *big.Int {
			quotient, rest := new(big.Int).QuoRem(a, b, new(big.Int))
			if rest.Sign()*b.Sign() < 0 {
				quotient.Sub(quotient, big.NewInt(1))
			}
			return quotient
		},
		floorDivideFloats)
}

func floorDivideFloats(a, b float64) float64 {
	rest := math.Mod(a, b)
	quotient := (a - rest) / b
	if rest != 0 && (rest < 0) != (b < 0) {
		quotient--
	}
	if quotient == 0 {
		return math.Copysign(0, a/b)
	}
	floor := math.Floor(quotient)
	if quotient-floor > 0.5 {
		floor++
	}
	return floor
}

// raise returns a Python exception.
func raise(kind, text string) error { return &python.Exception{Type: kind, Text: text} }
