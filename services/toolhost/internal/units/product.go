package units

import (
	"slices"
	"strings"
)

// product is what an expression comes to: a number, or units with a number before them.
type product struct {
	scale number
	units container
	plain bool // a number
}

func (p product) typeName() string {
	switch {
	case !p.plain:
		return "ParserHelper"
	case p.scale.whole != nil:
		return "int"
	default:
		return "float"
	}
}

func unsupported(operator string, left, right product) error {
	return raise(typeError, "unsupported operand type(s) for "+operator+": '"+left.typeName()+"' and '"+right.typeName()+"'")
}

// parseProduct reads an expression of units. A number alone comes out as no units with that scale.
func parseProduct(text string) (product, error) {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return product{scale: integer(1)}, nil
	}
	tree, err := parse(text)
	if err != nil {
		return product{}, err
	}
	result, err := tree.evaluate()
	if err != nil {
		return product{}, err
	}
	if slices.ContainsFunc(result.units, func(f factor) bool { return strings.EqualFold(f.name, "nan") }) {
		result.scale = notANumber()
	}
	return result, nil
}

// evaluate returns what a tree comes to.
func (n *node) evaluate() (product, error) {
	switch {
	case n.operator == "" && n.leaf.kind == tokenNumber:
		scale, err := parseNumber(n.leaf.text)
		return product{scale: scale, plain: true}, err
	case n.operator == "":
		return product{scale: integer(1), units: container{{n.leaf.text, integer(1)}}}, nil
	case n.right == nil:
		return n.evaluateSign()
	}
	left, err := n.left.evaluate()
	if err != nil {
		return product{}, err
	}
	right, err := n.right.evaluate()
	if err != nil {
		return product{}, err
	}
	switch n.operator {
	case "*":
		return multiplyProducts(left, right)
	case "**":
		return powerOfProduct(left, right)
	case "/":
		return divideProducts(left, right)
	case "//":
		if left.plain && !right.plain {
			return product{}, unsupported("//", left, right)
		}
		return divideProducts(left, right)
	}
	if !left.plain || !right.plain {
		return product{}, unsupported(n.operator, left, right)
	}
	operation := add
	if n.operator == "-" {
		operation = subtract
	}
	left.scale, err = operation(left.scale, right.scale)
	return left, err
}

func (n *node) evaluateSign() (product, error) {
	if n.operator != "+" && n.operator != "-" {
		return product{}, raise(definitionError, "missing unary operator '"+n.operator+"'")
	}
	value, err := n.left.evaluate()
	if err != nil || n.operator == "+" {
		return value, err
	}
	value.scale, err = multiply(value.scale, integer(-1))
	return value, err
}

func multiplyProducts(left, right product) (product, error) {
	scale, err := multiply(left.scale, right.scale)
	if err != nil {
		return product{}, err
	}
	if left.plain || right.plain {
		return product{scale: scale, units: append(left.units, right.units...), plain: left.plain && right.plain}, nil
	}
	units, err := left.units.merge(right.units, add)
	return product{scale: scale, units: units}, err
}

func divideProducts(left, right product) (product, error) {
	scale, err := divide(left.scale, right.scale)
	if err != nil || right.plain {
		return product{scale: scale, units: left.units, plain: left.plain}, err
	}
	units, err := left.units.merge(right.units, subtract)
	return product{scale: scale, units: units}, err
}

func powerOfProduct(base, exponent product) (product, error) {
	if !exponent.plain {
		base.plain = true
		return product{}, unsupported("** or pow()", base, exponent)
	}
	units := slices.Clone(base.units)
	for i := range units {
		var err error
		if units[i].power, err = multiply(units[i].power, exponent.scale); err != nil {
			return product{}, err
		}
	}
	scale, err := power(base.scale, exponent.scale)
	return product{scale: scale, units: units, plain: base.plain}, err
}
