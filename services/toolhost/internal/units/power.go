package units

import (
	"math"
	"math/big"
)

const (
	// powerPrecision is the precision in bits for powers of floats, before a single rounding.
	powerPrecision = 256
	// maxExactPower is the largest exponent for that precision. math.Pow computes larger ones.
	maxExactPower = 4096
	// maxRoots is the maximum number of square roots for the fraction of an exponent.
	maxRoots = 64
)

// power returns a ** b.
func power(a, b number) (number, error) {
	if a.intValue != nil && b.intValue != nil && b.intValue.Sign() >= 0 {
		return powerOfInts(a.intValue, b.intValue), nil
	}
	x, err := a.float()
	if err != nil {
		return number{}, err
	}
	y, err := b.float()
	if err != nil {
		return number{}, err
	}
	switch {
	case y == 0 || x == 1:
		return float(1), nil
	case math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0):
		return float(math.Pow(x, y)), nil
	case x == 0 && y < 0:
		return number{}, raise(zeroDivisionError, "0.0 cannot be raised to a negative power")
	case x == 0:
		return float(math.Pow(x, y)), nil
	case x < 0 && y != math.Trunc(y):
		return nan(), nil
	}
	result := powerOfFloats(x, y)
	if math.IsInf(result, 0) {
		return number{}, raise(overflowError, "(34, 'Numerical result out of range')")
	}
	return float(result), nil
}

// powerOfInts returns a ** b. b must not be negative.
func powerOfInts(a, b *big.Int) number {
	if a.BitLen() <= 1 {
		if a.Sign() < 0 && b.Bit(0) == 0 || b.Sign() == 0 {
			return integer(1)
		}
		return number{intValue: a}
	}
	if !b.IsInt64() || b.Int64() > maxBits || b.Int64()*int64(a.BitLen()) > maxBits {
		return nan()
	}
	return number{intValue: new(big.Int).Exp(a, b, nil)}
}

// powerOfFloats returns x ** y, correctly rounded. Both must be finite, x must not be 0, and the
// result must be real.
func powerOfFloats(x, y float64) float64 {
	whole, fraction := math.Modf(math.Abs(y))
	if whole > maxExactPower {
		return math.Pow(x, y)
	}
	result := exactNumber(1)
	factor := exactNumber(x)
	for n := int(whole); n > 0; n >>= 1 {
		if n&1 != 0 {
			result.Mul(result, factor)
		}
		factor.Mul(factor, factor)
	}
	root := exactNumber(x)
	for n := 0; fraction != 0; n++ {
		if n == maxRoots {
			return math.Pow(x, y)
		}
		root.Sqrt(root)
		if fraction *= 2; fraction >= 1 {
			result.Mul(result, root)
			fraction--
		}
	}
	if y < 0 {
		result.Quo(exactNumber(1), result)
	}
	f, _ := result.Float64()
	return f
}

func exactNumber(x float64) *big.Float { return new(big.Float).SetPrec(powerPrecision).SetFloat64(x) }
