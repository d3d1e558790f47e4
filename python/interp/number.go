package interp

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

// normalize returns an int in the interpreter's representation.
func normalize(i *big.Int) any {
	if i.IsInt64() {
		return int(i.Int64())
	}
	return i
}

// checkSize returns an int, or panics if it exceeds limit.IntBits.
func checkSize(i *big.Int) any {
	if i.BitLen() > limit.IntBits {
		panic(tooLarge())
	}
	return normalize(i)
}

func tooLarge() error { return exhausted("MemoryError", "the number is too large") }

// integer returns the value of an int or bool.
func integer(v any) (small int, large *big.Int, ok bool) {
	switch v := v.(type) {
	case int:
		return v, nil, true
	case bool:
		if v {
			return 1, nil, true
		}
		return 0, nil, true
	case *big.Int:
		return 0, v, true
	case *member:
		if v.class.enum.mixin != nil {
			return integer(v.value)
		}
	}
	return 0, nil, false
}

// toBigInt converts an int to a big.Int.
func toBigInt(v any) (*big.Int, bool) {
	small, large, ok := integer(v)
	if ok && large == nil {
		large = big.NewInt(int64(small))
	}
	return large, ok
}

// float converts a number to a float.
func float(v any) float64 {
	f, ok := python.ValueOf(plain(v)).Number()
	if !ok {
		panic(raise("OverflowError", "int too large to convert to float"))
	}
	return f
}

func isNumber(v any) bool {
	switch v := v.(type) {
	case bool, int, *big.Int, float64:
		return true
	case *member:
		return v.class.enum.mixin != nil && isNumber(v.value)
	default:
		return false
	}
}

// machineInt converts an int for use as an index. It clamps a huge one, or panics without clamp.
func machineInt(v any, clamp bool) int {
	small, large, ok := integer(v)
	switch {
	case !ok:
		panic(raise("TypeError", "'%s' object cannot be interpreted as an integer", typeName(v)))
	case large == nil:
		return small
	case !clamp:
		panic(raise("OverflowError", "Python int too large to convert to C ssize_t"))
	case large.Sign() < 0:
		return math.MinInt
	default:
		return math.MaxInt
	}
}

// truncate converts a float to an int towards zero.
func truncate(f float64) any {
	switch {
	case math.IsNaN(f):
		panic(raise("ValueError", "cannot convert float NaN to integer"))
	case math.IsInf(f, 0):
		panic(raise("OverflowError", "cannot convert float infinity to integer"))
	case math.Abs(f) < 1<<62:
		return int(f)
	}
	i, _ := big.NewFloat(f).Int(nil)
	return normalize(i)
}

