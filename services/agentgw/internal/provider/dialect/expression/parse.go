package expression

import "slices"

// maxDepth is how deep expressions may nest.
const maxDepth = 100

// nodeKind is what a node is.
type nodeKind uint8

const (
	nodeName nodeKind = iota + 1
	nodeNumber
	nodeText
	nodeEllipsis
	nodeList
	nodeTuple
	nodeSet
	nodeDict // keys and values in turn
	nodeUnary
	nodeBinary
	nodeAttribute
	nodeSubscript // the value, then what stands between the brackets
	nodeCall      // the function, then the arguments
)

// argumentForm is how an argument is given.
type argumentForm uint8

const (
	formPositional argumentForm = iota
	formNamed
	formUnpacked
)

// argument is one item of a node; only those of calls have a form.
type argument struct {
	form  argumentForm
	name  string
	value *node
}

// node is an expression.
type node struct {
	kind nodeKind
	// text is a name, an operator, or the source of a number or of one text.
	text string
	// texts are adjacent text literals.
	texts []string
	items []argument
}

func (n *node) add(items ...*node) *node {
	for _, item := range items {
		n.items = append(n.items, argument{value: item})
	}
	return n
}

// parser reads tokens.
type parser struct {
	tokens []token
	pos    int
	depth  int
}

// take passes a mark.
func (p *parser) take(mark string) bool {
	if t := p.next(); t.kind != tokenMark || t.text != mark {
		return false
	}
	p.pos++
	return true
}

// next returns the token that comes next, an empty one if there is none.
func (p *parser) next() token {
	if p.pos == len(p.tokens) {
		return token{}
	}
	return p.tokens[p.pos]
}

func (p *parser) at(kind tokenKind) bool { return p.next().kind == kind }

// pass passes a token of a kind.
func (p *parser) pass(kind tokenKind) bool {
	if !p.at(kind) {
		return false
	}
	p.pos++
	return true
}

// first reads the first statement and returns its value: what stands there, what is assigned or what is returned. It is nil for a
// declaration without one, and if there is no statement. Statements of other kinds have none and are not ok.
func (p *parser) first() (value *node, ok bool) {
	for p.pass(tokenEnd) {
	}
	if p.pos == len(p.tokens) {
		return nil, true
	}
	if p.word("return") {
		if p.at(tokenEnd) {
			return nil, true
		}
		value, ok = p.expressions()
		return value, ok && p.at(tokenEnd)
	}
	value, ok = p.expressions()
	switch next := p.next(); {
	case !ok:
		return nil, false
	case p.take(":"):
		if !single(value) || !p.loose(true) {
			return nil, false
		}
		if value = nil; p.take("=") {
			value, ok = p.expressions()
		}
	case next.kind == tokenMark && augmented(next.text):
		if !single(value) {
			return nil, false
		}
		p.pos++
		value, ok = p.expressions()
	default:
		for ok && p.take("=") {
			if !target(value) {
				return nil, false
			}
			value, ok = p.expressions()
		}
	}
	return value, ok && p.at(tokenEnd)
}

// target says whether something can be assigned to.
func target(n *node) bool {
	if n.kind == nodeTuple || n.kind == nodeList {
		return !slices.ContainsFunc(n.items, func(a argument) bool { return !target(a.value) })
	}
	return single(n)
}

// single says whether one value can be assigned to something.
func single(n *node) bool {
	return n.kind == nodeName && !keyword(n.text) || n.kind == nodeAttribute || n.kind == nodeSubscript
}

// expressions reads one expression, or a tuple without brackets.
func (p *parser) expressions() (*node, bool) {
	first, ok := p.sum()
	if !ok || !p.take(",") {
		return first, ok
	}
	tuple := (&node{kind: nodeTuple}).add(first)
	for !p.at(tokenEnd) && p.next() != (token{tokenMark, "="}) && p.next() != (token{tokenMark, "]"}) {
		next, ok := p.sum()
		if !ok {
			return nil, false
		}
		tuple.add(next)
		if !p.take(",") {
			break
		}
	}
	return tuple, true
}

// sum reads additions and what binds closer.
func (p *parser) sum() (*node, bool) { return p.binary(p.product, "+", "-") }

func (p *parser) product() (*node, bool) { return p.binary(p.unary, "*", "/", "//", "%") }

// binary reads operands between operators that bind to the left.
func (p *parser) binary(operand func() (*node, bool), operators ...string) (*node, bool) {
	if p.depth++; p.depth > 4*maxDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	left, ok := operand()
	for chain := 0; ok; chain++ {
		i := slices.IndexFunc(operators, p.take)
		if i < 0 {
			return left, true
		}
		if chain > maxDepth {
			return nil, false
		}
		var right *node
		if right, ok = operand(); ok {
			left = (&node{kind: nodeBinary, text: operators[i]}).add(left, right)
		}
	}
	return nil, false
}

