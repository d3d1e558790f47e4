package interp

import (
	"math/big"

	"github.com/toolsandbox/toolsandbox/python"
)

func divmodOf(a *arguments) any {
	args := a.positionalOnly(2, 2)
	_, xDuration := args[0].(*timedelta)
	_, yDuration := args[1].(*timedelta)
	if (!isNumber(args[0]) || !isNumber(args[1])) && !(xDuration && yDuration) {
		panic(unsupported("divmod()", args[0], args[1]))
	}
	_, xFloat := args[0].(float64)
	_, yFloat := args[1].(float64)
	if (xFloat || yFloat) && !truth(args[1]) {
		float(args[0])
		panic(raise("ZeroDivisionError", "float divmod()"))
	}
	q := a.binary("//", args[0], args[1])
	r := a.binary("%", args[0], args[1])
	return &tuple{[]any{q, r}}
}

func powOf(a *arguments) any {
	args := a.bind(2, "base", "exp", "mod")
	if orDefault(args[2], nil) == nil {
		return a.binary("**", args[0], args[1])
	}
	x, xOK := toBigInt(args[0])
	y, yOK := toBigInt(args[1])
	z, zOK := toBigInt(args[2])
	switch {
	case !isNumber(args[0]) || !isNumber(args[1]) || !isNumber(args[2]):
		panic(raise("TypeError", "unsupported operand type(s) for pow(): '%s', '%s', '%s'", typeName(args[0]), typeName(args[1]), typeName(args[2])))
	case !xOK || !yOK || !zOK:
		panic(raise("TypeError", "pow() 3rd argument not allowed unless all arguments are integers"))
	case z.Sign() == 0:
		panic(raise("ValueError", "pow() 3rd argument cannot be 0"))
	}
	a.chargeSteps(y.BitLen() * (1 + z.BitLen()/64))
	a.alloc(z.BitLen() / 4)
	modulus := new(big.Int).Abs(z)
	base := new(big.Int).Mod(x, modulus) // Exp takes the inverse of the magnitude of a negative base
	result := new(big.Int).Exp(base, y, modulus)
	if result == nil || y.Sign() < 0 && new(big.Int).ModInverse(base, modulus) == nil {
		panic(raise("ValueError", "base is not invertible for the given modulus"))
	}
	_, remainder := floorDivide(result, z)
	return normalize(remainder)
}

func chrOf(a *arguments) any {
	v := a.one()
	i, ok := toBigInt(v)
	if !ok {
		if _, isFloat := v.(float64); isFloat {
			panic(raise("TypeError", "integer argument expected, got float"))
		}
		panic(raise("TypeError", "an integer is required (got type %s)", typeName(v)))
	}
	c, ok := chr(i)
	if !ok {
		panic(raise("ValueError", "chr() arg not in range(0x110000)"))
	}
	return c
}

func ordOf(a *arguments) any {
	v := a.one()
	text := requireString(v, "ord() expected string of length 1, but %s found")
	if n := a.length(text); n != 1 {
		panic(raise("TypeError", "ord() expected a character, but string of length %d found", n))
	}
	r, _ := python.DecodeRune(text)
	return int(r)
}

// hexOctBinOf implements hex, oct and bin.
func hexOctBinOf(a *arguments) any {
	v := a.one()
	if _, ok := toBigInt(v); !ok {
		panic(raise("TypeError", "'%s' object cannot be interpreted as an integer", typeName(v)))
	}
	verb := map[string]byte{"hex": 'x', "oct": 'o', "bin": 'b'}[a.name]
	return a.formatInt(spec{fill: " ", alternate: true, verb: verb, precision: -1}, v)
}
