package expression

import (
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

const (
	// maxBits bounds integers: what Python prints is at most 4,300 digits.
	maxBits = 14_000
	// maxBytes bounds what all operators of one call make, in about the bytes that it takes to print it.
	maxBytes = 1 << 20
)

// evaluator computes values.
type evaluator struct {
	names map[string]python.Value
	// noJSON says that a value came up that JSON cannot write. It stands as None then.
	noJSON bool
	// made counts the bytes that operators made.
	made int64
}

// spend says whether a value may still be made.
func (e *evaluator) spend(bytes int64) bool {
	if bytes > maxBytes {
		return false
	}
	e.made += bytes
	return e.made <= maxBytes
}

// size returns about how many bytes a value takes in print.
func size(v python.Value) int64 {
	total := int64(2)
	if text, ok := v.AsStr(); ok {
		return total + int64(len(text))
	}
	if i, ok := v.AsBigInt(); ok {
		return total + int64(i.BitLen()/3)
	}
	list, _ := v.AsList()
	for _, item := range list {
		total += size(item)
	}
	dict, _ := v.AsDict()
	for _, item := range dict.Items() {
		total += int64(len(item.Key)) + size(item.Value)
	}
	return total
}

// value computes an expression. ok is false where Python raises an exception, and where it would run code.
func (e *evaluator) value(n *node) (v python.Value, ok bool) {
	switch n.kind {
	case nodeName:
		return e.name(n.text)
	case nodeNumber:
		value, err := python.ParseLiteral(n.text)
		return value, err == nil
	case nodeText:
		return e.text(n.texts)
	case nodeEllipsis:
		e.noJSON = true
		return python.None(), true
	case nodeList, nodeTuple, nodeSet:
		e.noJSON = e.noJSON || n.kind == nodeSet
		items := make([]python.Value, len(n.items))
		for i, item := range n.items {
			if items[i], ok = e.value(item.value); !ok {
				return python.Value{}, false
			}
		}
		return python.List(items...), true
	case nodeDict:
		return e.dict(n)
	case nodeUnary:
		operand, ok := e.value(n.items[0].value)
		if !ok {
			return python.Value{}, false
		}
		return e.binary(n.text, python.Int(0), operand, true)
	case nodeBinary:
		left, ok := e.value(n.items[0].value)
		if !ok {
			return python.Value{}, false
		}
		right, ok := e.value(n.items[1].value)
		if !ok {
			return python.Value{}, false
		}
		return e.binary(n.text, left, right, false)
	case nodeAttribute, nodeSubscript, nodeCall:
	}
	return python.Value{}, false
}

// name returns a constant, or a variable that the source may use.
func (e *evaluator) name(name string) (python.Value, bool) {
	switch name {
	case "None":
		return python.None(), true
	case "True", "False":
		return python.Bool(name == "True"), true
	case "json", "ast", "bool", "dict", "float", "int", "list", "object", "set", "str", "tuple", "type": // modules and types
		e.noJSON = true
		return python.None(), true
	}
	v, ok := e.names[name]
	return v, ok
}

// text joins adjacent literals. Bytes are no JSON; formatted texts may not format anything.
func (e *evaluator) text(texts []string) (python.Value, bool) {
	for _, text := range texts {
		if prefix := strings.ToLower(text[:strings.IndexAny(text, `'"`)]); strings.Contains(prefix, "b") {
			e.noJSON = true
			return python.None(), true
		}
	}
	return textOf(texts)
}

// textOf reads adjacent text literals.
func textOf(texts []string) (python.Value, bool) {
	var b strings.Builder
	for _, text := range texts {
		quote := strings.IndexAny(text, `'"`)
		prefix := strings.ToLower(text[:quote])
		if strings.Contains(prefix, "f") {
			if strings.ContainsAny(text, "{}") {
				return python.Value{}, false
			}
			text = strings.Replace(prefix, "f", "", 1) + text[quote:]
		}
		value, err := python.ParseLiteral(text)
		if err != nil {
			return python.Value{}, false
		}
		s, _ := value.AsStr()
		b.WriteString(s)
	}
	return python.Str(b.String()), true
}

// dict computes a dict; its keys become texts as in JSON.
func (e *evaluator) dict(n *node) (python.Value, bool) {
	dict := &python.Dict{}
	for i := 0; i < len(n.items); i += 2 {
		key, ok := e.value(n.items[i].value)
		if !ok {
			return python.Value{}, false
		}
		value, ok := e.value(n.items[i+1].value)
		if !ok {
			return python.Value{}, false
		}
		switch key.Kind() {
		case python.KindStr:
			text, _ := key.AsStr()
			dict.Set(text, value)
		case python.KindNone, python.KindBool, python.KindInt, python.KindFloat:
			dict.Set(python.JSON(key), value)
		case python.KindList, python.KindDict:
			if n.items[i].value.kind != nodeTuple {
				return python.Value{}, false // not hashable
			}
			e.noJSON = true
		}
	}
	return dict.Value(), true
}

// binary computes an operator, or a sign if there is only the right side.
func (e *evaluator) binary(operator string, left, right python.Value, sign bool) (python.Value, bool) {
	if a, b, ok := integers(left, right); ok {
		return e.integer(operator, a, b)
	}
	if a, b, ok := floats(left, right); ok {
		if sign && operator == "-" {
			return python.Float(-b), true
		}
		return float(operator, a, b)
	}
	if sign {
		return python.Value{}, false
	}
	return e.sequence(operator, left, right)
}

// integers returns two ints or bools.
func integers(left, right python.Value) (a, b *big.Int, ok bool) {
	a, okA := whole(left)
	b, okB := whole(right)
	return a, b, okA && okB
}

func whole(v python.Value) (*big.Int, bool) {
	if b, ok := v.AsBool(); ok {
		if b {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	}
	return v.AsBigInt()
}

func floats(left, right python.Value) (a, b float64, ok bool) {
	a, okA := left.Number()
	b, okB := right.Number()
	return a, b, okA && okB
}

func (e *evaluator) integer(operator string, a, b *big.Int) (python.Value, bool) {
	result := new(big.Int)
	switch operator {
	case "+":
		result.Add(a, b)
	case "-":
		result.Sub(a, b)
	case "*":
		result.Mul(a, b)
	case "/":
		x, _ := new(big.Float).SetInt(a).Float64()
		y, _ := new(big.Float).SetInt(b).Float64()
		return float(operator, x, y)
	case "//", "%":
		if b.Sign() == 0 {
			return python.Value{}, false
		}
		quotient, rest := new(big.Int).QuoRem(a, b, new(big.Int))
		if rest.Sign() != 0 && rest.Sign() != b.Sign() { // Python rounds down
			quotient.Sub(quotient, big.NewInt(1))
			rest.Add(rest, b)
		}
		result = quotient
		if operator == "%" {
			result = rest
		}
	case "**":
		if b.Sign() < 0 {
			x, _ := new(big.Float).SetInt(a).Float64()
			y, _ := new(big.Float).SetInt(b).Float64()
			return float(operator, x, y)
		}
		if !b.IsInt64() || int64(a.BitLen())*b.Int64() > maxBits || b.Int64() > maxBits {
			return python.Value{}, false
		}
		result.Exp(a, b, nil)
	}
	return python.BigInt(result), result.BitLen() <= maxBits && e.spend(int64(result.BitLen()/3))
}

func float(operator string, a, b float64) (python.Value, bool) {
	var result float64
	switch operator {
	case "+":
		result = a + b
	case "-":
		result = a - b
	case "*":
		result = a * b
	default:
		if b == 0 && operator != "**" {
			return python.Value{}, false
		}
		switch operator {
		case "/":
			result = a / b
		case "//":
			result = math.Floor(a / b)
		case "%":
			if result = math.Mod(a, b); result != 0 && (result < 0) != (b < 0) {
				result += b
			}
		case "**":
			result = math.Pow(a, b)
			if a == 0 && b < 0 || math.IsNaN(result) && !math.IsNaN(a) && !math.IsNaN(b) || math.IsInf(result, 0) && !math.IsInf(a, 0) {
				return python.Value{}, false
			}
		}
	}
	return python.Float(result), true
}

// sequence adds and repeats texts and lists.
func (e *evaluator) sequence(operator string, left, right python.Value) (python.Value, bool) {
	if operator == "*" {
		if _, number := whole(left); number {
			left, right = right, left
		}
		times, number := right.AsInt()
		if !number {
			return python.Value{}, false
		}
		return e.repeated(left, max(times, 0))
	}
	if operator != "+" || !e.spend(size(left)) || !e.spend(size(right)) {
		return python.Value{}, false
	}
	a, okA := left.AsStr()
	b, okB := right.AsStr()
	if okA && okB {
		return python.Str(a + b), true
	}
	x, okX := left.AsList()
	y, okY := right.AsList()
	return python.List(slices.Concat(x, y)...), okX && okY
}

func (e *evaluator) repeated(v python.Value, times int64) (python.Value, bool) {
	if times > maxBytes || !e.spend(size(v)*times) {
		return python.Value{}, false
	}
	if text, ok := v.AsStr(); ok {
		return python.Str(strings.Repeat(text, int(times))), true
	}
	list, ok := v.AsList()
	return python.List(slices.Repeat(list, int(times))...), ok
}
