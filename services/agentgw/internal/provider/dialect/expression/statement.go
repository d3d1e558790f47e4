package expression

import "slices"

// module reads all statements and returns the value of the first: what stands there, what is assigned or what is returned. It is nil where
// the first has none, and then the others are not read. Whether a word may stand where it does, such as return outside a function, does not
// count, as in Python's own parser; statements with match are not known.
func (p *parser) module() *node {
	for p.lineEnd() { // of comments
	}
	if p.opening() != "" {
		return nil
	}
	value := p.simple()
	if value == nil || value.kind != nodeCall || !p.at(tokenEnd) {
		return nil
	}
	if !p.ended() {
		p.line()
	}
	p.block()
	if p.pos < len(p.tokens) {
		p.fail()
	}
	return value
}

// block reads statements up to the end of their block.
func (p *parser) block() {
	last := ""
	for p.pos < len(p.tokens) && !p.at(tokenDedent) {
		if !p.lineEnd() { // a line that is not empty
			last = p.statement(last)
		}
	}
	if last == "try" || last == decorator {
		p.fail()
	}
}

// decorator stands before a function or a class.
const decorator = "@"

// statement reads one statement and returns the word that it begins with, behind async, if it has statements of its own. last is that of
// the statement before.
func (p *parser) statement(last string) (word string) {
	word = p.opening()
	if !follows(word, last) {
		p.fail()
	}
	switch word {
	case "":
		p.line()
		return word
	case decorator:
		p.pos++
		if p.named(); !p.lineEnd() {
			p.fail()
		}
		return word
	case "async":
		p.pos++
		if word = p.opening(); word != "def" && word != "for" && word != "with" {
			p.fail()
		}
	}
	if !p.failed {
		p.pos++
		word = p.head(word, last)
		p.expect(":")
		p.suite()
	}
	return word
}

// head reads what stands between the word of a statement and its colon, and returns the word, with the star that belongs to it.
func (p *parser) head(word, last string) string {
	switch word {
	case "if", "elif", "while":
		p.named()
	case "for":
		p.targets()
		p.several()
	case "with":
		p.with()
	case "except":
		if p.take("*") {
			word = exceptStar
		}
		if last != "try" && last != word || word == exceptStar && p.sees(":") {
			p.fail()
		}
		if !p.sees(":") {
			p.expression()
			p.alias()
		}
	case "def":
		p.name()
		p.expect("(")
		p.parameters(")", true)
		p.expect(")")
		if p.take("->") {
			p.expression()
		}
	case "class":
		p.name()
		if p.take("(") {
			p.arguments()
		}
	}
	return word
}

// exceptStar stands for except with a star.
const exceptStar = "except*"

// opening returns the word that comes next if it begins a statement with statements of its own.
func (p *parser) opening() string {
	switch t := p.next(); {
	case t == token{tokenMark, decorator}:
		return decorator
	case t.kind != tokenName:
		return ""
	default:
		switch t.text {
		case "async", "class", "def", "elif", "else", "except", "finally", "for", "if", "try", "while", "with":
			return t.text
		}
		return ""
	}
}

// follows says whether a statement may follow another; both are the words that they begin with.
func follows(word, last string) bool {
	switch word {
	case "elif":
		return last == "if" || last == "elif"
	case "else":
		return slices.Contains([]string{"if", "elif", "for", "while", "except", exceptStar}, last)
	case "except":
		return last == "try" || last == "except" || last == exceptStar
	case "finally":
		return last == "try" || last == "except" || last == exceptStar || last == "else"
	case decorator, "def", "class", "async":
		return last != "try"
	default:
		return last != "try" && last != decorator
	}
}

// suite reads the statements of a statement: in its line, or as a block.
func (p *parser) suite() {
	if !p.lineEnd() {
		p.line()
		return
	}
	for p.lineEnd() { // empty lines
	}
	if !p.pass(token{kind: tokenIndent}) {
		p.fail()
	}
	p.block()
	if !p.pass(token{kind: tokenDedent}) {
		p.fail()
	}
}

// lineEnd passes the end of a line.
func (p *parser) lineEnd() bool { return p.pass(token{tokenEnd, lineEnd}) }

// ended passes the end of a statement and says whether it is that of a line.
func (p *parser) ended() bool {
	p.pass(token{kind: tokenEnd})
	return p.lineEnd()
}

// line reads statements without statements of their own, up to the end of the line.
func (p *parser) line() {
	for !p.failed {
		if p.simple(); !p.at(tokenEnd) {
			p.fail()
		} else if p.ended() {
			return
		}
	}
}

// simple reads a statement without statements of its own, and returns its value if it has one.
func (p *parser) simple() *node {
	switch {
	case p.word("pass") || p.word("break") || p.word("continue"):
	case p.word("global") || p.word("nonlocal"):
		p.each(func() { p.name() })
	case p.word("import"):
		p.each(func() { p.dotted(); p.alias() })
	case p.word("from"):
		p.from()
	case p.word("del"):
		if n := p.several(); !n.target(false) {
			p.fail()
		}
	case p.word("assert"):
		p.expression()
		if p.take(",") {
			p.expression()
		}
	case p.word("raise"):
		if !p.at(tokenEnd) {
			if p.expression(); p.word("from") {
				p.expression()
			}
		}
	case p.word("return"):
		if !p.at(tokenEnd) {
			return p.several()
		}
	default:
		return p.assignment()
	}
	return nil
}

// assignment reads expressions, assigned or not, and returns what is assigned.
func (p *parser) assignment() *node {
	n := p.yielded()
	switch next := p.next(); {
	case next == token{tokenMark, ":"}:
		if p.pos++; !n.single() {
			p.fail()
		}
		if p.expression(); !p.take("=") {
			return nil
		}
		return p.yielded()
	case next.kind == tokenMark && augmented(next.text):
		if p.pos++; !n.single() {
			p.fail()
		}
		return p.yielded()
	}
	for p.take("=") {
		if !n.target(true) {
			return p.fail()
		}
		n = p.yielded()
	}
	return n
}

// from reads what stands behind that word in an import.
func (p *parser) from() {
	relative := false
	for p.take(".") || p.take("...") {
		relative = true
	}
	if !relative || p.atName() {
		p.dotted()
	}
	one := func() { p.name(); p.alias() }
	switch {
	case !p.word("import"):
		p.fail()
	case p.take("("):
		for one(); p.take(",") && !p.sees(")"); {
			one()
		}
		p.expect(")")
	case !p.take("*"):
		p.each(one)
	}
}

// each reads things between commas.
func (p *parser) each(one func()) {
	for one(); p.take(","); {
		one()
	}
}

// dotted reads names between dots.
func (p *parser) dotted() {
	for p.name(); p.take("."); {
		p.name()
	}
}

func (p *parser) alias() {
	if p.word("as") {
		p.name()
	}
}

// with reads what a with statement opens, in brackets or not.
func (p *parser) with() {
	opened := func() {
		if p.expression(); p.word("as") && !p.starred(p.operand).target(true) {
			p.fail()
		}
	}
	before := *p
	if p.take("(") {
		for opened(); p.take(",") && !p.sees(")"); {
			opened()
		}
		if p.take(")") && p.sees(":") {
			return
		}
		*p = before // the brackets are those of an expression
	}
	p.each(opened)
}