func unsupported(op string, x, y any) error {
	if op == "**" {
		op = "** or pow()"
	}
	return raise("TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(x), typeName(y))
}

// unary returns operator x.
func (m *machine) unary(op string, x any) any {
	if op == "not" {
		return !truth(x)
	}
	if d, ok := x.(*timedelta); ok && op != "~" {
		return d.signed(op)
	}
	x = plain(x)
	if f, ok := x.(float64); ok && op != "~" {
		if op == "-" {
			f = -f
		}
		return f
	}
	i, ok := toBigInt(x)
	if !ok {
		panic(raise("TypeError", "bad operand type for unary %s: '%s'", op, typeName(x)))
	}
	switch op {
	case "-":
		m.alloc(i.BitLen() / 8)
		return normalize(new(big.Int).Neg(i))
	case "~":
		m.alloc(i.BitLen() / 8)
		return normalize(new(big.Int).Not(i))
	default:
		return normalize(i)
	}
}

// arithmetic applies an arithmetic or bitwise operator to numbers.
func (m *machine) arithmetic(op, opText string, x, y any) any {
	_, xFloat := x.(float64)
	_, yFloat := y.(float64)
	if !xFloat && !yFloat {
		a, aLarge, _ := integer(x)
		b, bLarge, _ := integer(y)
		if aLarge == nil && bLarge == nil {
			if v, ok := smallInts(op, a, b); ok {
				return logicalBool(op, x, y, v)
			}
		}
		if op == "**" {
			return m.power(x, y)
		}
		return m.largeInts(op, opText, x, y)
	}
	switch op {
	case "&", "|", "^", "<<", ">>", "@":
		panic(unsupported(opText, x, y))
	}
	a := float(x)
	b := float(y)
	if op == "**" {
		m.chargeSteps(powerSteps)
		return floatPower(a, b)
	}
	return floats(op, a, b)
}

// powerSteps is the work of a power of floats, which takes up to a hundred microseconds.
const powerSteps = 64

// logicalBool converts the result of a logical operator on two bools to a bool.
func logicalBool(op string, x, y any, v int) any {
	if op == "&" || op == "|" || op == "^" {
		_, xBool := x.(bool)
		_, yBool := y.(bool)
		if xBool && yBool {
			return v != 0
		}
	}
	return v
}

// smallInts applies an operator if neither the operands nor the result are large.
func smallInts(op string, a, b int) (int, bool) {
	switch op {
	case "+":
		c := a + b
		return c, (c > a) == (b > 0)
	case "-":
		c := a - b
		return c, (c < a) == (b > 0)
	case "*":
		high, low := bits.Mul64(magnitude(a), magnitude(b))
		return a * b, high == 0 && low < 1<<63
	case "//", "%":
		if b == 0 || b == -1 {
			return 0, false
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q--
			r += b
		}
		if op == "%" {
			return r, true
		}
		return q, true
	case "&":
		return a & b, true
	case "|":
		return a | b, true
	case "^":
		return a ^ b, true
	default:
		return 0, false
	}
}

func magnitude(a int) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

func (m *machine) largeInts(op, opText string, x, y any) any {
	a, _ := toBigInt(x)
	b, _ := toBigInt(y)
	m.chargeSteps((a.BitLen() + b.BitLen()) / 512)
	m.alloc((a.BitLen() + b.BitLen()) / 8)
	switch op {
	case "+":
		return checkSize(new(big.Int).Add(a, b))
	case "-":
		return checkSize(new(big.Int).Sub(a, b))
	case "*":
		if a.BitLen()+b.BitLen() > limit.IntBits+1 {
			panic(tooLarge())
		}
		return checkSize(new(big.Int).Mul(a, b))
	case "/":
		return trueDivide(a, b)
	case "//", "%":
		if b.Sign() == 0 {
			panic(raise("ZeroDivisionError", "integer division or modulo by zero"))
		}
		q, r := floorDivide(a, b)
		if op == "%" {
			return normalize(r)
		}
		return normalize(q)
	case "&":
		return normalize(new(big.Int).And(a, b))
	case "|":
		return normalize(new(big.Int).Or(a, b))
	case "^":
		return normalize(new(big.Int).Xor(a, b))
	case "<<", ">>":
		return shift(op, a, b)
	default:
		panic(unsupported(opText, x, y))
	}
}

// floorDivide divides with the quotient rounded down.
func floorDivide(a, b *big.Int) (quotient, remainder *big.Int) {
	quotient, remainder = new(big.Int).QuoRem(a, b, new(big.Int))
	if remainder.Sign() != 0 && remainder.Sign() != b.Sign() {
		quotient.Sub(quotient, big.NewInt(1))
		remainder.Add(remainder, b)
	}
	return quotient, remainder
}

// trueDivide divides as Python does, correctly rounded.
func trueDivide(a, b *big.Int) any {
	if b.Sign() == 0 {
		panic(raise("ZeroDivisionError", "division by zero"))
	}
	f, _ := new(big.Rat).SetFrac(a, b).Float64()
	if math.IsInf(f, 0) {
		panic(raise("OverflowError", "integer division result too large for a float"))
	}
	if a.Sign() == 0 && b.Sign() < 0 {
		f = math.Copysign(0, -1)
	}
	return f
}

func shift(op string, x, y *big.Int) any {
	if y.Sign() < 0 {
		panic(raise("ValueError", "negative shift count"))
	}
	large := !y.IsInt64() || y.Int64() > limit.IntBits
	switch {
	case op == ">>" && large:
		return min(0, x.Sign())
	case op == ">>":
		return normalize(new(big.Int).Rsh(x, uint(y.Int64())))
	case x.Sign() == 0:
		return 0
	case large || x.BitLen()+int(y.Int64()) > limit.IntBits:
		panic(tooLarge())
	default:
		return normalize(new(big.Int).Lsh(x, uint(y.Int64())))
	}
}

func floats(op string, x, y float64) any {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		if y == 0 {
			panic(raise("ZeroDivisionError", "float division by zero"))
		}
		return x / y
	case "//":
		if y == 0 {
			panic(raise("ZeroDivisionError", "float floor division by zero"))
		}
		quotient, _ := floorDivideFloat(x, y)
		return quotient
	default:
		if y == 0 {
			panic(raise("ZeroDivisionError", "float modulo"))
		}
		_, remainder := floorDivideFloat(x, y)
		return remainder
	}
}

