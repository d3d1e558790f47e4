package expression

import (
	"math"
	"math/big"
	"math/cmplx"
)

// unary computes a sign or not.
func (e *evaluator) unary(operator string, o object) object {
	switch {
	case e.failed:
		return object{}
	case operator == "not":
		return truth(!e.truth(o))
	case o.whole != nil && operator == "-":
		return integer(new(big.Int).Neg(o.whole))
	case o.whole != nil && operator == "~":
		return integer(new(big.Int).Not(o.whole))
	case o.whole != nil:
		return integer(o.whole)
	case o.kind != kindFloat && o.kind != kindComplex || operator == "~":
		return e.fail()
	case operator == "-":
		return object{kind: o.kind, real: -o.real, imag: -o.imag}
	default:
		return o
	}
}

// arithmetic computes an operator between numbers.
func (e *evaluator) arithmetic(operator string, a, b object) object {
	switch {
	case a.whole != nil && b.whole != nil:
		if operator == "|" || operator == "^" || operator == "&" {
			return bits(operator, a, b)
		}
		return e.wholes(operator, a.whole, b.whole)
	case binds(operator) > 0 && binds(operator) < bindSum || operator == "@":
		return e.fail()
	case a.kind == kindComplex || b.kind == kindComplex:
		x, okX := a.complex()
		y, okY := b.complex()
		if !okX || !okY {
			return e.fail()
		}
		return e.complexes(operator, x, y)
	default:
		x, okX := a.float64()
		y, okY := b.float64()
		if !okX || !okY {
			return e.fail()
		}
		return e.floats(operator, x, y)
	}
}

// bits computes the operators that make bools of bools.
func bits(operator string, a, b object) object {
	result := new(big.Int)
	switch operator {
	case "|":
		result.Or(a.whole, b.whole)
	case "^":
		result.Xor(a.whole, b.whole)
	default:
		result.And(a.whole, b.whole)
	}
	if a.kind == kindBool && b.kind == kindBool {
		return truth(result.Sign() != 0)
	}
	return integer(result)
}

func (e *evaluator) wholes(operator string, a, b *big.Int) object {
	result := new(big.Int)
	switch operator {
	case "+":
		result.Add(a, b)
	case "-":
		result.Sub(a, b)
	case "*":
		result.Mul(a, b)
	case "/", "//", "%":
		return e.divided(operator, a, b)
	case "**":
		if b.Sign() < 0 {
			x, okX := integer(a).float64()
			y, okY := integer(b).float64()
			if !okX || !okY {
				return e.fail()
			}
			return e.floats(operator, x, y)
		}
		if a.BitLen() <= 1 && b.BitLen() > 2 {
			b = big.NewInt(2 + int64(b.Bit(0))) // 1, 0 and -1 stay what they are, but for the sign
		}
		if !b.IsInt64() || b.Int64() > maxBits || int64(a.BitLen())*b.Int64() > maxBits {
			return e.fail()
		}
		result.Exp(a, b, nil)
	case "<<", ">>":
		if b.Sign() < 0 || operator == "<<" && a.Sign() != 0 && b.Cmp(big.NewInt(maxBits)) > 0 {
			return e.fail()
		}
		by := uint(maxBits)
		if b.Cmp(big.NewInt(maxBits)) < 0 {
			by = uint(b.Uint64())
		}
		if operator == "<<" {
			result.Lsh(a, by)
		} else {
			result.Rsh(a, by)
		}
	default:
		return e.fail()
	}
	if result.BitLen() > maxBits || !e.spend(int64(result.BitLen()/3)) {
		return e.fail()
	}
	return integer(result)
}

func (e *evaluator) divided(operator string, a, b *big.Int) object {
	if b.Sign() == 0 {
		return e.fail()
	}
	if operator == "/" {
		quotient, _ := new(big.Rat).SetFrac(a, b).Float64()
		if math.IsInf(quotient, 0) {
			return e.fail()
		}
		return float(quotient)
	}
	quotient, rest := new(big.Int).QuoRem(a, b, new(big.Int))
	if rest.Sign() != 0 && rest.Sign() != b.Sign() { // Python rounds down
		quotient.Sub(quotient, big.NewInt(1))
		rest.Add(rest, b)
	}
	if operator == "%" {
		quotient = rest
	}
	e.spend(int64(quotient.BitLen() / 3))
	return integer(quotient)
}

