package expression

import (
	"slices"
	"strings"

	"github.com/toolsandbox/toolsandbox/internal/python"
)

// rest says whether what follows the first statement looks like Python: statements of known forms, with expressions that are put
// together as they have to be. That tells it from prose. It is no full check: what may be assigned to, where names are known and
// which words may stand in which order of precedence does not count.
func (p *parser) rest() bool {
	return (p.ended() || p.line()) && p.block() && p.pos == len(p.tokens)
}

// block reads statements up to the end of their block.
func (p *parser) block() bool {
	last := ""
	for p.pos < len(p.tokens) && !p.at(tokenDedent) {
		if p.next() == (token{tokenEnd, lineEnd}) {
			p.pos++ // an empty line
			continue
		}
		word, ok := p.statement(last)
		if !ok {
			return false
		}
		last = word
	}
	return last != "try" && last != decorator
}

// decorator stands before a function or a class.
const decorator = "@"

// statement reads one statement and returns the word that it begins with, if it is one that has statements of its own. last is
// that of the statement before.
func (p *parser) statement(last string) (word string, ok bool) {
	word = p.opening()
	if !follows(word, last) {
		return "", false
	}
	switch word {
	case "":
		return "", p.line()
	case decorator:
		p.pos++
		return word, p.loose(true) && p.lineEnd()
	case "async":
		p.pos++
		word = p.opening()
		if word != "def" && word != "for" && word != "with" {
			return "", false
		}
	}
	p.pos++
	switch word {
	case "if", "elif", "while":
		ok = p.loose(true)
	case "for":
		ok = p.targets() && p.word("in") && p.several()
	case "with":
		ok = p.with()
	case "except":
		p.take("*")
		ok = p.sees(":") || p.several() && (!p.word("as") || p.name())
	case "def":
		ok = p.name() && p.take("(") && p.inside(")", "*/:=") && (!p.take("->") || p.loose(true))
	case "class":
		ok = p.name() && (!p.take("(") || p.inside(")", "="))
	default: // else, try and finally
		ok = true
	}
	return word, ok && p.take(":") && p.suite()
}

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
		return slices.Contains([]string{"if", "elif", "for", "while", "except"}, last)
	case "except":
		return last == "try" || last == "except"
	case "finally":
		return last == "try" || last == "except" || last == "else"
	case decorator, "def", "class", "async":
		return last != "try"
	default:
		return last != "try" && last != decorator
	}
}

// suite reads the statements of a statement: in its line, or as a block.
func (p *parser) suite() bool {
	if !p.lineEnd() {
		return p.line()
	}
	for p.pass(tokenEnd) { // empty lines
	}
	return p.pass(tokenIndent) && p.block() && p.pass(tokenDedent)
}

func (p *parser) lineEnd() bool {
	return p.next() == token{tokenEnd, lineEnd} && p.pass(tokenEnd)
}

// ended passes the end of a statement and says whether it is that of a line.
func (p *parser) ended() bool {
	if p.next() == (token{kind: tokenEnd}) {
		p.pos++
	}
	return p.lineEnd()
}

// line reads statements without statements of their own, up to the end of the line.
func (p *parser) line() bool {
	for p.simple() && p.at(tokenEnd) {
		if p.ended() {
			return true
		}
	}
	return false
}

// simple reads a statement without statements of its own.
func (p *parser) simple() bool {
	switch {
	case p.word("pass") || p.word("break") || p.word("continue"):
		return true
	case p.word("global") || p.word("nonlocal"):
		return p.names(p.name)
	case p.word("import"):
		return p.names(func() bool { return p.dotted() && p.alias() })
	case p.word("from"):
		return p.from()
	case p.word("del") || p.word("assert"):
		return p.several()
	case p.word("return"):
		return p.at(tokenEnd) || p.several()
	case p.word("raise"):
		return p.at(tokenEnd) || p.loose(true) && (!p.word("from") || p.loose(true))
	default:
		return p.assignment()
	}
}

// assignment reads expressions, assigned or not.
func (p *parser) assignment() bool {
	if !p.several() {
		return false
	}
	if p.take(":") && !p.loose(true) {
		return false
	}
	if next := p.next(); next.kind == tokenMark && augmented(next.text) {
		p.pos++
		return p.several()
	}
	for p.take("=") {
		if !p.several() {
			return false
		}
	}
	return true
}

// from reads what stands behind that word in an import.
func (p *parser) from() bool {
	relative := false
	for p.take(".") || p.take("...") {
		relative = true
	}
	if relative && p.word("import") {
		return p.imported()
	}
	return p.dotted() && p.word("import") && p.imported()
}

// imported reads what is imported.
func (p *parser) imported() bool {
	one := func() bool { return p.name() && p.alias() }
	if !p.take("(") {
		return p.take("*") || p.names(one)
	}
	for {
		if !one() {
			return false
		}
		if comma := p.take(","); p.take(")") {
			return true
		} else if !comma {
			return false
		}
	}
}

// names reads things between commas.
func (p *parser) names(one func() bool) bool {
	for one() {
		if !p.take(",") {
			return true
		}
	}
	return false
}

func (p *parser) dotted() bool {
	for p.name() {
		if !p.take(".") {
			return true
		}
	}
	return false
}

func (p *parser) alias() bool { return !p.word("as") || p.name() }

// with reads what a with statement opens.
func (p *parser) with() bool {
	return p.names(func() bool { return p.loose(true) && (!p.word("as") || p.operand()) })
}

