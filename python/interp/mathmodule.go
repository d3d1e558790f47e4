package interp

import (
	"math"
	"math/big"

	"github.com/toolsandbox/toolsandbox/python/limit"
)

// newMath returns the module math.
func newMath() *module {
	m := &module{name: "math", members: map[string]any{
		"pi": math.Pi, "e": math.E, "tau": 2 * math.Pi, "inf": math.Inf(1), "nan": math.NaN(),
	}}
	for name, f := range splitNames(map[string]native{
		"ceil floor trunc": mathRound, "isqrt": mathIsqrt, "factorial": mathFactorial, "comb perm": mathChoose, "gcd lcm": mathGCD,
		"isnan isinf isfinite": mathIs, "isclose": mathIsClose, "fsum": mathFsum, "prod": mathProd, "hypot": mathHypot, "dist": mathDist,
		"modf": mathModf, "frexp": mathFrexp, "ldexp": mathLdexp, "log": mathLog, "log2 log10": mathLogOf,
		"pow": mathPow, "atan2 copysign fmod remainder nextafter": mathPair, "ulp": mathUlp,
		"fabs sqrt cbrt exp exp2 expm1 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh degrees radians erf erfc gamma lgamma": mathOf,
	}) {
		m.members[name] = &builtin{name: name, call: f}
	}
	return m
}

// realNumber returns the float of an argument.
func realNumber(v any) float64 {
	if !isNumber(v) {
		panic(raise("TypeError", "must be real number, not %s", typeName(v)))
	}
	return float(v)
}

func mathDomain() error { return raise("ValueError", "math domain error") }

func mathRange() error { return raise("OverflowError", "math range error") }

// inRange returns a result as Python checks it: NaN of a number is a domain error, and an infinity
// of finite numbers a range error.
func inRange(result float64, args ...float64) any {
	nan, infinite := false, false
	for _, x := range args {
		nan, infinite = nan || math.IsNaN(x), infinite || math.IsInf(x, 0)
	}
	switch {
	case math.IsNaN(result) && !nan:
		panic(mathDomain())
	case math.IsInf(result, 0) && !infinite && !nan:
		panic(mathRange())
	}
	return result
}

// mathFunctions are the functions of one number whose errors inRange finds.
var mathFunctions = map[string]func(float64) float64{
	"fabs": math.Abs, "sqrt": math.Sqrt, "cbrt": math.Cbrt, "exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1, "log1p": math.Log1p,
	"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "asin": math.Asin, "acos": math.Acos, "atan": math.Atan,
	"sinh": sinh, "cosh": cosh, "tanh": tanh, "asinh": math.Asinh, "acosh": math.Acosh, "atanh": math.Atanh,
	"degrees": func(x float64) float64 { return x * (180 / math.Pi) }, "radians": func(x float64) float64 { return x * (math.Pi / 180) },
	"erf": math.Erf, "erfc": math.Erfc, "gamma": math.Gamma,
	"lgamma": func(x float64) float64 {
		value, _ := math.Lgamma(x)
		if math.IsInf(x, 0) {
			value = math.Inf(1)
		}
		return value
	},
}

func mathOf(a *arguments) any {
	x := realNumber(a.one())
	result := mathFunctions[a.name](x)
	if exactFunctions[a.name] != nil {
		a.chargeSteps(4 * powerSteps)
		result = exactly(a.name, x, result)
	}
	switch a.name {
	case "degrees":
		return result
	case "log1p", "atanh": // an infinity is outside of their domain
		if math.IsInf(result, 0) && !math.IsInf(x, 0) {
			panic(mathDomain())
		}
	case "gamma", "lgamma":
		if x <= 0 && x == math.Floor(x) && (a.name == "gamma" || !math.IsInf(x, 0)) {
			panic(mathDomain())
		}
	}
	return inRange(result, x)
}

func mathRound(a *arguments) any {
	v := a.one()
	if i, ok := toBigInt(v); ok {
		return normalize(i)
	}
	if _, isFloat := plain(v).(float64); !isFloat {
		if a.name == "trunc" {
			panic(raise("TypeError", "type %s doesn't define __trunc__ method", typeName(v)))
		}
		panic(raise("TypeError", "must be real number, not %s", typeName(v)))
	}
	round := map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor, "trunc": math.Trunc}[a.name]
	return truncate(round(realNumber(v)))
}

