package units

import (
	"slices"
	"strings"
)

const (
	assertionError  = "AssertionError"
	definitionError = "pint.errors.DefinitionSyntaxError"

	// maxNesting is how deep an expression may nest; the original's limit depends on the stack in use.
	maxNesting = 900

	noOperator = "<none>"
)

// priority returns how strongly an operator binds; ok is false for what is none.
func priority(operator string) (strength int, ok bool) {
	switch operator {
	case "**", "^":
		return 3, true
	case "unary":
		return 2, true
	case "*", "", "//", "/", "%":
		return 1, true
	case "+", "-":
		return 0, true
	default:
		return -1, false
	}
}

// node is a part of an expression: a name or number if right is nil and unary is not set, else an operation.
type node struct {
	leaf        token
	operator    string // empty for a product without a sign
	unary       bool
	left, right *node
}

// parser builds the tree of an expression as the original does, its lenience towards stray tokens included.
type parser struct {
	tokens []token
	levels int
}

func recursionError() error { return raise("RecursionError", "maximum recursion depth exceeded") }

// parse returns the tree of an expression. The error is Python's.
func parse(tokens []token) (*node, error) {
	p := &parser{tokens: tokens}
	tree, _, err := p.build(0, noOperator)
	return tree, err
}

// build reads from the token at index as long as operators bind more strongly than the one before. It returns what it has
// read and the index of the last token that it used.
func (p *parser) build(index int, before string) (*node, int, error) {
	if p.levels++; p.levels > maxNesting {
		return nil, 0, recursionError()
	}
	defer func() { p.levels-- }()
	var result *node
	for ; index < len(p.tokens); index++ {
		current := p.tokens[index]
		done, err := false, error(nil)
		switch current.kind {
		case tokenOperator:
			result, index, done, err = p.operator(result, index, before)
		case tokenNumber, tokenName:
			result, index, done, err = p.operand(result, index, before)
		case tokenOther, tokenEnd:
		}
		if done || err != nil {
			return result, index, err
		}
		if p.tokens[index].kind != tokenEnd {
			continue
		}
		switch {
		case before == "(":
			return nil, 0, raise(definitionError, "unclosed parentheses in tokens")
		case result == nil:
			return nil, 0, raise(assertionError, "")
		}
		return result, index, nil
	}
	return nil, 0, raise(definitionError, "unexpected end to tokens")
}

// operand adds a name or number to what has been read.
func (p *parser) operand(result *node, index int, before string) (*node, int, bool, error) {
	if result == nil {
		return &node{leaf: p.tokens[index]}, index, false, nil
	}
	if bound, _ := priority(before); bound >= 1 {
		return result, index - 1, true, nil
	}
	right, index, err := p.build(index, "")
	return &node{left: result, right: right}, index, false, err
}

// operator adds a bracket or an operator, with what it binds, to what has been read. It passes over any other sign.
func (p *parser) operator(result *node, index int, before string) (*node, int, bool, error) {
	current := p.tokens[index]
	strength, isOperator := priority(current.text)
	switch {
	case current.text == ")":
		return p.closeGroup(result, index, before)
	case current.text == "(":
		right, index, err := p.build(index+1, "(")
		if err == nil && p.tokens[index].text != ")" {
			err = raise(definitionError, "weird exit from parentheses")
		}
		if result != nil {
			right = &node{left: result, right: right}
		}
		return right, index, false, err
	case !isOperator:
		return result, index, false, nil
	case result == nil:
		right, index, err := p.build(index+1, "unary")
		return &node{operator: current.text, unary: true, left: right}, index, false, err
	}
	if bound, _ := priority(before); strength <= bound && strength < 3 {
		return result, index - 1, true, nil
	}
	right, index, err := p.build(index+1, current.text)
	return &node{operator: current.text, left: result, right: right}, index, false, err
}

func (p *parser) closeGroup(result *node, index int, before string) (*node, int, bool, error) {
	switch {
	case before == noOperator:
		return nil, 0, true, raise(definitionError, "unopened parentheses in tokens: "+p.tokens[index].String())
	case result == nil:
		return nil, 0, true, raise(assertionError, "")
	case before != "(":
		index--
	}
	return result, index, true, nil
}

// product is what an expression comes to: a number, or units with a number before them.
type product struct {
	scale number
	units container
	plain bool // a number
}

func (p product) typeName() string {
	if p.plain {
		return p.scale.typeName()
	}
	return "ParserHelper"
}