// word passes a word of the language.
func (p *parser) word(word string) bool {
	return p.next() == token{tokenName, word} && p.pass(tokenName)
}

// name passes a name.
func (p *parser) name() bool {
	return p.at(tokenName) && !keyword(p.next().text) && p.pass(tokenName)
}

// targets reads what a loop assigns to.
func (p *parser) targets() bool {
	for {
		p.take("*")
		if !p.operand() {
			return false
		}
		if !p.take(",") || p.next() == (token{tokenName, "in"}) {
			return true
		}
	}
}

// several reads expressions between commas.
func (p *parser) several() bool {
	if p.word("yield") {
		if p.word("from") {
			return p.loose(true)
		}
		if p.closes() {
			return true
		}
	}
	for {
		p.take("*")
		if !p.loose(true) {
			return false
		}
		if !p.take(",") || p.closes() {
			return true
		}
	}
}

// closes says whether no expression can come next.
func (p *parser) closes() bool {
	next := p.next()
	if next.kind != tokenMark {
		return next.kind == tokenEnd
	}
	switch next.text {
	case ")", "]", "}", "=", ":":
		return true
	default:
		return augmented(next.text)
	}
}

// loose reads one expression, without regard to how close operators bind. Conditions count where choice says so.
func (p *parser) loose(choice bool) bool {
	if p.depth++; p.depth > 4*maxDepth {
		return false
	}
	defer func() { p.depth-- }()
	for {
		if p.take("-") || p.take("+") || p.take("~") || p.word("not") || p.word("await") {
			continue
		}
		if p.word("lambda") {
			if !p.inside(":", "*/=") {
				return false
			}
			continue
		}
		if !p.operand() {
			return false
		}
		if choice && p.word("if") {
			if !p.loose(false) || !p.word("else") {
				return false
			}
			continue
		}
		if !p.operator() {
			return true
		}
	}
}

// operator passes an operator between two operands.
func (p *parser) operator() bool {
	next := p.next()
	if next.kind == tokenMark {
		switch next.text {
		case "+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", ":=":
			p.pos++
			return true
		}
		return false
	}
	switch {
	case p.word("not"):
		return p.word("in")
	case p.word("is"):
		p.word("not")
		return true
	default:
		return p.word("and") || p.word("or") || p.word("in")
	}
}

// operand reads a literal, a name or something in brackets, with attributes, calls and subscripts behind it.
func (p *parser) operand() bool {
	switch t := p.next(); {
	case t.kind == tokenNumber:
		if !number(t.text) {
			return false
		}
		p.pos++
	case t.kind == tokenName:
		if keyword(t.text) && !constant(t.text) {
			return false
		}
		p.pos++
	case t.kind == tokenText:
		for p.pass(tokenText) {
		}
	case p.take("..."):
	case p.take("("):
		if !p.round() {
			return false
		}
	case p.take("["):
		if !p.inside("]", "*") {
			return false
		}
	case p.take("{"):
		if !p.inside("}", "*:") {
			return false
		}
	default:
		return false
	}
	return p.behind()
}

// round reads what stands in round brackets that are no call's.
func (p *parser) round() bool {
	if p.next() == (token{tokenName, "yield"}) {
		return p.several() && p.take(")")
	}
	return p.inside(")", "*")
}

// behind reads attributes, calls and subscripts.
func (p *parser) behind() bool {
	for {
		switch {
		case p.take("."):
			if !p.name() {
				return false
			}
		case p.take("("):
			if !p.inside(")", "*=") {
				return false
			}
		case p.take("["):
			if p.sees("]") || !p.inside("]", "*:") {
				return false
			}
		default:
			return true
		}
	}
}

func (p *parser) sees(mark string) bool { return p.next() == token{tokenMark, mark} }

// inside reads what stands between commas up to a closing mark. marks are those that may stand there beside expressions: a star or
// two before one, a slash instead of one, a colon or an equals sign behind one.
func (p *parser) inside(closing, marks string) bool {
	for !p.take(closing) {
		if !p.item(closing, marks) {
			return false
		}
		if !p.take(",") {
			return p.take(closing)
		}
	}
	return true
}

// item reads one of the things between commas.
func (p *parser) item(closing, marks string) bool {
	may := func(mark string) bool { return strings.Contains(marks, mark[:1]) && p.take(mark) }
	star := may("*") || may("**")
	colon := strings.Contains(marks, ":")
	switch {
	case star && p.sees(","), may("/"), colon && p.sees(":"):
	case !p.loose(true):
		return false
	}
	for colon && p.take(":") {
		if !p.sees(":") && !p.sees(",") && !p.sees("=") && !p.sees(closing) && !p.loose(true) {
			return false
		}
	}
	return (!may("=") || p.loose(true)) && p.comprehension()
}

// comprehension reads the loops and conditions behind an item.
func (p *parser) comprehension() bool {
	for {
		switch {
		case p.word("async"):
			if p.next() != (token{tokenName, "for"}) {
				return false
			}
		case p.word("for"):
			if !p.targets() || !p.word("in") || !p.loose(false) {
				return false
			}
		case p.word("if"):
			if !p.loose(false) {
				return false
			}
		default:
			return true
		}
	}
}

// number says whether what looks like a number is one.
func number(text string) bool {
	_, err := python.ParseLiteral(text)
	return err == nil
}