// whole returns an argument that has to be an int.
func whole(v any) *big.Int {
	i, ok := toBigInt(v)
	if !ok {
		panic(raise("TypeError", "'%s' object cannot be interpreted as an integer", typeName(v)))
	}
	return i
}

func mathIsqrt(a *arguments) any {
	i := whole(a.one())
	if i.Sign() < 0 {
		panic(raise("ValueError", "isqrt() argument must be nonnegative"))
	}
	a.chargeSteps(i.BitLen() / 8)
	a.alloc(i.BitLen() / 8)
	return normalize(new(big.Int).Sqrt(i))
}

// product multiplies the numbers from low to high, which are not negative.
func (m *machine) product(low, high int64) *big.Int {
	result := big.NewInt(1)
	for i := low; i <= high; i++ {
		m.chargeSteps(1 + result.BitLen()/512)
		m.alloc(result.BitLen() / 8)
		if result.Mul(result, big.NewInt(i)); result.BitLen() > limit.IntBits {
			panic(tooLarge())
		}
	}
	return result
}

func mathFactorial(a *arguments) any {
	i := whole(a.one())
	switch {
	case i.Sign() < 0:
		panic(raise("ValueError", "factorial() not defined for negative values"))
	case i.BitLen() > 31:
		panic(tooLarge())
	}
	return normalize(a.product(2, i.Int64()))
}

// mathChoose implements comb and perm.
func mathChoose(a *arguments) any {
	minimum := 2
	if a.name == "perm" {
		minimum = 1
	}
	args := a.positionalOnly(minimum, 2)
	n := whole(args[0])
	k := n
	if orDefault(args[1], nil) != nil {
		k = whole(args[1])
	}
	switch {
	case n.Sign() < 0:
		panic(raise("ValueError", "n must be a non-negative integer"))
	case k.Sign() < 0:
		panic(raise("ValueError", "k must be a non-negative integer"))
	case k.Cmp(n) > 0:
		return 0
	}
	if rest := new(big.Int).Sub(n, k); a.name == "comb" && rest.Cmp(k) < 0 {
		k = rest
	}
	if k.BitLen() > 31 || n.BitLen() > 62 && k.Sign() > 0 {
		panic(tooLarge())
	}
	if k.Sign() == 0 {
		return 1
	}
	result := big.NewInt(1)
	for i := range k.Int64() {
		a.chargeSteps(1 + result.BitLen()/256)
		a.alloc(result.BitLen() / 4)
		result.Mul(result, big.NewInt(n.Int64()-i))
		if a.name == "comb" {
			result.Quo(result, big.NewInt(i+1))
		}
		if result.BitLen() > limit.IntBits {
			panic(tooLarge())
		}
	}
	return normalize(result)
}

// mathGCD implements gcd and lcm of any number of ints.
func mathGCD(a *arguments) any {
	if len(a.named) > 0 {
		panic(raise("TypeError", "math.%s() takes no keyword arguments", a.name))
	}
	result := new(big.Int)
	if a.name == "lcm" {
		result.SetInt64(1)
	}
	for _, arg := range a.positional {
		i := new(big.Int).Abs(whole(arg))
		a.chargeSteps(1 + (i.BitLen()+result.BitLen())/32)
		a.alloc((i.BitLen() + result.BitLen()) / 4)
		divisor := new(big.Int).GCD(nil, nil, result, i)
		switch {
		case a.name == "gcd":
			result = divisor
		case i.Sign() == 0 || result.Sign() == 0:
			result = new(big.Int)
		default:
			result.Mul(result, i.Quo(i, divisor))
			checkSize(result)
		}
	}
	return normalize(result)
}

func mathIs(a *arguments) any {
	x := realNumber(a.one())
	switch a.name {
	case "isnan":
		return math.IsNaN(x)
	case "isinf":
		return math.IsInf(x, 0)
	default:
		return !math.IsNaN(x) && !math.IsInf(x, 0)
	}
}

