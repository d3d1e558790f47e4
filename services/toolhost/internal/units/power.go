package units

import (
	"math"
	"math/big"
)

const (
	// powerPrecision is the mantissa, in bits, with which powers of floats are worked out before
	// they are rounded once.
	powerPrecision = 256
	// maxExactPower is the largest exponent for that; the library's function serves beyond it.
	maxExactPower = 4096
	// maxRoots bounds the square roots that an exponent's fraction takes.
	maxRoots = 64
)

// power returns a ** b.
func power(a, b number) (number, error) {
	if a.whole != nil && b.whole != nil && b.whole.Sign() >= 0 {
		return powerOfInts(a.whole, b.whole), nil
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
		return notANumber(), nil
	}
	result := powerOfFloats(x, y)
	if math.IsInf(result, 0) {
		return number{}, raise(overflowError, "(34, 'Numerical result out of range')")
	}
	return float(result), nil
}

// powerOfInts returns a to a power that is not negative.
func powerOfInts(a, b *big.Int) number {
	if a.BitLen() <= 1 {
		if a.Sign() < 0 && b.Bit(0) == 0 || b.Sign() == 0 {
			return integer(1)
		}
		return number{whole: a}
	}
	if !b.IsInt64() || b.Int64() > maxBits || b.Int64()*int64(a.BitLen()) > maxBits {
		return notANumber()
	}
	return number{whole: new(big.Int).Exp(a, b, nil)}
}

// powerOfFloats returns x to the y, correctly rounded, for finite numbers that have a real power, x
// not 0.
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