func (e *evaluator) floats(operator string, a, b float64) object {
	if b == 0 && (operator == "/" || operator == "//" || operator == "%") {
		return e.fail()
	}
	switch operator {
	case "+":
		return float(a + b)
	case "-":
		return float(a - b)
	case "*":
		return float(a * b)
	case "/":
		return float(a / b)
	case "//":
		quotient, _ := divmod(a, b)
		return float(quotient)
	case "%":
		_, rest := divmod(a, b)
		return float(rest)
	}
	if a < 0 && !math.IsInf(a, 0) && b != math.Floor(b) {
		return e.complexes(operator, complex(a, 0), complex(b, 0))
	}
	result := power(a, b)
	if a == 0 && b < 0 || math.IsInf(result, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
		return e.fail()
	}
	return float(result)
}

// power raises to a power, exactly where that is a whole number that is not too large.
func power(a, b float64) float64 {
	const most, precision = 1 << 12, 512
	if b != math.Trunc(b) || math.Abs(b) > most || a == 0 || math.IsInf(a, 0) || math.IsNaN(a) {
		return math.Pow(a, b)
	}
	base := new(big.Float).SetPrec(precision).SetFloat64(a)
	result := new(big.Float).SetPrec(precision).SetInt64(1)
	for n := uint64(math.Abs(b)); n > 0; n >>= 1 {
		if n&1 != 0 {
			result.Mul(result, base)
		}
		base.Mul(base, base)
	}
	if b < 0 {
		result.Quo(big.NewFloat(1), result)
	}
	f, _ := result.Float64()
	return f
}

// divmod divides as Python does: the rest has the sign of b, and the quotient is a whole number that fits it.
func divmod(a, b float64) (quotient, rest float64) {
	rest = math.Mod(a, b)
	quotient = (a - rest) / b
	if rest == 0 {
		rest = math.Copysign(0, b)
	} else if (rest < 0) != (b < 0) {
		rest += b
		quotient--
	}
	if quotient == 0 {
		return math.Copysign(0, a/b), rest
	}
	whole := math.Floor(quotient)
	if quotient-whole > 0.5 {
		whole++
	}
	return whole, rest
}

// complex returns a number as a complex one.
func (o object) complex() (complex128, bool) {
	if o.kind == kindComplex {
		return complex(o.real, o.imag), true
	}
	f, ok := o.float64()
	return complex(f, 0), ok
}

func (e *evaluator) complexes(operator string, a, b complex128) object {
	var result complex128
	switch {
	case operator == "+":
		result = a + b
	case operator == "-":
		result = a - b
	case operator == "*":
		result = a * b
	case operator == "/" && b != 0:
		result = a / b
	case operator == "**" && (a != 0 || real(b) >= 0 && imag(b) == 0):
		if result = cmplx.Pow(a, b); cmplx.IsInf(result) && !cmplx.IsInf(a) {
			return e.fail()
		}
	default:
		return e.fail()
	}
	return object{kind: kindComplex, real: real(result), imag: imag(result)}
}

// compared orders two numbers that are not complex: -1, 0 or 1. ok is false if one of them is not a number, which Python says of NaN.
func compared(a, b object) (order int, ok bool) {
	switch {
	case a.whole != nil && b.whole != nil:
		return a.whole.Cmp(b.whole), true
	case a.whole == nil && math.IsNaN(a.real) || b.whole == nil && math.IsNaN(b.real):
		return 0, false
	default:
		return exact(a).Cmp(exact(b)), true
	}
}

func exact(o object) *big.Float {
	if o.whole != nil {
		return new(big.Float).SetInt(o.whole)
	}
	return big.NewFloat(o.real)
}
