package syntax

import (
	"errors"
	"math"
	"math/big"
	"strings"

	"github.com/toolsandbox/toolsandbox/python"
	"github.com/toolsandbox/toolsandbox/python/limit"
)

// ErrLiteral is returned for text that is not a literal of the kinds that python.Value holds.
var ErrLiteral = errors.New("not a Python literal")

// ParseLiteral reads the Python text of a value: what python.Repr prints (bare nan and inf too),
// and the other spellings of the same kinds of literals, e.g. double and triple quotes, raw texts,
// adjacent texts, 1_000, 0x1F, trailing commas, comments inside brackets. Tuples, sets, bytes,
// f-strings and operators other than signs are refused, as is nesting beyond limit.DataDepth. The
// text may be of any length. The error is ErrLiteral.
func ParseLiteral(text string) (v python.Value, err error) {
	text = strings.Trim(text, " \t\f")
	p := literals{lexer: lexer{s: text, inLine: true, brackets: limit.DataDepth}}
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case *Error:
			v, err = python.Value{}, ErrLiteral
		default:
			panic(failure)
		}
	}()
	if p.advance(); p.tok.at > 0 {
		p.refuse()
	}
	v = p.value()
	if p.end < len(text) {
		p.refuse()
	}
	return v, nil
}

// literals reads literals without building a tree of them.
type literals struct {
	lexer
	tok token
	end int // of the token before
}

func (p *literals) advance() {
	p.end = p.tok.at + len(p.tok.text)
	p.tok = p.next()
}

// take passes a mark if it is next.
func (p *literals) take(mark string) bool {
	if p.tok.kind != kindMark || p.tok.text != mark {
		return false
	}
	p.advance()
	return true
}

func (p *literals) expect(mark string) {
	if !p.take(mark) {
		p.refuse()
	}
}

// refuse ends the reading. Nobody sees more of the error.
func (p *literals) refuse() { panic(&Error{}) }

func (p *literals) value() python.Value {
	switch t := p.tok; t.kind {
	case kindNumber:
		p.advance()
		if number, ok := numberValue(t.text); ok {
			return python.ValueOf(number)
		}
	case kindText:
		return python.Str(p.text())
	case kindName:
		p.advance()
		switch t.text {
		case "None":
			return python.None()
		case "True", "False":
			return python.Bool(t.text == "True")
		case "nan":
			return python.Float(math.NaN())
		case "inf":
			return python.Float(math.Inf(1))
		}
	case kindMark:
		p.advance()
		switch t.text {
		case "[":
			return p.list()
		case "{":
			return p.dict()
		case "(":
			v := p.value()
			p.expect(")")
			return v
		case "+", "-":
			return p.signed(t.text)
		}
	}
	p.refuse()
	return python.Value{}
}

// text reads adjacent texts.
func (p *literals) text() string {
	text, ok := stringValue(p.tok.text)
	p.advance()
	if ok && p.tok.kind != kindText {
		return text
	}
	built := []byte(text)
	for ok && p.tok.kind == kindText {
		text, ok = stringValue(p.tok.text)
		built = append(built, text...)
		p.advance()
	}
	if !ok {
		p.refuse()
	}
	return string(built)
}

func (p *literals) list() python.Value {
	var items []python.Value
	for !p.take("]") {
		items = append(items, p.value())
		if !p.take(",") {
			p.expect("]")
			break
		}
	}
	return python.List(items...)
}

func (p *literals) dict() python.Value {
	d := &python.Dict{}
	for !p.take("}") {
		key, ok := p.value().AsStr()
		if !ok {
			p.refuse()
		}
		p.expect(":")
		d.Set(key, p.value())
		if !p.take(",") {
			p.expect("}")
			break
		}
	}
	return d.Value()
}

// signed reads a number behind a sign, with more signs before it or none.
func (p *literals) signed(sign string) python.Value {
	minus := sign == "-"
	for p.tok.text == "+" || p.tok.text == "-" {
		minus = minus != (p.tok.text == "-")
		p.advance()
	}
	v := p.value()
	switch number := v.Interface().(type) {
	case float64:
		if minus {
			return python.Float(-number)
		}
	case int, *big.Int:
		if i, _ := v.AsBigInt(); minus {
			return python.BigInt(i.Neg(i))
		}
	default:
		p.refuse()
	}
	return v
}