func plain(n number, err error) (product, error) { return product{scale: n, plain: true}, err }

// evaluate returns what a tree comes to; level is how deep it lies in the whole one.
func (n *node) evaluate(level int) (product, error) {
	switch {
	case level > maxNesting:
		return product{}, recursionError()
	case n.left == nil && n.leaf.kind == tokenNumber:
		return plain(parseNumber(n.leaf.text))
	case n.left == nil:
		return product{scale: integer(1), units: container{{n.leaf.text, integer(1)}}}, nil
	case n.unary:
		return n.evaluateUnary(level)
	}
	if n.operator == "^" {
		return product{}, raise(definitionError, "missing binary operator '^'")
	}
	left, err := n.left.evaluate(level + 1)
	if err != nil {
		return product{}, err
	}
	right, err := n.right.evaluate(level + 1)
	if err != nil {
		return product{}, err
	}
	switch n.operator {
	case "", "*":
		return multiplyProducts(left, right)
	case "/":
		return divideProducts(left, right)
	case "**":
		return powerOfProduct(left, right)
	case "//":
		if left.plain && right.plain {
			return plain(floorDivide(left.scale, right.scale))
		}
		if left.plain {
			return product{}, unsupported("//", left, right)
		}
		return divideProducts(left, right)
	}
	if !left.plain || !right.plain {
		return product{}, unsupported(n.operator, left, right)
	}
	if n.operator == "+" {
		return plain(add(left.scale, right.scale))
	}
	return plain(subtract(left.scale, right.scale))
}

func (n *node) evaluateUnary(level int) (product, error) {
	if n.operator != "+" && n.operator != "-" {
		return product{}, raise(definitionError, "missing unary operator '"+n.operator+"'")
	}
	value, err := n.left.evaluate(level + 1)
	if err != nil || n.operator == "+" {
		return value, err
	}
	value.scale, err = multiply(value.scale, integer(-1))
	return value, err
}

func unsupported(operator string, left, right product) error {
	return raise(typeError, "unsupported operand type(s) for "+operator+": '"+left.typeName()+"' and '"+right.typeName()+"'")
}

func multiplyProducts(left, right product) (product, error) {
	scale, err := multiply(left.scale, right.scale)
	if left.plain || right.plain || err != nil {
		return product{scale: scale, units: append(left.units, right.units...), plain: left.plain && right.plain}, err
	}
	units, err := left.units.merge(right.units, add)
	return product{scale: scale, units: units}, err
}

func divideProducts(left, right product) (product, error) {
	if left.plain && !right.plain {
		inverse, err := powerOfProduct(right, product{scale: integer(-1), plain: true})
		if err == nil {
			inverse.scale, err = multiply(inverse.scale, left.scale)
		}
		return inverse, err
	}
	units, err := left.units.merge(right.units, subtract)
	if right.plain {
		units, err = left.units, nil
	}
	if err != nil {
		return product{}, err
	}
	scale, err := divide(left.scale, right.scale)
	return product{scale: scale, units: units, plain: left.plain}, err
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
	if err != nil {
		return product{}, err
	}
	for _, unit := range units {
		if unit.power.opaque && unit.power.complex {
			_, err := unit.power.float()
			return product{}, err
		}
	}
	return product{scale: scale, units: units, plain: base.plain}, nil
}

// parseProduct reads an expression of units. A plain number comes out as units with that scale.
func parseProduct(text string) (product, error) {
	if text == "" {
		return product{scale: integer(1)}, nil
	}
	if err := checkSurrogates(text); err != nil {
		return product{}, err
	}
	text = preprocess(text)
	brackets := strings.Contains(text, "[")
	if brackets {
		text = strings.NewReplacer("[", "__obra__", "]", "__cbra__").Replace(text)
	}
	tokens, err := tokenize(text)
	if err != nil {
		return product{}, err
	}
	tree, err := parse(tokens)
	if err != nil {
		return product{}, err
	}
	result, err := tree.evaluate(0)
	if err != nil || result.plain {
		return product{scale: result.scale}, err
	}
	if brackets {
		back := strings.NewReplacer("__obra__", "[", "__cbra__", "]")
		for i := range result.units {
			result.units[i].name = back.Replace(result.units[i].name)
		}
	}
	if slices.ContainsFunc(result.units, func(f factor) bool { return strings.EqualFold(f.name, "nan") }) {
		result.scale = number{opaque: true}
	}
	return result, nil
}
