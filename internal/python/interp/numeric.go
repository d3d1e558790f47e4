package interp

import (
	"errors"
	"math/big"
)

func divmodOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(2, 2)
	if err != nil {
		return nil, err
	}
	if !isNumber(args[0]) || !isNumber(args[1]) {
		return nil, unsupported("divmod()", args[0], args[1])
	}
	q, err := a.binary("//", args[0], args[1])
	if err != nil {
		var r *raised
		if errors.As(err, &r) && len(r.args) == 1 && r.args[0] == "float floor division by zero" {
			return nil, raise("ZeroDivisionError", "float divmod()")
		}
		return nil, err
	}
	r, err := a.binary("%", args[0], args[1])
	return &tuple{[]any{q, r}}, err
}

func powOf(a *arguments) (any, error) {
	args, err := a.bind(2, "base", "exp", "mod")
	if err != nil {
		return nil, err
	}
	if args[2] == absent || args[2] == nil {
		return a.binary("**", args[0], args[1])
	}
	x, xOK := whole(args[0])
	y, yOK := whole(args[1])
	z, zOK := whole(args[2])
	switch {
	case !isNumber(args[0]) || !isNumber(args[1]) || !isNumber(args[2]):
		return nil, raise("TypeError", "unsupported operand type(s) for pow(): '%s', '%s', '%s'", typeName(args[0]), typeName(args[1]), typeName(args[2]))
	case !xOK || !yOK || !zOK:
		return nil, raise("TypeError", "pow() 3rd argument not allowed unless all arguments are integers")
	case z.Sign() == 0:
		return nil, raise("ValueError", "pow() 3rd argument cannot be 0")
	}
	if err := a.spend(y.BitLen() * (1 + z.BitLen()/64)); err != nil {
		return nil, err
	}
	if err := a.alloc(z.BitLen() / 4); err != nil {
		return nil, err
	}
	result := new(big.Int).Exp(x, y, new(big.Int).Abs(z))
	if result == nil || y.Sign() < 0 && new(big.Int).ModInverse(x, z) == nil {
		return nil, raise("ValueError", "base is not invertible for the given modulus")
	}
	_, remainder := floorDivide(result, z)
	return normal(remainder), nil
}

func chrOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	i, ok := whole(args[0])
	if !ok {
		if _, isFloat := args[0].(float64); isFloat {
			return nil, raise("TypeError", "integer argument expected, got float")
		}
		return nil, raise("TypeError", "an integer is required (got type %s)", typeName(args[0]))
	}
	return characterOf(i)
}

func ordOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	text, ok := args[0].(string)
	if !ok {
		return nil, raise("TypeError", "ord() expected string of length 1, but %s found", typeName(args[0]))
	}
	if n := length(text); n != 1 {
		return nil, raise("TypeError", "ord() expected a character, but string of length %d found", n)
	}
	return int(character(text)), nil
}

// basedOf is hex, oct and bin.
func basedOf(a *arguments) (any, error) {
	args, err := a.positionalOnly(1, 1)
	if err != nil {
		return nil, err
	}
	if _, ok := whole(args[0]); !ok {
		return nil, raise("TypeError", "'%s' object cannot be interpreted as an integer", typeName(args[0]))
	}
	verb := map[string]byte{"hex": 'x', "oct": 'o', "bin": 'b'}[a.name]
	return a.formatInt(spec{fill: " ", alternate: true, verb: verb, precision: -1}, args[0])
}