// floorDivideFloat divides with the quotient rounded down.
func floorDivideFloat(x, y float64) (quotient, remainder float64) {
	remainder = math.Mod(x, y)
	quotient = (x - remainder) / y
	switch {
	case remainder != 0 && (y < 0) != (remainder < 0):
		remainder += y
		quotient--
	case remainder == 0:
		remainder = math.Copysign(0, y)
	}
	if quotient == 0 {
		return math.Copysign(0, x/y), remainder
	}
	floor := math.Floor(quotient)
	if quotient-floor > 0.5 {
		floor++
	}
	return floor, remainder
}

// power returns x ** y of two ints.
func (m *machine) power(x, y any) any {
	a, _ := toBigInt(x)
	b, _ := toBigInt(y)
	if b.Sign() < 0 {
		if a.Sign() == 0 {
			panic(raise("ZeroDivisionError", "0.0 cannot be raised to a negative power"))
		}
		return floatPower(float(x), float(y))
	}
	size := a.BitLen()
	if size <= 1 { // -1, 0 or 1
		if b.Sign() > 0 {
			b = big.NewInt(2 - int64(b.Bit(0)))
		}
		return normalize(new(big.Int).Exp(a, b, nil))
	}
	if !b.IsInt64() || b.Int64() > limit.IntBits || (size-1)*int(b.Int64()) > limit.IntBits {
		panic(tooLarge())
	}
	n := int(b.Int64())
	m.chargeSteps(size * n / 64)
	m.alloc(size * n / 8)
	return checkSize(new(big.Int).Exp(a, b, nil))
}

func floatPower(x, y float64) any {
	if x == 0 && y < 0 && !math.IsInf(y, 0) {
		panic(raise("ZeroDivisionError", "0.0 cannot be raised to a negative power"))
	}
	result := exactPow(x, y)
	switch {
	case math.IsNaN(result) && !math.IsNaN(x) && !math.IsNaN(y):
		panic(raise("ValueError", "complex numbers cannot be computed here"))
	case math.IsInf(result, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		panic(raiseValue("OverflowError", 34, "Numerical result out of range"))
	}
	return result
}

// exactPow returns x to the power of y, correctly rounded unless y is large or tiny, unlike
// math.Pow.
func exactPow(x, y float64) float64 {
	const precision = 256
	result := math.Pow(x, y)
	whole, fraction := math.Modf(math.Abs(y))
	if math.IsNaN(x) || math.IsNaN(y) || whole > 1<<12 || fraction != 0 && fraction < 0x1p-12 || math.IsInf(result, 0) || math.IsNaN(result) || result == 0 || math.IsInf(x, 0) {
		return result
	}
	number := func(f float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(f) }
	power, base := number(1), number(x)
	for n := int(whole); n > 0; n >>= 1 {
		if n&1 == 1 {
			power.Mul(power, base)
		}
		base.Mul(base, base)
	}
	for root := number(x); fraction != 0; fraction-- {
		for ; fraction < 1; fraction *= 2 {
			root.Sqrt(root)
		}
		power.Mul(power, root)
	}
	if y < 0 {
		power.Quo(number(1), power)
	}
	result, _ = power.Float64()
	return result
}