func (p *parser) unary() (*node, bool) {
	for _, sign := range []string{"-", "+"} {
		if !p.take(sign) {
			continue
		}
		if p.depth++; p.depth > 4*maxDepth {
			return nil, false
		}
		defer func() { p.depth-- }()
		operand, ok := p.unary()
		if !ok {
			return nil, false
		}
		return (&node{kind: nodeUnary, text: sign}).add(operand), true
	}
	return p.power()
}

func (p *parser) power() (*node, bool) {
	base, ok := p.postfix()
	if !ok || !p.take("**") {
		return base, ok
	}
	exponent, ok := p.unary()
	if !ok {
		return nil, false
	}
	return (&node{kind: nodeBinary, text: "**"}).add(base, exponent), true
}

// postfix reads attributes, subscripts and calls.
func (p *parser) postfix() (*node, bool) {
	n, ok := p.atom()
	for chain := 0; ok && chain <= maxDepth; chain++ {
		switch {
		case p.take("."):
			if !p.at(tokenName) || keyword(p.tokens[p.pos].text) {
				return nil, false
			}
			n = (&node{kind: nodeAttribute, text: p.tokens[p.pos].text}).add(n)
			p.pos++
		case p.take("["):
			n, ok = p.subscript(n)
		case p.take("("):
			call := (&node{kind: nodeCall}).add(n)
			n, ok = call, p.arguments(call)
		default:
			return n, true
		}
	}
	return nil, false
}

// subscript reads what stands in square brackets behind a value; slices are not understood.
func (p *parser) subscript(of *node) (*node, bool) {
	index, ok := p.expressions()
	if !ok || !p.take("]") {
		return nil, false
	}
	return (&node{kind: nodeSubscript}).add(of, index), true
}

// arguments reads the arguments of a call up to its bracket. Positional ones come first, as Python wants it.
func (p *parser) arguments(call *node) bool {
	named := false
	for !p.take(")") {
		a := argument{}
		switch {
		case p.take("**"):
			a.form = formUnpacked
		case p.at(tokenName) && p.tokens[p.pos+1] == token{tokenMark, "="}:
			a.form, a.name = formNamed, p.tokens[p.pos].text
			p.pos += 2
			if keyword(a.name) {
				return false
			}
		}
		if a.form == formPositional && named {
			return false
		}
		named = named || a.form != formPositional
		var ok bool
		if a.value, ok = p.sum(); !ok {
			return false
		}
		call.items = append(call.items, a)
		if !p.take(",") {
			return p.take(")")
		}
	}
	return true
}

// atom reads a literal, a name or something in brackets.
func (p *parser) atom() (*node, bool) {
	t := p.next()
	switch {
	case t.kind == tokenNumber:
		p.pos++
		return &node{kind: nodeNumber, text: t.text}, true
	case t.kind == tokenName:
		p.pos++
		return &node{kind: nodeName, text: t.text}, !keyword(t.text) || constant(t.text)
	case t.kind == tokenText:
		n := &node{kind: nodeText}
		for p.at(tokenText) {
			n.texts = append(n.texts, p.tokens[p.pos].text)
			p.pos++
		}
		return n, true
	case p.take("..."):
		return &node{kind: nodeEllipsis}, true
	case p.take("["):
		n := &node{kind: nodeList}
		return n, p.items(n, "]")
	case p.take("("):
		return p.group()
	case p.take("{"):
		return p.braces()
	default:
		return nil, false
	}
}

// items reads expressions up to a bracket; trailing says whether a comma stood before it.
func (p *parser) items(n *node, closing string) bool {
	for !p.take(closing) {
		item, ok := p.sum()
		if !ok {
			return false
		}
		n.add(item)
		if !p.take(",") {
			return p.take(closing)
		}
	}
	return true
}

// group reads what stands in round brackets: one expression, or a tuple.
func (p *parser) group() (*node, bool) {
	tuple := &node{kind: nodeTuple}
	if p.take(")") {
		return tuple, true
	}
	first, ok := p.sum()
	switch {
	case !ok:
		return nil, false
	case p.take(")"):
		return first, true
	case !p.take(","):
		return nil, false
	}
	tuple.add(first)
	return tuple, p.items(tuple, ")")
}

// braces reads a dict or a set.
func (p *parser) braces() (*node, bool) {
	dict := &node{kind: nodeDict}
	if p.take("}") {
		return dict, true
	}
	first, ok := p.sum()
	if !ok {
		return nil, false
	}
	if !p.take(":") {
		set := (&node{kind: nodeSet}).add(first)
		return set, p.take("}") || p.take(",") && p.items(set, "}")
	}
	for key := first; ; {
		value, ok := p.sum()
		if !ok {
			return nil, false
		}
		dict.add(key, value)
		if !p.take(",") || p.next() == (token{tokenMark, "}"}) {
			return dict, p.take("}")
		}
		if key, ok = p.sum(); !ok || !p.take(":") {
			return nil, false
		}
	}
}

// constant says whether a word is a value.
func constant(word string) bool { return word == "None" || word == "True" || word == "False" }

// keyword says whether a word cannot be a name.
func keyword(word string) bool {
	switch word {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
		"except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise",
		"return", "try", "while", "with", "yield":
		return true
	default:
		return false
	}
}
