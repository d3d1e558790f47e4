package interp

import (
	"math"
	"math/big"
	"sync"
)

// This file computes elementary functions with many more bits than a float has and rounds once, as
// the C library nearly always does. Package math is often off by one in the last digit.

// exactBits is the precision of intermediate results. Arguments of trigonometric functions take up
// to largestAngle bits of it.
const (
	exactBits    = 256
	largestAngle = 64
)

func exact(x float64) *big.Float { return new(big.Float).SetPrec(exactBits).SetFloat64(x) }

func newExact() *big.Float { return new(big.Float).SetPrec(exactBits) }

var (
	exactLn2 = sync.OnceValue(func() *big.Float { return atanhSeries(newExact().Quo(exact(1), exact(3))) })
	exactPi  = sync.OnceValue(func() *big.Float {
		pi := newExact().Mul(exact(16), atanSeries(newExact().Quo(exact(1), exact(5))))
		return pi.Sub(pi, newExact().Mul(exact(4), atanSeries(newExact().Quo(exact(1), exact(239)))))
	})
)

// series returns the sum of power·x²ⁿ·scale(n) from n = 0, where power is the first term.
func series(power, square *big.Float, negative bool, scale func(n int, term *big.Float) *big.Float) *big.Float {
	sum, term := newExact(), newExact().Set(power)
	for n := 0; ; n++ {
		part := scale(n, term)
		if part.Sign() == 0 || sum.Sign() != 0 && part.MantExp(nil) < sum.MantExp(nil)-exactBits {
			return sum
		}
		sum.Add(sum, part)
		if term.Mul(term, square); negative {
			term.Neg(term)
		}
	}
}

// odd divides the terms of a series by 1, 3, 5 and so on.
func odd(n int, term *big.Float) *big.Float { return newExact().Quo(term, exact(float64(2*n+1))) }

// atanhSeries returns 2 atanh x of a small number.
func atanhSeries(x *big.Float) *big.Float {
	return series(newExact().Mul(x, exact(2)), newExact().Mul(x, x), false, odd)
}

func atanSeries(x *big.Float) *big.Float { return series(x, newExact().Mul(x, x), true, odd) }

// factorials divides the terms of a series by the factorials of first, first+2 and so on.
func factorials(first int) func(int, *big.Float) *big.Float {
	factorial := exact(1)
	return func(n int, term *big.Float) *big.Float {
		if n > 0 {
			factorial.Mul(factorial, exact(float64((first+2*n-1)*(first+2*n))))
		}
		return newExact().Quo(term, factorial)
	}
}

func bigExp(x *big.Float) *big.Float {
	ratio, _ := newExact().Quo(x, exactLn2()).Float64()
	k := math.Round(ratio)
	rest := newExact().Sub(x, newExact().Mul(exact(k), exactLn2()))
	square := newExact().Mul(rest, rest)
	sum := series(exact(1), square, false, factorials(0))
	sum.Add(sum, series(rest, square, false, factorials(1)))
	return sum.SetMantExp(sum, int(k))
}

func bigLog(x *big.Float) *big.Float {
	mantissa := newExact()
	exponent := x.MantExp(mantissa)
	if half, _ := mantissa.Float64(); half < math.Sqrt2/2 {
		mantissa.SetMantExp(mantissa, 1)
		exponent--
	}
	ratio := newExact().Quo(newExact().Sub(mantissa, exact(1)), newExact().Add(mantissa, exact(1)))
	return ratio.Add(atanhSeries(ratio), newExact().Mul(exact(float64(exponent)), exactLn2()))
}

// bigSinCos returns the sine and cosine of x.
func bigSinCos(x *big.Float) (sin, cos *big.Float) {
	quarter := newExact().Quo(exactPi(), exact(2))
	turns, _ := newExact().Add(newExact().Quo(newExact().Abs(x), quarter), exact(0.5)).Int(nil)
	if x.Sign() < 0 {
		turns.Neg(turns)
	}
	rest := newExact().Sub(x, newExact().Mul(newExact().SetInt(turns), quarter))
	square := newExact().Mul(rest, rest)
	sin, cos = series(rest, square, true, factorials(1)), series(exact(1), square, true, factorials(0))
	switch new(big.Int).And(turns, big.NewInt(3)).Int64() {
	case 1:
		return cos, sin.Neg(sin)
	case 2:
		return sin.Neg(sin), cos.Neg(cos)
	case 3:
		return cos.Neg(cos), sin
	default:
		return sin, cos
	}
}

