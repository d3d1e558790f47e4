package units

const (
	assertionError  = "AssertionError"
	definitionError = "pint.errors.DefinitionSyntaxError"
)

// Operator precedences. A group begins with the lowest.
const (
	groupPrecedence = iota
	sumPrecedence
	productPrecedence
	signPrecedence
	powerPrecedence
)

func precedence(operator string) int {
	switch operator {
	case "**":
		return powerPrecedence
	case "*", "/", "//":
		return productPrecedence
	default:
		return sumPrecedence
	}
}

// node is a part of an expression: a name or number if it has no operator, else an operation. A
// sign has no right side.
type node struct {
	leaf        token
	operator    string
	left, right *node
}

// parser builds the tree of an expression: operands side by side are a product, and powers bind
// from the right.
type parser struct {
	tokens []token // the end last
	next   int
	depth  int // of open brackets
}

// parse returns the tree of an expression. The error is Python's.
func parse(text string) (*node, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	return p.operation(groupPrecedence)
}

// operation reads operands and the operators between them as long as those bind more strongly than
// the one before. It stops at a closing bracket.
func (p *parser) operation(before int) (*node, error) {
	var left *node
	for {
		current := p.tokens[p.next]
		var err error
		switch current.kind {
		case tokenNumber, tokenName:
			if left == nil {
				left = &node{leaf: current}
				p.next++
				continue
			}
			if before >= productPrecedence {
				return left, nil
			}
			left, err = p.binary(left, "*")
		case tokenOpen:
			left, err = p.group(left)
		case tokenOperator:
			binds := precedence(current.text)
			if left != nil && binds <= before && binds < powerPrecedence {
				return left, nil
			}
			p.next++
			left, err = p.binary(left, current.text)
		case tokenClose, tokenEnd:
			return p.stop(left, current)
		}
		if err != nil {
			return nil, err
		}
	}
}

// stop returns what has been read before a closing bracket or the end.
func (p *parser) stop(left *node, at token) (*node, error) {
	switch {
	case at.kind == tokenClose && p.depth == 0:
		return nil, raise(definitionError, "unopened parentheses in tokens: "+at.text)
	case left == nil:
		return nil, raise(assertionError, "")
	}
	return left, nil
}

// binary reads the right side of an operator, or what a sign without a left side stands before.
func (p *parser) binary(left *node, operator string) (*node, error) {
	binds := signPrecedence
	if left != nil {
		binds = precedence(operator)
	}
	operand, err := p.operation(binds)
	if left == nil {
		return &node{operator: operator, left: operand}, err
	}
	return &node{operator: operator, left: left, right: operand}, err
}

// group reads a group in brackets. One right after an operand multiplies that operand before
// anything else does.
func (p *parser) group(left *node) (*node, error) {
	p.next++
	p.depth++
	inner, err := p.operation(groupPrecedence)
	if err != nil {
		return nil, err
	}
	p.next++
	p.depth--
	if left == nil {
		return inner, nil
	}
	return &node{operator: "*", left: left, right: inner}, nil
}
