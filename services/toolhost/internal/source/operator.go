package source

import (
	"errors"
	"math"
	"math/big"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// number returns what a bool, int or float is in arithmetic: an int unless it is a float.
func number(v starlark.Value) (i starlark.Int, f float64, isFloat, ok bool) {
	switch v := v.(type) {
	case starlark.Bool:
		if v {
			return starlark.MakeInt(1), 0, false, true
		}
		return starlark.MakeInt(0), 0, false, true
	case starlark.Int:
		return v, 0, false, true
	case starlark.Float:
		return starlark.Int{}, float64(v), true, true
	default:
		return starlark.Int{}, 0, false, false
	}
}

// bits returns the size of an int.
func bits(i starlark.Int) int { return i.BigInt().BitLen() }

// toFloat converts an int.
func toFloat(i starlark.Int) (float64, error) {
	f, _ := new(big.Float).SetInt(i.BigInt()).Float64()
	if math.IsInf(f, 0) {
		return 0, raise("OverflowError", "int too large to convert to float")
	}
	return f, nil
}

func tooLarge() error { return raise("MemoryError", "the number is too large") }

func unsupported(operator string, x, y starlark.Value) error {
	return raisef("TypeError", "unsupported operand type(s) for %s: '%s' and '%s'", operator, typeName(x), typeName(y))
}

// binary returns x operator y for the operators that are neither comparisons nor logical.
func (r *run) binary(operator string, x, y starlark.Value) (starlark.Value, error) {
	xi, xf, xFloat, xOK := number(x)
	yi, yf, yFloat, yOK := number(y)
	if !xOK || !yOK {
		return r.combine(operator, x, y)
	}
	if !xFloat && !yFloat {
		return r.integer(operator, x, y, xi, yi)
	}
	var err error
	if !xFloat {
		xf, err = toFloat(xi)
	} else if !yFloat {
		yf, err = toFloat(yi)
	}
	if err != nil {
		return nil, err
	}
	f, err := floating(operator, xf, yf)
	if errors.Is(err, errNoOperator) {
		return nil, unsupported(operator, x, y)
	}
	return starlark.Float(f), err
}

// integer computes with ints.
func (r *run) integer(operator string, x, y starlark.Value, xi, yi starlark.Int) (starlark.Value, error) {
	if bits(xi)+bits(yi) > 2*64 { // larger than a word: what it costs depends on the size
		if err := r.alloc((bits(xi) + bits(yi)) / 4); err != nil {
			return nil, err
		}
		if err := r.spend((bits(xi) + bits(yi)) / 512); err != nil {
			return nil, err
		}
	}
	switch operator {
	case "+":
		return fits(xi.Add(yi))
	case "-":
		return fits(xi.Sub(yi))
	case "*":
		if bits(xi)+bits(yi) > maxBits {
			return nil, tooLarge()
		}
		return xi.Mul(yi), nil
	case "/":
		return quotient(xi, yi)
	case "//", "%":
		if yi.Sign() == 0 {
			return nil, raise("ZeroDivisionError", "integer division or modulo by zero")
		}
		if operator == "%" {
			return xi.Mod(yi), nil
		}
		return xi.Div(yi), nil
	case "<<", ">>":
		return shift(operator, xi, yi)
	}
	token := map[string]syntax.Token{"&": syntax.AMP, "|": syntax.PIPE, "^": syntax.CIRCUMFLEX}[operator]
	if token == 0 {
		return nil, unsupported(operator, x, y)
	}
	xb, xBool := x.(starlark.Bool)
	yb, yBool := y.(starlark.Bool)
	if !xBool || !yBool {
		return starlark.Binary(token, xi, yi)
	}
	switch operator {
	case "&":
		return xb && yb, nil
	case "|":
		return xb || yb, nil
	default:
		return starlark.Bool(xb != yb), nil
	}
}

// quotient divides as Python does, rightly rounded.
func quotient(x, y starlark.Int) (starlark.Value, error) {
	if y.Sign() == 0 {
		return nil, raise("ZeroDivisionError", "division by zero")
	}
	f, _ := new(big.Rat).SetFrac(x.BigInt(), y.BigInt()).Float64()
	if math.IsInf(f, 0) {
		return nil, raise("OverflowError", "integer division result too large for a float")
	}
	return starlark.Float(f), nil
}

func fits(i starlark.Int) (starlark.Value, error) {
	if bits(i) > maxBits {
		return nil, tooLarge()
	}
	return i, nil
}

func shift(operator string, x, y starlark.Int) (starlark.Value, error) {
	if y.Sign() < 0 {
		return nil, raise("ValueError", "negative shift count")
	}
	n, err := starlark.AsInt32(y)
	switch {
	case operator == ">>" && (err != nil || n > maxBits):
		return starlark.MakeInt(min(0, x.Sign())), nil
	case operator == ">>":
		return x.Rsh(uint(n)), nil
	case x.Sign() == 0:
		return x, nil
	case err != nil || bits(x)+n > maxBits:
		return nil, tooLarge()
	default:
		return x.Lsh(uint(n)), nil
	}
}

// errNoOperator says that floats do not have an operator.
var errNoOperator = errors.New("no such operator")

// floating computes with floats. The error may be errNoOperator.
func floating(operator string, x, y float64) (float64, error) {
	switch operator {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "/":
		if y == 0 {
			return 0, raise("ZeroDivisionError", "float division by zero")
		}
		return x / y, nil
	case "//", "%":
		if y == 0 && operator == "//" {
			return 0, raise("ZeroDivisionError", "float floor division by zero")
		}
		if y == 0 {
			return 0, raise("ZeroDivisionError", "float modulo")
		}
		quotient, remainder := divmod(x, y)
		if operator == "//" {
			return quotient, nil
		}
		return remainder, nil
	default:
		return 0, errNoOperator
	}
}

// divmod divides with the quotient rounded down.
func divmod(x, y float64) (quotient, remainder float64) {
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

// combine computes with what is no number.
func (r *run) combine(operator string, x, y starlark.Value) (starlark.Value, error) {
	switch operator {
	case "+":
		return r.join2(x, y)
	case "*":
		if n, _, isFloat, ok := number(y); ok && !isFloat {
			return r.repeat(x, y, n)
		}
		if n, _, isFloat, ok := number(x); ok && !isFloat {
			return r.repeat(y, x, n)
		}
		if _, isSequence := x.(starlark.Indexable); isSequence && typeName(x) != "range" {
			return nil, raisef("TypeError", "can't multiply sequence by non-int of type '%s'", typeName(y))
		}
	case "%":
		if text, ok := x.(starlark.String); ok {
			return r.percent(string(text), y)
		}
	case "|":
		left, leftOK := x.(*starlark.Dict)
		right, rightOK := y.(*starlark.Dict)
		if leftOK && rightOK {
			return r.merge(left, right)
		}
	}
	return nil, unsupported(operator, x, y)
}

// join2 returns x + y of two texts, lists or tuples.
func (r *run) join2(x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			if err := r.alloc(len(x) + len(y)); err != nil {
				return nil, err
			}
			return x + y, nil
		}
		return nil, raisef("TypeError", `can only concatenate str (not "%s") to str`, typeName(y))
	case *starlark.List:
		if y, ok := y.(*starlark.List); ok {
			return r.concatenate(x, y)
		}
		return nil, raisef("TypeError", `can only concatenate list (not "%s") to list`, typeName(y))
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			if err := r.allocItems(len(x) + len(y)); err != nil {
				return nil, err
			}
			return append(x[:len(x):len(x)], y...), nil
		}
		return nil, raisef("TypeError", `can only concatenate tuple (not "%s") to tuple`, typeName(y))
	default:
		return nil, unsupported("+", x, y)
	}
}