func bigAtan(x *big.Float) *big.Float {
	const halvings = 3
	small := newExact().Set(x)
	inverted := small.MantExp(nil) > 0
	if inverted {
		small.Quo(exact(1), small)
	}
	for range halvings {
		root := newExact().Mul(small, small)
		root.Sqrt(root.Add(root, exact(1)))
		small.Quo(small, root.Add(root, exact(1)))
	}
	result := atanSeries(small)
	result.SetMantExp(result, halvings)
	if !inverted {
		return result
	}
	quarter := newExact().Quo(exactPi(), exact(2))
	if x.Sign() < 0 {
		quarter.Neg(quarter)
	}
	return result.Sub(quarter, result)
}

// leg returns the square root of 1 - x².
func leg(x *big.Float) *big.Float {
	square := newExact().Mul(x, x)
	return square.Sqrt(square.Sub(exact(1), square))
}

// The C library computes these functions from others, so their last digit is that of these steps.
func sinh(x float64) float64 {
	half, size := math.Copysign(0.5, x), math.Abs(x)
	t := math.Expm1(size)
	switch {
	case size < 1:
		return half * (2*t - t*t/(t+1))
	case size < 22:
		return half * (t + t/(t+1))
	default:
		return half * exactly("exp", size, math.Exp(size))
	}
}

func cosh(x float64) float64 {
	size := math.Abs(x)
	if size < math.Ln2/2 {
		t := math.Expm1(size)
		return 1 + t*t/(2*(1+t))
	}
	t := exactly("exp", size, math.Exp(size))
	if size < 22 {
		return 0.5*t + 0.5/t
	}
	return 0.5 * t
}

func tanh(x float64) float64 {
	size := math.Abs(x)
	result := 1.0
	switch {
	case size >= 22:
	case size >= 1:
		result = 1 - 2/(math.Expm1(2*size)+2)
	default:
		t := math.Expm1(-2 * size)
		result = -t / (t + 2)
	}
	return math.Copysign(result, x)
}

func log10(x float64) float64 {
	const (
		high, low = 3.01029995663611771306e-01, 3.69423907715893078616e-13 // of log10(2)
		perLn     = 4.34294481903251816668e-01
	)
	mantissa, exponent := math.Frexp(x)
	if exponent--; exponent >= 0 {
		mantissa *= 2
	} else {
		exponent++
	}
	k := float64(exponent)
	return k*low + perLn*exactly("log", mantissa, math.Log(mantissa)) + k*high
}

// exactFunctions are the functions of mathFunctions that can be computed exactly, for the arguments
// for which those have results other than 0, NaN and infinities.
var exactFunctions = map[string]func(x *big.Float) *big.Float{
	"exp": bigExp, "log": bigLog,
	"exp2": func(x *big.Float) *big.Float { return bigExp(newExact().Mul(x, exactLn2())) },
	"log2": func(x *big.Float) *big.Float { return newExact().Quo(bigLog(x), exactLn2()) },
	"sin":  func(x *big.Float) *big.Float { sin, _ := bigSinCos(x); return sin },
	"cos":  func(x *big.Float) *big.Float { _, cos := bigSinCos(x); return cos },
	"tan":  func(x *big.Float) *big.Float { sin, cos := bigSinCos(x); return sin.Quo(sin, cos) },
	"atan": bigAtan,
	"asin": func(x *big.Float) *big.Float { return bigAtan(newExact().Quo(x, leg(x))) },
	"acos": func(x *big.Float) *big.Float {
		half := bigAtan(newExact().Quo(leg(x), newExact().Add(exact(1), x)))
		return half.Add(half, half)
	},
}

// tiny is the size below which a result is taken as it is, unless it is a logarithm: Log of package
// math is wrong for numbers below the normal ones.
const tiny = 0x1p-40

// exactly returns function(x), whose approximate value is known, rounded once.
func exactly(function string, x, approximate float64) float64 {
	f := exactFunctions[function]
	angle, logarithm := function == "sin" || function == "cos" || function == "tan", function == "log" || function == "log2"
	if f == nil || approximate == 0 || math.IsNaN(approximate) || math.IsInf(approximate, 0) || math.IsInf(x, 0) ||
		math.Abs(x) < tiny && !logarithm || (function == "asin" || function == "acos") && math.Abs(x) == 1 || angle && math.Abs(x) > 1<<largestAngle-1 {
		return approximate
	}
	result, _ := f(exact(x)).Float64()
	return result
}