func mathIsClose(a *arguments) any {
	var tolerances [2]float64
	tolerances[0] = 1e-9
	for _, k := range a.named {
		switch k.name {
		case "rel_tol":
			tolerances[0] = realNumber(k.value)
		case "abs_tol":
			tolerances[1] = realNumber(k.value)
		default:
			panic(raise("TypeError", "'%s' is an invalid keyword argument for isclose()", k.name))
		}
	}
	if len(a.positional) != 2 {
		panic(raise("TypeError", "isclose() takes exactly 2 positional arguments (%d given)", len(a.positional)))
	}
	x, y := realNumber(a.positional[0]), realNumber(a.positional[1])
	switch {
	case tolerances[0] < 0 || tolerances[1] < 0:
		panic(raise("ValueError", "tolerances must be non-negative"))
	case x == y:
		return true
	case math.IsInf(x, 0) || math.IsInf(y, 0):
		return false
	}
	difference := math.Abs(y - x)
	return difference <= math.Abs(tolerances[0]*y) || difference <= math.Abs(tolerances[0]*x) || difference <= tolerances[1]
}

// mathFsum sums floats exactly and rounds once.
func mathFsum(a *arguments) any {
	total, special := new(big.Float).SetPrec(2200), 0.0
	for _, item := range a.collect(nil, a.one()) {
		x := realNumber(item)
		a.chargeSteps(4)
		if math.IsInf(x, 0) || math.IsNaN(x) {
			if math.IsInf(x, 0) && math.IsInf(special, 0) && x != special {
				panic(raise("ValueError", "-inf + inf in fsum"))
			}
			special += x
			continue
		}
		total.Add(total, new(big.Float).SetFloat64(x))
	}
	if special != 0 || math.IsNaN(special) {
		return special
	}
	sum, _ := total.Float64()
	if math.IsInf(sum, 0) {
		panic(raise("OverflowError", "intermediate overflow in fsum"))
	}
	return sum + 0
}

func mathProd(a *arguments) any {
	result := any(1)
	for _, k := range a.named {
		if k.name != "start" {
			panic(raise("TypeError", "'%s' is an invalid keyword argument for prod()", k.name))
		}
		result = k.value
	}
	if len(a.positional) != 1 {
		panic(raise("TypeError", "prod() takes exactly 1 positional argument (%d given)", len(a.positional)))
	}
	for _, item := range a.collect(nil, a.positional[0]) {
		result = a.binary("*", result, item)
	}
	return result
}

// norm is the root of the sum of squares, rounded once.
func (m *machine) norm(values []float64) any {
	const precision = 2400 // holds the squares of all floats exactly
	sum, nan := new(big.Float).SetPrec(precision), false
	for _, x := range values {
		if math.IsInf(x, 0) {
			return math.Inf(1)
		}
		nan = nan || math.IsNaN(x)
	}
	if nan {
		return math.NaN()
	}
	for _, x := range values {
		m.chargeSteps(8)
		square := new(big.Float).SetPrec(128).SetFloat64(x)
		sum.Add(sum, square.Mul(square, square))
	}
	if sum.Sign() == 0 {
		return 0.0
	}
	root, _ := sum.SetPrec(256).Sqrt(sum).Float64()
	return root
}

func mathHypot(a *arguments) any {
	if len(a.named) > 0 {
		panic(raise("TypeError", "math.hypot() takes no keyword arguments"))
	}
	values := make([]float64, len(a.positional))
	for i, arg := range a.positional {
		values[i] = realNumber(arg)
	}
	return a.norm(values)
}

func mathDist(a *arguments) any {
	args := a.positionalOnly(2, 2)
	p, q := a.collect(nil, args[0]), a.collect(nil, args[1])
	if len(p) != len(q) {
		panic(raise("ValueError", "both points must have the same number of dimensions"))
	}
	values := make([]float64, len(p))
	for i := range p {
		values[i] = realNumber(p[i]) - realNumber(q[i])
	}
	return a.norm(values)
}

