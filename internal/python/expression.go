package python

import "strings"

// Print says how a call's result is printed.
type Print uint8

// The ways of printing: not at all, as Text does, as Repr does.
const (
	PrintNone Print = iota
	PrintText
	PrintRepr
)

// Expression is one tool call in Python source as a person writes it.
type Expression struct {
	Tool       string
	Positional []Value
	Keyword    *Dict   // never nil
	Subscripts []Value // applied to the result, in order: see Index
	Print      Print
}

// ParseExpressionCall recognises source with a single call whose arguments are literals: tool(...),
// print(tool(...)), print(repr(tool(...))), or x = tool(...), then perhaps print(x) or
// print(repr(x)) as a statement of its own. The result may be subscripted with literals, and
// **{...} may stand among the arguments. ok is false for anything else, be it valid Python or not.
// Arguments may hold nan and inf: see NonFinite.
func ParseExpressionCall(source string) (call Expression, ok bool) {
	if strings.IndexByte(source, 0) >= 0 {
		return Expression{}, false
	}
	p := expressionParser{literalParser: literalParser{s: source}}
	if !p.firstLine() {
		return Expression{}, false
	}
	start := p.pos
	target := p.word()
	p.blanks()
	assigned := IsIdentifier(target) && p.take('=')
	if !assigned {
		p.pos = start
	}
	call.Keyword = &Dict{}
	if !p.printed(&call, !assigned) || !p.statementEnd() {
		return Expression{}, false
	}
	if assigned && p.pos < len(p.s) && (!p.printName(&call, target) || !p.statementEnd()) {
		return Expression{}, false
	}
	return call, p.pos == len(p.s)
}

type expressionParser struct {
	literalParser
	named bool // an argument by name, or **, was read
}

// firstLine passes empty lines and comments; the first statement may not be indented.
func (p *expressionParser) firstLine() bool {
	for p.pos < len(p.s) {
		start := p.pos
		p.blanks()
		if p.pos < len(p.s) && p.s[p.pos] == '#' {
			p.comment()
		}
		if p.pos == len(p.s) || !p.lineBreak() {
			return p.pos == start
		}
	}
	return false
}

// lineBreak passes one line break.
func (p *expressionParser) lineBreak() bool {
	if p.pos < len(p.s) && (p.s[p.pos] == '\n' || p.s[p.pos] == '\r') {
		p.pos++
		return true
	}
	return false
}

// statementEnd passes the end of a statement, and all empty lines after it.
func (p *expressionParser) statementEnd() bool {
	if p.take(';') && p.pos < len(p.s) && p.s[p.pos] != '\n' && p.s[p.pos] != '\r' && p.s[p.pos] != '#' {
		return true
	}
	if p.pos < len(p.s) && p.s[p.pos] == '#' {
		p.comment()
	}
	if p.pos == len(p.s) {
		return true
	}
	if !p.lineBreak() {
		return false
	}
	return p.firstLine() || p.pos == len(p.s)
}

// call passes the name and an opening bracket after it.
func (p *expressionParser) call(name string) bool {
	start := p.pos
	if p.word() == name {
		p.blanks()
		if p.open('(') {
			return true
		}
	}
	p.pos = start
	return false
}

// finish passes an optional comma and the closing bracket.
func (p *expressionParser) finish() bool {
	p.take(',')
	return p.close(')')
}

// printed reads the tool call with print and repr around it, if printing is allowed here.
func (p *expressionParser) printed(call *Expression, allowed bool) bool {
	if allowed && p.call("print") {
		call.Print = PrintText
		if p.call("repr") {
			call.Print = PrintRepr
			return p.toolCall(call) && p.finish() && p.finish()
		}
		return p.toolCall(call) && p.finish()
	}
	return p.toolCall(call)
}

// printName reads print(name) or print(repr(name)).
func (p *expressionParser) printName(call *Expression, name string) bool {
	if !p.call("print") {
		return false
	}
	call.Print = PrintText
	if p.call("repr") {
		call.Print = PrintRepr
		return p.variable(name) && p.finish() && p.finish()
	}
	return p.variable(name) && p.finish()
}

func (p *expressionParser) variable(name string) bool {
	found := p.word() == name
	p.blanks()
	return found
}

func (p *expressionParser) toolCall(call *Expression) bool {
	call.Tool = p.word()
	if !IsIdentifier(call.Tool) || call.Tool == "print" || call.Tool == "repr" {
		return false
	}
	p.blanks()
	if !p.open('(') {
		return false
	}
	for !p.close(')') {
		if !p.argument(call) {
			return false
		}
		if p.take(',') {
			continue
		}
		if !p.close(')') {
			return false
		}
		break
	}
	return p.subscripts(call)
}

// argument reads one argument: a literal, name=literal or **{...}. Positional ones come first and
// no name twice.
func (p *expressionParser) argument(call *Expression) bool {
	if strings.HasPrefix(p.s[p.pos:], "**") {
		p.named = true
		p.pos += 2
		p.blanks()
		more, ok := p.value()
		if !ok || more.kind != KindDict {
			return false
		}
		for _, item := range more.dict.Items() {
			if !call.add(item.Key, item.Value) {
				return false
			}
		}
		return true
	}
	start := p.pos
	name := p.word()
	p.blanks()
	if name != "" && p.pos < len(p.s) && p.s[p.pos] == '=' {
		p.named = true
		p.take('=')
		v, ok := p.value()
		return ok && IsIdentifier(name) && call.add(name, v)
	}
	p.pos = start
	v, ok := p.value()
	call.Positional = append(call.Positional, v)
	return ok && !p.named
}

// add stores a keyword argument unless it is there.
func (e *Expression) add(name string, v Value) bool {
	if _, found := e.Keyword.Get(name); found {
		return false
	}
	e.Keyword.Set(name, v)
	return true
}

func (p *expressionParser) subscripts(call *Expression) bool {
	for p.open('[') {
		key, ok := p.value()
		if !ok || !p.close(']') {
			return false
		}
		call.Subscripts = append(call.Subscripts, key)
	}
	return true
}
