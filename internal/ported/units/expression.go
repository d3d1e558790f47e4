package units

const (
	assertionError  = "AssertionError"
	definitionError = "pint.errors.DefinitionSyntaxError"
)

// These are operator precedences. A group starts with the lowest.
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

// node is an expression. Without an operator it is a name or number. A sign has only a left side.
type node struct {
	leaf        token
	operator    string
	left, right *node
}

// parser parses an expression. Adjacent operands are a product, and powers are right-associative.
type parser struct {
	tokens []token // the last is tokenEnd
	next   int
	depth  int // open brackets
}

// parse returns the tree of an expression. The error is the *python.Exception of pint.
func parse(text string) (*node, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	return p.parseOperation(groupPrecedence)
}

// parseOperation parses operands and operators whose precedence is higher than before. It stops at
// a closing bracket.
func (p *parser) parseOperation(before int) (*node, error) {
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
			left, err = p.parseBinary(left, "*")
		case tokenOpen:
			left, err = p.parseGroup(left)
		case tokenOperator:
			binds := precedence(current.text)
			if left != nil && binds <= before && binds < powerPrecedence {
				return left, nil
			}
			p.next++
			left, err = p.parseBinary(left, current.text)
		case tokenClose, tokenEnd:
			return p.endOperation(left, current)
		}
		if err != nil {
			return nil, err
		}
	}
}

// endOperation returns the operand before a closing bracket or the end.
func (p *parser) endOperation(left *node, at token) (*node, error) {
	switch {
	case at.kind == tokenClose && p.depth == 0:
		return nil, raise(definitionError, "unopened parentheses in tokens: "+at.text)
	case left == nil:
		return nil, raise(assertionError, "")
	}
	return left, nil
}

// parseBinary parses the right side of an operator. Without a left side, the operator is a sign.
func (p *parser) parseBinary(left *node, operator string) (*node, error) {
	binds := signPrecedence
	if left != nil {
		binds = precedence(operator)
	}
	operand, err := p.parseOperation(binds)
	if left == nil {
		return &node{operator: operator, left: operand}, err
	}
	return &node{operator: operator, left: left, right: operand}, err
}

// parseGroup parses a group in brackets. If it follows an operand, their product has the highest
// precedence.
func (p *parser) parseGroup(left *node) (*node, error) {
	p.next++
	p.depth++
	inner, err := p.parseOperation(groupPrecedence)
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