func mathModf(a *arguments) any {
	x := realNumber(a.one())
	if math.IsInf(x, 0) {
		return &tuple{[]any{math.Copysign(0, x), x}}
	}
	whole := math.Trunc(x)
	return &tuple{[]any{math.Copysign(x-whole, x), whole}}
}

func mathFrexp(a *arguments) any {
	x := realNumber(a.one())
	fraction, exponent := math.Frexp(x)
	return &tuple{[]any{fraction, exponent}}
}

func mathLdexp(a *arguments) any {
	args := a.positionalOnly(2, 2)
	x := realNumber(args[0])
	if _, _, isInt := integer(args[1]); !isInt {
		panic(raise("TypeError", "Expected an int as second argument to ldexp."))
	}
	exponent := min(max(machineInt(args[1], true), -1<<16), 1<<16)
	return inRange(math.Ldexp(x, exponent), x)
}

// logarithm returns the natural logarithm, or that to base 2 or 10, of any positive number.
func (a *arguments) logarithm(v any, function string) float64 {
	a.chargeSteps(4 * powerSteps)
	of := func(x float64) float64 {
		return exactly(function, x, map[string]func(float64) float64{"log": math.Log, "log2": math.Log2, "log10": log10}[function](x))
	}
	if i, ok := toBigInt(v); ok {
		if i.Sign() <= 0 {
			panic(mathDomain())
		}
		if i.BitLen() > 1000 { // too large for a float
			shift := uint(i.BitLen() - 64)
			mantissa, _ := new(big.Float).SetInt(new(big.Int).Rsh(i, shift)).Float64()
			return of(mantissa) + float64(shift)*of(2)
		}
	}
	x := realNumber(v)
	if x <= 0 {
		panic(mathDomain())
	}
	return of(x)
}

func mathLog(a *arguments) any {
	args := a.positionalOnly(1, 2)
	result := a.logarithm(args[0], "log")
	if args[1] == absent {
		return result
	}
	base := a.logarithm(args[1], "log")
	if base == 0 {
		panic(raise("ZeroDivisionError", "float division by zero"))
	}
	return result / base
}

// mathLogOf implements log2 and log10.
func mathLogOf(a *arguments) any { return a.logarithm(a.one(), a.name) }

func mathPow(a *arguments) any {
	args := a.positionalOnly(2, 2)
	x, y := realNumber(args[0]), realNumber(args[1])
	a.chargeSteps(4 * powerSteps)
	if x == 0 && y < 0 && !math.IsInf(y, 0) {
		panic(mathDomain())
	}
	return inRange(exactPow(x, y), x, y)
}

// mathPair implements functions of two numbers.
func mathPair(a *arguments) any {
	args := a.positionalOnly(2, 2)
	x, y := realNumber(args[0]), realNumber(args[1])
	switch a.name {
	case "atan2":
		a.chargeSteps(4 * powerSteps)
		return atan2(x, y)
	case "copysign":
		return math.Copysign(x, y)
	case "nextafter":
		if x == y {
			return y // not -0.0 for 0.0
		}
		return math.Nextafter(x, y)
	case "fmod":
		if math.IsInf(y, 0) && !math.IsInf(x, 0) {
			return x
		}
		return inRange(math.Mod(x, y), nanOnly(x), nanOnly(y))
	default:
		return inRange(math.Remainder(x, y), nanOnly(x), nanOnly(y))
	}
}

// atan2 is exact where the point is neither on an axis nor at infinity.
func atan2(y, x float64) float64 {
	approximate := math.Atan2(y, x)
	if x == 0 || y == 0 || math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(approximate) {
		return approximate
	}
	angle := bigAtan(newExact().Quo(exact(y), exact(x)))
	if x < 0 {
		angle.Add(angle, newExact().Mul(exact(math.Copysign(1, y)), exactPi()))
	}
	result, _ := angle.Float64()
	return result
}

// nanOnly is NaN for NaN, and 0 for other numbers, infinities included.
func nanOnly(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	return 0
}

func mathUlp(a *arguments) any {
	x := math.Abs(realNumber(a.one()))
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return x
	case x == math.MaxFloat64:
		return x - math.Nextafter(x, 0)
	}
	return math.Nextafter(x, math.Inf(1)) - x
}
