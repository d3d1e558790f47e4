package units

import (
	"slices"
	"strings"
)

// quantity is the value of an expression: a number, or units with a factor.
type quantity struct {
	scale    number
	units    container
	isNumber bool
}

func (p quantity) typeName() string {
	switch {
	case !p.isNumber:
		return "ParserHelper"
	default:
		return p.scale.TypeName()
	}
}

func unsupported(operator string, left, right quantity) error {
	return raise(typeError, "unsupported operand type(s) for "+operator+": '"+left.typeName()+"' and '"+right.typeName()+"'")
}

// parseQuantity evaluates an expression of units. A number becomes a quantity without units.
func parseQuantity(text string) (quantity, error) {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return quantity{scale: integer(1)}, nil
	}
	tree, err := parse(text)
	if err != nil {
		return quantity{}, err
	}
	result, err := tree.evaluate()
	if err != nil {
		return quantity{}, err
	}
	if slices.ContainsFunc(result.units, func(f factor) bool { return strings.EqualFold(f.name, "nan") }) {
		result.scale = notANumber()
	}
	return result, nil
}

// evaluate returns the value of a tree.
func (n *node) evaluate() (quantity, error) {
	switch {
	case n.operator == "" && n.leaf.kind == tokenNumber:
		scale, err := parseNumber(n.leaf.text)
		return quantity{scale: scale, isNumber: true}, err
	case n.operator == "":
		return quantity{scale: integer(1), units: container{{n.leaf.text, integer(1)}}}, nil
	case n.right == nil:
		return n.evaluateSign()
	}
	left, err := n.left.evaluate()
	if err != nil {
		return quantity{}, err
	}
	right, err := n.right.evaluate()
	if err != nil {
		return quantity{}, err
	}
	switch n.operator {
	case "*":
		return multiplyQuantities(left, right)
	case "**":
		return powerOfQuantity(left, right)
	case "/":
		return divideQuantities(left, right)
	case "//":
		if left.isNumber && !right.isNumber {
			return quantity{}, unsupported("//", left, right)
		}
		return divideQuantities(left, right)
	}
	if !left.isNumber || !right.isNumber {
		return quantity{}, unsupported(n.operator, left, right)
	}
	left.scale, err = compute(n.operator, left.scale, right.scale)
	return left, err
}

func (n *node) evaluateSign() (quantity, error) {
	if n.operator != "+" && n.operator != "-" {
		return quantity{}, raise(definitionError, "missing unary operator '"+n.operator+"'")
	}
	value, err := n.left.evaluate()
	if err != nil || n.operator == "+" {
		return value, err
	}
	value.scale, err = compute("*", value.scale, integer(-1))
	return value, err
}

func multiplyQuantities(left, right quantity) (quantity, error) {
	scale, err := compute("*", left.scale, right.scale)
	if err != nil {
		return quantity{}, err
	}
	if left.isNumber || right.isNumber {
		return quantity{scale: scale, units: append(left.units, right.units...), isNumber: left.isNumber && right.isNumber}, nil
	}
	units, err := left.units.merge(right.units, "+")
	return quantity{scale: scale, units: units}, err
}

func divideQuantities(left, right quantity) (quantity, error) {
	scale, err := compute("/", left.scale, right.scale)
	if err != nil || right.isNumber {
		return quantity{scale: scale, units: left.units, isNumber: left.isNumber}, err
	}
	units, err := left.units.merge(right.units, "-")
	return quantity{scale: scale, units: units}, err
}

func powerOfQuantity(base, exponent quantity) (quantity, error) {
	if !exponent.isNumber {
		base.isNumber = true
		return quantity{}, unsupported("** or pow()", base, exponent)
	}
	units := slices.Clone(base.units)
	for i := range units {
		var err error
		if units[i].power, err = compute("*", units[i].power, exponent.scale); err != nil {
			return quantity{}, err
		}
	}
	scale, err := compute("**", base.scale, exponent.scale)
	return quantity{scale: scale, units: units, isNumber: base.isNumber}, err
}
