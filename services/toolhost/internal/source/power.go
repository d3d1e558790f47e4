package source

import (
	"math"
	"math/big"

	"go.starlark.net/starlark"
)

// exponent returns how many tokens after the operator ** at place i are its right operand; 0 if there is no such operator.
// Of Starlark's operators none binds like it, but a subscript does: on the left as tightly, and its extent is written.
func exponent(tokens []token, i int) int {
	if tokens[i].text != "**" || i == 0 {
		return 0
	}
	if !follow(tokens, i) {
		return 0
	}
	return operand(tokens, i+1) - i - 1
}

// operand returns where an operand that begins at i ends: signs, a primary and, after it, another power.
func operand(tokens []token, i int) int {
	is := func(texts ...string) bool {
		for _, text := range texts {
			if i < len(tokens) && tokens[i].kind == kindMark && tokens[i].text == text {
				return true
			}
		}
		return false
	}
	for is("-", "+", "~") {
		i++
	}
	if i < len(tokens) && !is("(", "[", "{") {
		i++
	}
	for is("(", "[", "{", ".") {
		if is(".") {
			i += 2
			continue
		}
		for depth := 0; i < len(tokens); {
			if is("(", "[", "{") {
				depth++
			} else if is(")", "]", "}") {
				depth--
			}
			if i++; depth == 0 {
				break
			}
		}
	}
	i = min(i, len(tokens))
	if is("**") {
		return operand(tokens, i+1)
	}
	return i
}

// power writes the operator ** and its right operand as a subscript.
func (t *translator) power(tokens []token) error {
	operator := tokens[0]
	if t.depth++; t.depth > maxBrackets {
		return t.wrong(operator.at, "too many nested powers")
	}
	defer func() { t.depth-- }()
	end := operator.at + len(operator.text)
	t.put("[", operator.at, end)
	t.putLiteral(literal{kind: literalPower}, operator.at, end)
	t.put(",", operator.at, end)
	if err := t.tokens(tokens[1:]); err != nil {
		return err
	}
	t.put("]", operator.at, end)
	return nil
}

// power returns x ** y.
func (r *run) power(x, y starlark.Value) (starlark.Value, error) {
	xi, xf, xFloat, xOK := number(x)
	yi, yf, yFloat, yOK := number(y)
	if !xOK || !yOK {
		return nil, unsupported("** or pow()", x, y)
	}
	if !xFloat && !yFloat && yi.Sign() >= 0 {
		n, err := starlark.AsInt32(yi)
		size := bits(xi)
		switch {
		case size <= 1 && (err != nil || n > 1): // -1, 0 or 1
			n = 2 - int(yi.BigInt().Bit(0))
		case err != nil || n > maxBits || (size-1)*n > maxBits:
			return nil, tooLarge()
		}
		if err := r.spend(size * n / 64); err != nil {
			return nil, err
		}
		return fits(starlark.MakeBigInt(new(big.Int).Exp(xi.BigInt(), big.NewInt(int64(n)), nil)))
	}
	var err error
	if !xFloat {
		if xf, err = toFloat(xi); err != nil {
			return nil, err
		}
	}
	if !yFloat {
		if yf, err = toFloat(yi); err != nil {
			return nil, err
		}
	}
	if xf == 0 && yf < 0 {
		return nil, raise("ZeroDivisionError", "0.0 cannot be raised to a negative power")
	}
	result := math.Pow(xf, yf)
	switch {
	case math.IsNaN(result) && !math.IsNaN(xf) && !math.IsNaN(yf):
		return nil, raise("ValueError", "complex numbers cannot be computed here")
	case math.IsInf(result, 0) && !math.IsInf(xf, 0) && !math.IsInf(yf, 0):
		return nil, raise("OverflowError", "(34, 'Numerical result out of range')")
	}
	return starlark.Float(result), nil
}
