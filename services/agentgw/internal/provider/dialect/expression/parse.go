package expression

import "slices"

const (
	// maxDepth is how deep brackets and blocks may nest.
	maxDepth = 100
	// maxNesting is how deep expressions may nest.
	maxNesting = 4 * maxDepth
	// maxChain bounds what follows one another and nests thereby: operators that bind to the left, calls of what a call returns.
	maxChain = 2 * maxDepth
)

// parser reads tokens. Once it has failed there are no tokens left, so that everything comes to its end.
type parser struct {
	tokens []token
	pos    int
	depth  int
	failed bool
}

func (p *parser) fail() *node {
	p.failed, p.pos = true, len(p.tokens)
	return &node{}
}

// next returns the token that comes next, an empty one if there is none.
func (p *parser) next() token { return p.after(0) }

// after returns the token that comes so many tokens later.
func (p *parser) after(n int) token {
	if p.pos+n >= len(p.tokens) {
		return token{}
	}
	return p.tokens[p.pos+n]
}

func (p *parser) at(kind tokenKind) bool { return p.next().kind == kind }

func (p *parser) sees(mark string) bool { return p.next() == token{tokenMark, mark} }

func (p *parser) pass(t token) bool {
	if p.next() != t {
		return false
	}
	p.pos++
	return true
}

// take passes a mark, word a word of the language.
func (p *parser) take(mark string) bool { return p.pass(token{tokenMark, mark}) }
func (p *parser) word(word string) bool { return p.pass(token{tokenName, word}) }

// expect passes a mark that has to come.
func (p *parser) expect(mark string) {
	if !p.take(mark) {
		p.fail()
	}
}

// atName says whether a name comes that is no word of the language.
func (p *parser) atName() bool { return p.at(tokenName) && !keyword(p.next().text) }

// name passes a name.
func (p *parser) name() string {
	if !p.atName() {
		p.fail()
		return ""
	}
	p.pos++
	return p.tokens[p.pos-1].text
}

// enter counts how deep expressions nest.
func (p *parser) enter() (leave func()) {
	if p.depth++; p.depth > maxNesting {
		p.fail()
	}
	return func() { p.depth-- }
}

// begins says whether an expression can come next.
func (p *parser) begins() bool {
	switch t := p.next(); t.kind {
	case tokenNumber, tokenText:
		return true
	case tokenName:
		return !keyword(t.text) || constant(t.text) || slices.Contains([]string{"not", "lambda", "await"}, t.text)
	case tokenMark:
		return slices.Contains([]string{"(", "[", "{", "-", "+", "~", "*", "..."}, t.text)
	default:
		return false
	}
}

// list reads one thing, or a tuple of what stands between commas.
func (p *parser) list(one func() *node) *node {
	first := one()
	if !p.sees(",") {
		return first
	}
	tuple := (&node{kind: nodeTuple}).add(first)
	for p.take(",") && p.begins() {
		tuple.add(one())
	}
	return tuple
}

// several reads expressions between commas, which may have stars.
func (p *parser) several() *node {
	return p.list(func() *node { return p.starred(p.expression) })
}

// starred reads something that may have a star.
func (p *parser) starred(plain func() *node) *node {
	if p.take("*") {
		return (&node{kind: nodeStarred}).add(p.operand())
	}
	return plain()
}

// yielded reads what may be assigned: several, or a yield.
func (p *parser) yielded() *node {
	switch {
	case !p.word("yield"):
		return p.several()
	case p.word("from"):
		return (&node{kind: nodeYield, text: "yield from"}).add(p.expression())
	case !p.begins():
		return &node{kind: nodeYield, text: "yield"}
	default:
		return (&node{kind: nodeYield, text: "yield"}).add(p.several())
	}
}

// named reads an expression that may be given a name.
func (p *parser) named() *node {
	if p.atName() && p.after(1) == (token{tokenMark, ":="}) {
		name := &node{kind: nodeName, text: p.name()}
		p.pos++
		return (&node{kind: nodeNamed}).add(name, p.expression())
	}
	return p.expression()
}

// expression reads a condition and what binds closer, or a lambda.
func (p *parser) expression() *node {
	defer p.enter()()
	if p.word("lambda") {
		n := &node{kind: nodeLambda, items: p.parameters(":", false)}
		p.expect(":")
		return n.add(p.expression())
	}
	n := p.either()
	if !p.word("if") {
		return n
	}
	condition := p.either()
	if !p.word("else") {
		return p.fail()
	}
	return (&node{kind: nodeConditional}).add(n, condition, p.expression())
}

// either reads operands of or, both those of and.
func (p *parser) either() *node { return p.boolean("or", p.both) }
func (p *parser) both() *node   { return p.boolean("and", p.negation) }

func (p *parser) boolean(word string, operand func() *node) *node {
	first := operand()
	if p.next() != (token{tokenName, word}) {
		return first
	}
	n := (&node{kind: nodeBoolean, text: word}).add(first)
	for p.word(word) {
		n.add(operand())
	}
	return n
}

func (p *parser) negation() *node {
	if !p.word("not") {
		return p.comparison()
	}
	defer p.enter()()
	return (&node{kind: nodeUnary, text: "not"}).add(p.negation())
}

func (p *parser) comparison() *node {
	first := p.operand()
	n := (&node{kind: nodeCompare}).add(first)
	for {
		operator := p.comparator()
		if operator == "" {
			break
		}
		n.items = append(n.items, item{name: operator, value: p.operand()})
	}
	if len(n.items) == 1 {
		return first
	}
	return n
}

// comparator passes an operator that compares.
func (p *parser) comparator() string {
	switch t := p.next(); {
	case t.kind == tokenMark && slices.Contains([]string{"==", "!=", "<", ">", "<=", ">="}, t.text):
		p.pos++
		return t.text
	case p.word("in"):
		return "in"
	case t == token{tokenName, "not"} && p.after(1) == token{tokenName, "in"}:
		p.pos += 2
		return "not in"
	case !p.word("is"):
		return ""
	case p.word("not"):
		return "is not"
	default:
		return "is"
	}
}

// operand reads arithmetic.
func (p *parser) operand() *node { return p.binary(bindBitOr) }

// binary reads operators that bind at least so close, all to the left.
func (p *parser) binary(least bind) *node {
	defer p.enter()()
	left := p.sign()
	for range maxChain {
		operator := p.next()
		own := binds(operator.text)
		if operator.kind != tokenMark || own < least {
			return left
		}
		p.pos++
		left = (&node{kind: nodeBinary, text: operator.text}).add(left, p.binary(own+1))
	}
	return p.fail()
}

// sign reads signs, and powers, which bind closer.
func (p *parser) sign() *node {
	for _, sign := range []string{"-", "+", "~"} {
		if p.take(sign) {
			defer p.enter()()
			return (&node{kind: nodeUnary, text: sign}).add(p.sign())
		}
	}
	var base *node
	if p.word("await") {
		base = (&node{kind: nodeAwait, text: "await"}).add(p.primary())
	} else {
		base = p.primary()
	}
	if !p.take("**") {
		return base
	}
	defer p.enter()()
	return (&node{kind: nodeBinary, text: "**"}).add(base, p.sign())
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