// concatenate returns a new list of the items of lists.
func (r *run) concatenate(lists ...*starlark.List) (starlark.Value, error) {
	var items []starlark.Value
	for _, list := range lists {
		if err := r.allocItems(list.Len()); err != nil {
			return nil, err
		}
		for i := range list.Len() {
			items = append(items, list.Index(i))
		}
	}
	return starlark.NewList(items), nil
}

// repeat returns x * n, where by is n as it was written.
func (r *run) repeat(x, by starlark.Value, n starlark.Int) (starlark.Value, error) {
	sequence, isSequence := x.(starlark.Indexable)
	if !isSequence || typeName(x) == "range" {
		return nil, unsupported("*", x, by)
	}
	if n.Sign() <= 0 || sequence.Len() == 0 {
		n = starlark.MakeInt(0)
	}
	times, err := starlark.AsInt32(n)
	if err != nil || times > maxMemory || times*max(1, sequence.Len()) > maxMemory {
		return nil, r.alloc(maxMemory + 1)
	}
	if text, ok := x.(starlark.String); ok {
		if err := r.alloc(len(text) * times); err != nil {
			return nil, err
		}
		return starlark.String(strings.Repeat(string(text), times)), nil
	}
	if err := r.allocItems(sequence.Len() * times); err != nil {
		return nil, err
	}
	items := make([]starlark.Value, 0, sequence.Len()*times)
	for range times {
		for i := range sequence.Len() {
			items = append(items, sequence.Index(i))
		}
	}
	if _, ok := x.(starlark.Tuple); ok {
		return starlark.Tuple(items), nil
	}
	return starlark.NewList(items), nil
}

func (r *run) merge(x, y *starlark.Dict) (starlark.Value, error) {
	if err := r.allocItems(x.Len() + y.Len()); err != nil {
		return nil, err
	}
	return x.Union(y), nil
}
